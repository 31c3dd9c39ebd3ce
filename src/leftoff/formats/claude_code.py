"""Claude Code: one JSON object on each line, `<session>.jsonl`.

Where it lives, what each line means and what is odd about it: docs/formats/claude_code.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct, field

from leftoff.formats.injected import is_continuation, is_interruption, typed_spans
from leftoff.formats.reader import Cursor, Sample
from leftoff.formats.vocabulary import kind_of
from leftoff.model import (
    Compaction,
    Link,
    Media,
    Message,
    Part,
    Presence,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Typed,
    Unknown,
    Usage,
)


class SubBlock(Struct, gc=False):
    type: str = ""
    text: str | None = None


class Block(Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: str | list[SubBlock] | None = None


class Tokens(Struct, gc=False):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0


class Body(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    role: str | None = None
    content: str | list[Block] | None = None
    usage: Tokens | None = None


class Result(Struct, gc=False):
    """The structured copy of a tool's result, with facts that the text lacks."""

    type: Any = None
    agentId: Any = None
    interrupted: Any = None
    backgroundTaskId: Any = None
    answers: Any = None
    isAsync: Any = None


class CompactMetadata(Struct, gc=False):
    trigger: str = ""
    preTokens: int | None = None
    postTokens: int | None = None


class Attachment(Struct, gc=False):
    type: str = ""
    prompt: Any = None
    commandMode: Any = None


class Snapshot(Struct, gc=False):
    trackedFileBackups: Any = None


class Progress(Struct, gc=False):
    type: str = ""
    agentId: str | None = None
    message: Line | None = None


class Line(Struct, gc=False):
    type: str = ""
    uuid: str | None = None
    parentUuid: str | None = None
    logicalParentUuid: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    message: Body | None = None
    isMeta: bool | None = None
    isSidechain: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    agentId: str | None = None
    requestId: str | None = None
    subtype: str | None = None
    operation: str | None = None
    content: Any = None
    toolUseResult: Result | str | list[Any] | None = None
    data: Progress | None = None
    attachment: Attachment | None = None
    compactMetadata: CompactMetadata | None = None
    summary: str | None = None
    leafUuid: str | None = None
    aiTitle: str | None = None
    customTitle: str | None = None
    prUrl: str | None = None
    snapshot: Snapshot | None = None


class Queued(Struct):
    """A prompt typed while the agent was busy, not delivered yet."""

    line: int
    content: str
    time: str
    raw: bytes


NO_MESSAGE = frozenset(
    {
        "progress", "system", "attachment", "file-history-snapshot", "queue-operation",
        "last-prompt", "custom-title", "ai-title", "mode", "permission-mode", "pr-link",
        "summary", "agent-name", "agent-color", "agent-setting", "tag", "worktree-state",
        "content-replacement", "file-history-delta", "frame-link", "bridge-session",
    }
)  # fmt: skip
"""Line types that carry no message of their own."""

_REJECTION_REASON = "the user said:\n"
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)")
_DENIED = ("The user doesn't want to proceed with this tool use", "Permission to use ")
_TIMED_OUT = re.compile(r"Command timed out after|timed out after \d")


