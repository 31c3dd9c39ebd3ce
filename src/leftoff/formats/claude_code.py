"""Claude Code: one JSON object on each line, `<session>.jsonl`; the same messages as they
stand in `claude --output-format stream-json` and in lists of the Claude Agent SDK.

Where it lives, what each line means and what is odd about it: docs/formats/claude_code.md."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import ClassVar, TypeAlias

import msgspec
from msgspec import Struct, field

from leftoff import codec
from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.claude_code_records import (
    Block,
    Body,
    Compaction,
    Line,
    Origin,
    Progress,
    Result,
    Snapshot,
    Tokens,
)
from leftoff.formats.injected import (
    JOB_ENDED,
    answer_spans,
    is_button,
    is_continuation,
    is_interruption,
    slash_command,
    spans_around,
    transcript_span,
    typed_spans,
)
from leftoff.formats.lenient_json import Fields, count_of, dict_of, known_id, text_of
from leftoff.formats.openai_parts import content_text, decode_arguments, output_of
from leftoff.formats.reader import Cursor, Format, Sample, holds_results, mostly
from leftoff.formats.vocabulary import KINDS, PERSONS_SHELL, tool_call
from leftoff.text.truncation import whole

# Code points of a prompt that waits in the queue. Chosen by hand.
MAX_WAITING = 400

# Line types that carry no message of their own.
NO_MESSAGE = KINDS["claude_code_no_message"]
# Kinds of attachments that hold no words of a person or of the agent.
ATTACHMENTS = KINDS["claude_code_attachments"]
# Subtypes of `system` lines, as far as they are known.
SUBTYPES = KINDS["claude_code_system"]

_SPOKEN = frozenset({"assistant", "user"})
# Calls of tools that the API itself runs.
_API_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
# Who writes prompts that a person typed; through a channel, in another program.
_PERSONS = frozenset({"human", "channel"})
# The API's reasons for the end of a response, as `Message.stop`.
_STOPS = {"end_turn": "end", "stop_sequence": "end", "tool_use": "more"}

_REJECTION_REASON = "the user said:\n"
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)")
_DENIED = ("The user doesn't want to proceed with this tool use", "Permission to use ")
_TIMED_OUT = re.compile(r"Command timed out after|timed out after \d")
# The client's own words after "the user said:" when a button was pressed.
_CLARIFIES = "The user wants to clarify these questions."
# Notices of the client and of wrappers around it.
_UNKNOWN_COMMAND = re.compile(r"\s*Unknown (?:skill|slash command|command): \S+\s*")
_NOTICE_BLOCK = re.compile(
    r"<ci-monitor-event\b.*?(?:</ci-monitor-event>|\Z)"
    r"|<{0,3}BEGIN_OPENCLAW_INTERNAL_CONTEXT\b.*?(?:END_OPENCLAW_INTERNAL_CONTEXT>{0,3}|\Z)",
    re.DOTALL,
)


Records: TypeAlias = tuple[rec.Record, ...]
# Parts, origin ("" for the usual one) and typed spans of a message.
Said: TypeAlias = tuple[tuple[rec.Part, ...], str, tuple[rec.Typed, ...]]


class ClaudeReader(Struct):
    record: ClassVar[type] = Line

    session: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    queue: list[str] = field(default_factory=list)
    """Prompts typed while the agent was busy, not delivered yet."""
    delivered: list[str] = field(default_factory=list)
    """The last queued prompts that were delivered, to skip a second record of the same
    prompt."""
    missing: dict[str, int] = field(default_factory=dict)
    """Files that a snapshot recorded as absent, with the version of that entry: each snapshot
    repeats the entries of the earlier ones."""
    spoken: bool = False
    """The agent has said something: the last line of a stream only repeats it."""
    shell: int = 0  # commands that the person ran in the client's shell mode
    running: bool = False  # the last of them has shown no output yet

    def read(self, line: Line, cursor: Cursor) -> Iterable[rec.Record]:
        kind = line.type
        if line.session_id is not None or line.parent_tool_use_id is not None:
            _take_twins(line)
        if kind in _SPOKEN:
            message = self._message(line, cursor)
            found: Records = (message,)
            if line.isApiErrorMessage and not message.agent:
                why = "".join([p.text for p in message.parts if type(p) is rec.Text])
                found = (message, rec.Turn("failed", why))
            begins = line.sessionId and not self.session
            moved = line.cwd and line.cwd != self.cwd
            if begins or moved or line.gitBranch and line.gitBranch != self.branch:
                return (self._facts(line), *found)
            return found
        if kind == "progress":
            records = (rec.Link(line.uuid, line.parentUuid or ""),) if line.uuid else ()
            data = line.data or Progress()
            inner = data.message if data.type == "agent_progress" else None
            if inner is None or inner.message is None or inner.type not in _SPOKEN:
                return records
            agent = data.agentId or "sidechain"
            return (*records, self._message(inner, cursor, agent=agent))
        return self._other_line(line, cursor)

    def _facts(self, line: Line) -> rec.SessionFacts:
        facts = rec.SessionFacts(
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

    def _message(self, line: Line, cursor: Cursor, agent: str = "") -> rec.Message:
        body = line.message or Body()
        if not agent and (line.isSidechain or line.agentId):
            agent = line.agentId or "sidechain"
        role: rec.Role = "assistant"
        typed: tuple[rec.Typed, ...] = ()
        tokens, model = body.usage, body.model
        if line.type == "assistant":
            self.spoken = True
            parts, origin = _parts(body.content), ""
            if line.isApiErrorMessage or model == "<synthetic>":
                origin, tokens, model = "meta", None, ""
        else:
            role = "user"
            parts, origin, typed = self._user_parts(line, body.content)
        return cursor.message(
            role,
            parts,
            origin,
            () if agent else typed,
            key=line.uuid or "",
            parent=line.parentUuid or "",
            response=body.id or line.requestId or "",
            time=line.timestamp or "",
            agent=agent,
            model=model or "",
            cwd=line.cwd or "",
            usage=None if tokens is None else _usage(tokens),
            stop=_STOPS.get(text_of(body.stop_reason), ""),
        )

    def _user_parts(self, line: Line, content: str | list[Block] | None) -> Said:
        meta = line.isMeta is True or not _by_person(line.origin)
        if isinstance(content, str):
            if line.isCompactSummary or is_continuation(content):
                return (rec.Text(content),), "compaction", ()
            if "<bash-" in content[:200]:
                found = self._shell_mode(content)
                if found is not None:
                    return found
            shown, typed = _typed_words(0, content, meta=meta)
            return (rec.Text(shown),), "", typed
        parts: list[rec.Part] = []
        spans: tuple[rec.Typed, ...] = ()
        for block in content or ():
            if block.type == "tool_result":
                result, words = _result(block, line.toolUseResult, len(parts))
                parts.append(result)
                spans += words
            elif block.type == "text":
                made = meta or line.isCompactSummary is True
                text, words = _typed_words(len(parts), block.text or "", meta=made)
                spans += words
                parts.append(rec.Text(text))
            else:
                parts.append(rec.Media(block.type))
        if line.isCompactSummary and not holds_results(parts):
            return tuple(parts), "compaction", ()
        if len(parts) == 1 and type(parts[0]) is rec.Text and is_interruption(parts[0].text):
            return tuple(parts), "interruption", ()
        return tuple(parts), "", spans

    def _shell_mode(self, content: str) -> Said | None:
        """A command that the person ran with `!`, or what it printed; None if it is neither.

        The client records no exit code, so the outcome of such a command is unknown."""
        command, rest = _tagged("bash-input", content.strip())
        if command is not None and not rest:
            self.shell += 1
            self.running = True
            shown, given = f"!{command.strip()}", {"command": command.strip()}
            call = rec.ToolCall(f"shell-{self.shell}", PERSONS_SHELL, "shell", given)
            return (rec.Text(shown), call), "", (rec.Typed(0, 0, len(shown), "command"),)
        printed, rest = _tagged("bash-stdout", content.strip())
        failed, rest = _tagged("bash-stderr", rest.lstrip())
        if not self.running or rest or printed is None and failed is None:
            return None
        self.running = False
        output = "\n".join([text for text in (printed, failed) if text])
        return (rec.ToolResult(f"shell-{self.shell}", output, "unknown"),), "", ()

    def _other_line(self, line: Line, cursor: Cursor) -> Records:
        kind = line.type
        records: Records = ()
        if line.uuid:
            records = (rec.Link(line.uuid, line.parentUuid or line.logicalParentUuid or ""),)
        if kind == "system":
            if line.subtype == "compact_boundary":
                facts = line.compactMetadata or line.compact_metadata or Compaction()
                before = count_of(facts.preTokens or facts.pre_tokens)
                records += (cursor.compaction(facts.trigger or "", before),)
            elif line.subtype == "init" and line.sessionId and not self.session:
                records += (self._facts(line),)
            elif line.subtype and line.subtype not in SUBTYPES:
                return (*records, rec.Unknown(f"system/{line.subtype}"))
        elif kind == "result":
            words = line.result or ""
            if words and not self.spoken:
                # `--output-format json` writes this line alone: the agent's last words.
                final = Line("assistant", message=Body(content=words))
                final.sessionId = line.sessionId
                records += (self._facts(final), self._message(final, cursor))
            failed = bool(line.is_error) or (line.subtype or "").startswith("error")
            why = words or line.subtype or ""
            records += (rec.Turn("failed", why) if failed else rec.Turn("ended"),)
        elif kind == "queue-operation":
            records += self._queue_operation(line, cursor)
        elif kind == "file-history-snapshot":
            records += self._snapshot(line, cursor)
        elif kind == "attachment":
            found = line.attachment
            if found is not None and found.type == "queued_command":
                prompt = content_text(found.prompt)  # with an image it is a list of blocks
                if prompt and prompt not in self.delivered and _by_person(found.origin):
                    records += self._queued_message(prompt, line, cursor)
            elif found is not None and found.type not in ATTACHMENTS:
                return (*records, rec.Unknown(f"attachment/{found.type}"))
        elif kind == "summary":
            # A title of some leaf, often of another session: the reader cannot know whether
            # the leaf is of this file, so it is offered under its leaf and checked later.
            if line.summary and line.leafUuid:
                records += (rec.SessionFacts(title=line.summary, link=line.leafUuid),)
        elif kind == "custom-title" or kind == "ai-title":
            title = line.customTitle or line.aiTitle or ""
            records += (rec.SessionFacts(title=title),)
        elif kind not in NO_MESSAGE:
            return (*records, rec.Unknown(kind))
        return records

    def _snapshot(self, line: Line, cursor: Cursor) -> Records:
        """The files that a snapshot newly records as absent, or as present again.

        A backup proves little: it may have been made before the edit that it belongs to or just
        after it, so it shows neither the original contents nor whether the file changed later.
        """
        changed: list[tuple[str, bool]] = []
        for path, backup in (line.snapshot or Snapshot()).trackedFileBackups.items():
            if backup.version is None:
                continue
            if backup.backupFileName is not None:
                if self.missing.pop(path, None) is not None:
                    changed.append((path, True))
            elif self.missing.get(path) != backup.version:
                self.missing[path] = backup.version
                changed.append((path, False))
        if not changed:
            return ()
        return (rec.Presence(tuple(changed), cursor.line or None, cursor.item, cursor.raw),)

    def _queue_operation(self, line: Line, cursor: Cursor) -> Records:
        """A queued prompt becomes a message when it is delivered: after `dequeue` it follows as
        a user line, `remove` means that it was inserted into the running turn, `popAll`
        withdraws it."""
        before, operation = self._waiting(), line.operation
        found: Records = ()
        if operation == "enqueue":
            self.queue.append(line.content or "")
            del self.queue[:-64]
            if job := JOB_ENDED.search(self.queue[-1]):
                return (rec.SessionFacts(ended=job[1]),)
        elif operation == "popAll":
            self.queue.clear()
        elif self.queue and operation in {"dequeue", "remove"}:
            wanted = line.content
            if wanted not in self.queue and operation == "remove":
                # It does not say which. Notices stand as lines of their own, too.
                wanted = next(self._typed_in_queue(), None)
            prompt = self.queue.pop(self.queue.index(wanted) if wanted in self.queue else 0)
            if operation == "remove" and prompt not in self.delivered:
                found = self._queued_message(prompt, line, cursor)
        waiting = self._waiting()
        return found if waiting == before else (*found, rec.SessionFacts(queued=waiting))

    def _typed_in_queue(self) -> Iterator[str]:
        """The prompts in the queue; notices of the client wait there, too."""
        return (prompt for prompt in self.queue if _typed_words(0, prompt, "queued")[1])

    def _waiting(self) -> tuple[str, ...]:
        words = (prompt for prompt in self._typed_in_queue() if not prompt.startswith("/"))
        return tuple(whole(prompt, MAX_WAITING) for prompt in islice(words, 5))

    def _queued_message(self, prompt: str, line: Line, cursor: Cursor) -> Records:
        self.delivered = [*self.delivered[-15:], prompt]
        via = "command" if prompt.startswith("/") else "queued"
        text, typed = _typed_words(0, prompt, via)
        if not typed or is_button(prompt):
            return ()
        time = line.timestamp or ""
        return (cursor.message("user", (rec.Text(text),), "prompt", typed, time=time),)


def _by_person(origin: Origin | None) -> bool:
    """Whether a person wrote a prompt; of older versions, which do not say, True."""
    return origin is None or origin.kind in _PERSONS


def _typed_words(
    part: int, text: str, via: str = "prompt", *, meta: bool = False
) -> tuple[str, tuple[rec.Typed, ...]]:
    """The text to show and the spans that a person typed.

    A slash command is shown as it was typed, its name before its arguments; notices of the
    client and of wrappers around it were typed by no person."""
    if (command := slash_command(text, part)) is not None:
        return (command[0], ()) if meta else command
    if meta or _is_notice(text):
        return text, ()
    blocks: list[tuple[int, int]] = []
    if "_OPENCLAW_INTERNAL_" in text or "<ci-monitor-event" in text:
        blocks = [found.span() for found in _NOTICE_BLOCK.finditer(text)]
    elif pasted := transcript_span(text):
        blocks = [pasted]
    if blocks:
        return text, spans_around(blocks, text, part, via)
    return text, typed_spans(part, text, via)


def _is_notice(text: str) -> bool:
    """Whether the whole text is a notice: JSON about a background task, or the answer to a
    command that the client does not know."""
    if text.startswith("Unknown "):
        return _UNKNOWN_COMMAND.fullmatch(text) is not None
    if not text.startswith("{") or '"task_id"' not in text[:4096]:
        return False
    notice = Fields(decode_arguments(text)).value
    return "task_id" in notice and ("tool_use_id" in notice or "task_type" in notice)


def _tagged(name: str, text: str) -> tuple[str | None, str]:
    """What stands in the element with which a text begins, and what follows its last closing
    mark; None and the text if it begins with another."""
    opening, closing = f"<{name}>", f"</{name}>"
    end = text.rfind(closing)
    if not text.startswith(opening) or end < 0:
        return None, text
    return text[len(opening) : end], text[end + len(closing) :]


def _take_twins(line: Line) -> None:
    """Copies the fields that a stream names otherwise to those that the reader knows."""
    line.sessionId = line.sessionId or line.session_id
    line.agentId = line.agentId or line.parent_tool_use_id
    line.version = line.version or line.claude_code_version
    line.isMeta = line.isMeta or line.isSynthetic
    if line.toolUseResult is None:
        line.toolUseResult = line.tool_use_result


def _usage(tokens: Tokens) -> rec.Usage:
    return rec.Usage(
        tokens.input_tokens or 0,
        tokens.output_tokens or 0,
        tokens.cache_read_input_tokens or 0,
        tokens.cache_creation_input_tokens or 0,
    )


def _parts(content: str | list[Block] | None) -> tuple[rec.Part, ...]:
    if isinstance(content, str):
        return (rec.Text(content),)
    return tuple([_part(block) for block in content or ()])


def _part(block: Block) -> rec.Part:
    kind = block.type
    if kind == "text":
        return rec.Text(block.text or "")
    if kind == "tool_use" or kind in _API_CALLS:
        server = f"mcp__{block.server_name}__" if block.server_name else ""
        return tool_call(block.id or "", server + (block.name or ""), block.input)
    if kind == "thinking":
        return rec.Reasoning(block.thinking or "")
    if block.tool_use_id is not None:  # of a tool that the API itself has run
        return _result(block, None, 0)[0]
    return rec.Text(block.text) if block.text else rec.Media(kind)


def _result(
    block: Block, facts: Result | str | list[object] | None, part: int
) -> tuple[rec.ToolResult, tuple[rec.Typed, ...]]:
    text = block.content or ""
    failed = block.is_error
    # Most are texts alone: these are not taken apart further.
    if isinstance(text, list) and (words := [piece.text for piece in text if piece.text]):
        text = "\n".join(words)
    elif not isinstance(text, str):
        text, said = output_of(msgspec.to_builtins(text))
        failed = failed or said
    call = known_id(block.tool_use_id)
    detail: dict[str, object] | None = None
    typed: tuple[rec.Typed, ...] = ()
    status, code = "ok", None
    if failed:
        status, code = _failure(text)
        if status == "denied":
            _, mark, why = text.partition(_REJECTION_REASON)
            if mark and not why.startswith(_CLARIFIES):
                typed = (rec.Typed(part, len(text) - len(why), len(text), "rejection"),)
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
            typed = answer_spans(facts.answers.values(), text, part, '="')
    return rec.ToolResult(call, text, status, code, detail), typed


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


def _detect(sample: Sample) -> bool:
    for line in sample.lines:
        match line:
            case {"parentUuid": _, "sessionId": session}:
                others = "parts" in dict_of(line.get("message"))
                return not others and not str(session).startswith("session-")
            case (
                {"type": "file-history-snapshot" | "queue-operation" | "last-prompt"}
                | {"type": "permission-mode" | "custom-title" | "ai-title", "sessionId": _}
                | {"type": "summary", "leafUuid": _}
            ):
                return True
        if is_sdk_message(line):
            return True
    return False


_LINE = codec.LineDecoder(Line)


class ClaudeListReader(ClaudeReader):
    """Reads a JSON list of the messages that stream-json and the Agent SDK give."""

    record: ClassVar[type] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:  # type: ignore[override]
        for line in cursor.each(data, _LINE):
            yield from ClaudeReader.read(self, line, cursor) if line else (rec.Unknown(""),)


def is_sdk_message(value: dict[str, object]) -> bool:
    """Whether a JSON object is a message of stream-json or of the Agent SDK: {"type",
    "message"}, or the first or last line of a stream."""
    match value:
        case {"type": "user" | "assistant" as kind, "message": {"content": str() | list()}}:
            body = dict_of(value["message"])
            return body.get("role") == kind and "parts" not in body
        case {"type": "system" | "result" as kind, "session_id": _, "subtype": _}:
            return kind == "system" or "result" in value or "usage" in value
    return False


FORMAT = Format("claude_code", "lines", ClaudeReader, _detect)
# A JSON list of messages: what `--output-format json --verbose` or a program saved.
LIST = Format(
    "claude_code_list",
    "document",
    ClaudeListReader,
    lambda s: s.data.lstrip()[:1] == b"[" and mostly(is_sdk_message, s.items),
)