class ClaudeReader(Struct):
    """Reads the lines of one file. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    session: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    queue: list[Queued] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    """The last queued prompts that were delivered, to skip a second record of the same
    prompt."""
    missing: dict[str, int] = field(default_factory=dict)
    """Files that a snapshot recorded as absent, with the version of that entry: each snapshot
    repeats the entries of the earlier ones."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        kind = line.type
        if kind == "assistant" or kind == "user":
            if line.cwd and line.cwd != self.cwd or line.sessionId and not self.session:
                return (self._facts(line), self._message(line, cursor))
            if line.gitBranch and line.gitBranch != self.branch:
                return (self._facts(line), self._message(line, cursor))
            return (self._message(line, cursor),)
        if kind == "progress":
            data = line.data
            if data is not None and data.message is not None and data.type == "agent_progress":
                return self._agent_progress(line, data, cursor)
            if line.uuid:
                return (Link(line.uuid, line.parentUuid or ""),)
            return ()
        return self._other_line(line, cursor)

    def _facts(self, line: Line) -> SessionFacts:
        facts = SessionFacts(
            id=line.sessionId or "" if not self.session else "",
            cwd=line.cwd or "" if not self.cwd else "",
            branch=line.gitBranch or "",
            agent_version=line.version or "" if line.version != self.version else "",
        )
        self.session = self.session or line.sessionId or ""
        self.cwd = line.cwd or self.cwd
        self.branch = line.gitBranch or self.branch
        self.version = line.version or self.version
        return facts

    def _message(self, line: Line, cursor: Cursor, agent: str = "") -> Message:
        body = line.message or Body()
        if not agent and (line.isSidechain or line.agentId):
            agent = line.agentId or "sidechain"
        if line.type == "assistant":
            synthetic = bool(line.isApiErrorMessage) or body.model == "<synthetic>"
            tokens = body.usage
            return Message(
                cursor.take(agent),
                "assistant",
                _parts(body.content),
                cursor.line,
                None,
                "meta" if synthetic else "agent",
                (),
                line.uuid or "",
                line.parentUuid or "",
                body.id or line.requestId or "",
                line.timestamp or "",
                agent,
                "" if synthetic else body.model or "",
                line.cwd or "",
                None if tokens is None or synthetic else _usage(tokens),
                cursor.raw,
            )
        parts, typed, origin = self._user_parts(line, body)
        return Message(
            cursor.take(agent),
            "user",
            parts,
            cursor.line,
            None,
            "injected" if agent and origin == "prompt" else origin,
            () if agent else typed,
            line.uuid or "",
            line.parentUuid or "",
            "",
            line.timestamp or "",
            agent,
            "",
            line.cwd or "",
            None,
            cursor.raw,
        )

    def _user_parts(
        self, line: Line, body: Body
    ) -> tuple[tuple[Part, ...], tuple[Typed, ...], str]:
        content = body.content
        if isinstance(content, str):
            if line.isCompactSummary or is_continuation(content):
                return (Text(content),), (), "compaction"
            typed = () if line.isMeta else typed_spans(0, content)
            return (Text(content),), typed, "prompt" if typed else "injected"
        parts: list[Part] = []
        spans: tuple[Typed, ...] = ()
        results = False
        for block in content or ():
            if block.type == "tool_result":
                results = True
                result, words = _result(block, line.toolUseResult, len(parts))
                parts.append(result)
                spans += words
            elif block.type == "text":
                text = block.text or ""
                if not line.isMeta and not line.isCompactSummary:
                    spans += typed_spans(len(parts), text)
                parts.append(Text(text))
            else:
                parts.append(Media(block.type))
        if results:
            return tuple(parts), spans, "tool"
        if line.isCompactSummary:
            return tuple(parts), (), "compaction"
        if len(parts) == 1 and type(parts[0]) is Text and is_interruption(parts[0].text):
            return tuple(parts), (), "interruption"
        return tuple(parts), spans, "prompt" if spans else "injected"

    def _agent_progress(self, line: Line, data: Progress, cursor: Cursor) -> tuple[Record, ...]:
        inner = data.message
        link = Link(line.uuid or "", line.parentUuid or "")
        if inner is None or inner.type not in ("assistant", "user") or inner.message is None:
            return (link,)
        return (link, self._message(inner, cursor, agent=data.agentId or "sidechain"))

    def _other_line(self, line: Line, cursor: Cursor) -> tuple[Record, ...]:
        kind = line.type
        records: tuple[Record, ...] = ()
        if line.uuid:
            records = (Link(line.uuid, line.parentUuid or line.logicalParentUuid or ""),)
        if kind == "system":
            if line.subtype == "compact_boundary":
                facts = line.compactMetadata or CompactMetadata()
                records += (
                    Compaction(
                        line=cursor.line,
                        trigger=facts.trigger,
                        recorded=facts.preTokens,
                        recorded_after=facts.postTokens,
                        raw=cursor.raw,
                    ),
                )
        elif kind == "queue-operation":
            records += self._queue_operation(line, cursor)
        elif kind == "file-history-snapshot":
            records += self._snapshot(line, cursor)
        elif kind == "attachment":
            found = line.attachment
            if found is not None and found.type == "queued_command":
                prompt = found.prompt
                if isinstance(prompt, str) and prompt not in self.delivered:
                    now = Queued(cursor.line, prompt, line.timestamp or "", cursor.raw)
                    records += self._queued_message(now, cursor)
        elif kind == "summary":
            # A title of some leaf, often of another session: the reader cannot know whether
            # the leaf is of this file, so it is offered under its leaf and checked later.
            if line.summary and line.leafUuid:
                records += (SessionFacts(title=line.summary, link=line.leafUuid),)
        elif kind == "custom-title" or kind == "ai-title":
            title = line.customTitle or line.aiTitle or ""
            records += (SessionFacts(title=title),)
        elif kind not in NO_MESSAGE:
            return (*records, Unknown(kind))
        return records

    def _snapshot(self, line: Line, cursor: Cursor) -> tuple[Record, ...]:
        """The files that a snapshot newly records as absent, or as present again.

        A backup proves little: it may have been made before the edit that it belongs to or just
        after it, so it shows neither the original contents nor whether the file changed later.
        """
        tracked = _dict(line.snapshot.trackedFileBackups) if line.snapshot is not None else {}
        changed: list[tuple[str, bool]] = []
        for path, backup in tracked.items():
            version = backup.get("version") if isinstance(backup, dict) else None
            if type(version) is not int:
                continue
            if backup.get("backupFileName") is not None:
                if self.missing.pop(path, None) is not None:
                    changed.append((path, True))
            elif self.missing.get(path) != version:
                self.missing[path] = version
                changed.append((path, False))
        if not changed:
            return ()
        return (Presence(tuple(changed), cursor.line, raw=cursor.raw),)

    def _queue_operation(self, line: Line, cursor: Cursor) -> tuple[Record, ...]:
        """A queued prompt becomes a message when it is delivered: after `dequeue` it follows as
        a user line, `remove` means that it was inserted into the running turn, `popAll`
        withdraws it."""
        operation = line.operation
        if operation == "enqueue":
            content = line.content if isinstance(line.content, str) else ""
            self.queue.append(Queued(cursor.line, content, line.timestamp or "", cursor.raw))
            del self.queue[:-64]
        elif operation == "popAll":
            self.queue.clear()
        elif self.queue and operation in {"dequeue", "remove"}:
            wanted = line.content if isinstance(line.content, str) else None
            place = next(
                (i for i, q in enumerate(self.queue) if q.content == wanted),
                0,
            )
            prompt = self.queue.pop(place)
            if operation == "remove" and prompt.content not in self.delivered:
                return self._queued_message(prompt, cursor)
        return ()

    def _queued_message(self, prompt: Queued, cursor: Cursor) -> tuple[Record, ...]:
        self.delivered = [*self.delivered[-15:], prompt.content]
        if not typed_spans(0, prompt.content):
            return ()
        via = "command" if prompt.content.startswith("/") else "queued"
        return (
            Message(
                cursor.take(),
                "user",
                (Text(prompt.content),),
                prompt.line,
                None,
                "prompt",
                typed_spans(0, prompt.content, via),
                time=prompt.time,
                raw=prompt.raw,
            ),
        )


def _usage(tokens: Tokens) -> Usage:
    return Usage(
        tokens.input_tokens or 0,
        tokens.output_tokens or 0,
        tokens.cache_read_input_tokens or 0,
        tokens.cache_creation_input_tokens or 0,
    )


def _parts(content: str | list[Block] | None) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    if content is None:
        return ()
    return tuple([_part(block) for block in content])


def _part(block: Block) -> Part:
    kind = block.type
    if kind == "text":
        return Text(block.text or "")
    if kind == "tool_use" or kind == "server_tool_use":
        name = block.name or ""
        return ToolCall(block.id or "", name, kind_of(name), block.input)
    if kind == "thinking":
        return Reasoning(block.thinking or "")
    return Media(kind)


def _result(
    block: Block, facts: Result | str | list[Any] | None, part: int
) -> tuple[ToolResult, tuple[Typed, ...]]:
    content = block.content
    if isinstance(content, str):
        text = content
    else:
        text = "\n".join([b.text for b in content or () if b.text])
    call = block.tool_use_id or ""
    if call == "REDACTED":  # a recorder's redaction; many calls share it
        call = ""
    detail: dict[str, Any] | None = None
    typed: tuple[Typed, ...] = ()
    status, code = "ok", None
    if block.is_error:
        status, code = _failure(text)
        if status == "denied":
            reason = text.find(_REJECTION_REASON)
            if reason >= 0:
                typed = (Typed(part, reason + len(_REJECTION_REASON), len(text), "rejection"),)
    elif text.startswith(_DENIED):
        status = "denied"
    if type(facts) is Result:
        if facts.interrupted is True:
            status = "interrupted"
        elif facts.backgroundTaskId or facts.isAsync is True:
            status = "running"
        if facts.type == "create" or facts.type == "update":
            detail = {"created": facts.type == "create"}
        if isinstance(facts.agentId, str):
            detail = {"agent": facts.agentId}
        if isinstance(facts.answers, dict) and status == "ok":
            typed = _answer_spans(facts.answers, text, part)
    return ToolResult(call, text, status, code, detail), typed


def _failure(text: str) -> tuple[str, int | None]:
    if text.startswith(_DENIED):
        return "denied", None
    if text.startswith("[Request interrupted"):
        return "interrupted", None
    found = _EXIT_CODE.match(text)
    if found:
        code = int(found[1])
        return ("timeout" if code == 143 and _TIMED_OUT.search(text) else "error"), code
    return ("timeout" if _TIMED_OUT.match(text) else "error"), None


def _answer_spans(answers: dict[Any, Any], text: str, part: int) -> tuple[Typed, ...]:
    """The spans of the person's answers in the result of a question tool."""
    spans: list[Typed] = []
    position = 0
    for answer in answers.values():
        for words in answer if isinstance(answer, list) else [answer]:
            if not isinstance(words, str) or not words:
                continue
            at = text.find(f'="{words}', position)
            if at < 0:
                continue
            spans.append(Typed(part, at + 2, at + 2 + len(words), "answer"))
            position = at + 2 + len(words)
    return tuple(spans)


class ClaudeCode(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "claude_code"
    shape: str = "lines"
    reader: type[ClaudeReader] = ClaudeReader

    def detect(self, sample: Sample) -> bool:
        for line in sample.lines:
            kind = str(line.get("type"))
            if "parentUuid" in line and "sessionId" in line:
                return not str(line.get("sessionId")).startswith("session-") and (
                    "parts" not in _dict(line.get("message"))
                )
            if kind == "summary" and "leafUuid" in line:
                return True
            if kind in {"file-history-snapshot", "queue-operation", "last-prompt"}:
                return True
            if kind in {"permission-mode", "custom-title", "ai-title"} and "sessionId" in line:
                return True
        return False


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


FORMAT = ClaudeCode()
