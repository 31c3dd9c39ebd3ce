"""Codex CLI rollouts, current and legacy: docs/formats/codex.md.

The `response_item` lines are the conversation; most `event_msg` lines repeat it and are read
only for what the items lack: token counts, exit codes, applied changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec
from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.formats.injected import shifted, typed_spans
from leftoff.formats.lenient_json import dict_of, int_of, text_of, usage_by
from leftoff.formats.openai_parts import decode_arguments
from leftoff.formats.pasted import transcript_span
from leftoff.formats.reader import Cursor, Format, Sample, moved
from leftoff.formats.vocabulary import KINDS, tool_call
from leftoff.model import (
    Message,
    Part,
    Reasoning,
    Record,
    Role,
    SessionFacts,
    Text,
    TokenCount,
    ToolCall,
    ToolResult,
    Turn,
    Typed,
    Unknown,
    Usage,
)


class Item(Struct, gc=False):
    """What the items of both layouts share."""

    role: str | None = None
    content: object = None
    summary: object = None
    name: str | None = None
    arguments: object = None
    call_id: str | None = None
    input: object = None
    output: object = None
    action: object = None


class Payload(Item, gc=False):
    type: str = ""
    id: object = None
    cwd: object = None
    cli_version: object = None
    git: object = None
    forked_from_id: object = None
    parent_thread_id: object = None
    source: object = None
    model: object = None
    model_context_window: object = None
    timestamp: object = None
    text: object = None
    info: object = None
    exit_code: object = None
    status: object = None
    changes: object = None
    success: object = None
    thread_name: object = None
    item: object = None
    phase: object = None
    message: object = None


class Line(Item, gc=False):
    """A line of either layout: the current one wraps everything in `payload`, the legacy one
    has the fields of an item on the line itself."""

    type: str | None = None
    timestamp: str | None = None
    payload: Payload | None = None
    record_type: str | None = None
    id: object = None
    git: object = None


ITEM_TYPES = KINDS["codex_items"]
IGNORED_LINES = frozenset(
    {"world_state", "inter_agent_communication_metadata", "token_usage_record"}
)
# Events that say what became of the agent's turn, as `Turn.state`.
_TURNS = {
    "task_started": "started",
    "turn_started": "started",
    "task_complete": "ended",
    "turn_complete": "ended",
    "turn_aborted": "interrupted",
    "error": "failed",
}
# What it does to files, as `Changes.files`.
ACTIONS = {"add": "created", "update": "modified", "delete": "deleted"}
# Names of tokens, as for `usage_by`.
TOKENS = "input_tokens output_tokens cached_input_tokens - reasoning_output_tokens"
# Phases of the agent's words, as `Message.stop`.
_PHASES = {"final_answer": "end", "commentary": "more"}
_EXIT_CODE = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_RUNNING = "Process running with session ID"
# Calls that the client refused before anything ran.
_NEVER_RAN = ("unsupported call", "unsupported custom tool call", "failed to parse")
_FAILED = (
    "apply_patch verification failed",
    "error",
    "exec_command failed",
    "write_stdin failed",
)
_REJECTED = re.compile(
    r"user rejected|rejected by user|patch rejected|Rejected\(|(?:command|patch) was rejected"
)
# Heading that the extension for editors writes between what it attaches and the prompt.
_REQUEST = "## My request for Codex:"
_ATTACHED = re.compile(
    r"\s*# (?:Files mentioned by the user|Diff comments|Context from my IDE setup)\b"
)


class CodexReader(Struct):
    """Reads the lines of one rollout. Fields are its state between lines."""

    record: ClassVar[type] = Line

    session: str = ""
    cwd: str = ""
    model: str = ""
    turn: int = 0  # number of the model response that is being recorded
    speaking: bool = False
    """The last item came from the model, so the next model item is of the same response."""
    exit_codes: dict[str, int] = msgspec.field(default_factory=dict)
    """Exit codes by call id, from events that precede the output item of the call."""
    copied: bool = False
    """A subagent's recording, up to its prompt: a copy of what its parent recorded before."""
    task: str = ""
    """The words of the last call in that copy that started a subagent; they come again as the
    prompt of this one."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        payload = line.payload
        kind = line.type
        if payload is None:
            return self._legacy(line, cursor)
        if kind == "response_item":
            return self._item(payload, line.timestamp or "", cursor)
        if kind == "event_msg":
            return self._event(payload, cursor)
        if kind == "turn_context":
            return self._context(payload)
        if kind == "session_meta":
            return self._meta(payload)
        if kind == "compacted":
            return (cursor.compaction(),)
        if kind in IGNORED_LINES:
            return ()
        return (Unknown(kind or ""),)

    def _legacy(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        if line.record_type is not None:
            return ()
        if line.type is None:
            if line.id is not None:
                git = dict_of(line.git)
                return (
                    SessionFacts(
                        id=text_of(line.id),
                        started=line.timestamp or "",
                        branch=text_of(git.get("branch")),
                        commit=text_of(git.get("commit_hash")),
                    ),
                )
            return (Unknown(""),)
        fields = {name: getattr(line, name) for name in Item.__struct_fields__}
        item = Payload(type=line.type, **fields)
        return self._item(item, line.timestamp or "", cursor)

    def _meta(self, payload: Payload) -> Iterable[Record]:
        identity = text_of(payload.id)
        git = dict_of(payload.git)
        spawn = dict_of(dict_of(dict_of(payload.source).get("subagent")).get("thread_spawn"))
        parent = text_of(payload.parent_thread_id) or text_of(spawn.get("parent_thread_id"))
        if self.session and identity != self.session:
            # A fork: the parent's own header is copied in front of the parent's history.
            return (SessionFacts(forked_from=identity),)
        self.session = identity
        self.copied = bool(parent)
        self.cwd = text_of(payload.cwd) or self.cwd
        return (
            SessionFacts(
                id=identity,
                cwd=text_of(payload.cwd),
                branch=text_of(git.get("branch")),
                commit=text_of(git.get("commit_hash")),
                agent_version=text_of(payload.cli_version),
                parent_id=parent,
                forked_from=text_of(payload.forked_from_id),
                started=text_of(payload.timestamp),
            ),
        )

    def _context(self, payload: Payload) -> Iterable[Record]:
        self.model = text_of(payload.model) or self.model
        if payload.cwd and payload.cwd != self.cwd:
            self.cwd = text_of(payload.cwd)
            return (SessionFacts(cwd=self.cwd),)
        return ()

    def _event(self, payload: Payload, cursor: Cursor) -> Iterable[Record]:
        kind = payload.type
        if kind == "token_count":
            return _token_count(payload.info)
        if kind == "exec_command_end":
            self._store_exit_code(payload.call_id, payload.exit_code)
        elif kind == "patch_apply_end":
            succeeded = payload.success is not False
            return _applied_changes(
                payload.call_id, payload.changes, cursor, succeeded=succeeded
            )
        elif kind == "item_completed" and isinstance(payload.item, dict):
            return self._item_completed(payload.item, cursor)
        elif kind in _TURNS:
            window = int_of(payload.model_context_window)
            facts = () if window is None else (SessionFacts(window=window),)
            return (*facts, Turn(_TURNS[kind], text_of(payload.message)))
        elif kind == "thread_name_updated":
            return (SessionFacts(title=text_of(payload.thread_name)),)
        return ()

    def _item_completed(self, item: dict[str, object], cursor: Cursor) -> Iterable[Record]:
        if item.get("type") == "CommandExecution":
            self._store_exit_code(item.get("id"), item.get("exit_code"))
        elif item.get("type") == "FileChange":
            failed = item.get("status") in ("failed", "declined")
            return _applied_changes(
                item.get("id"), item.get("changes"), cursor, succeeded=not failed
            )
        return ()

    def _store_exit_code(self, call: object, value: object) -> None:
        code = int_of(value)
        if isinstance(call, str) and code is not None:
            self.exit_codes[call] = code
            while len(self.exit_codes) > 64:
                del self.exit_codes[next(iter(self.exit_codes))]

    def _item(self, item: Payload, time: str, cursor: Cursor) -> Iterable[Record]:
        kind = item.type
        if kind == "message":
            return self._text_message(item, time, cursor)
        if kind in {"function_call", "custom_tool_call", "local_shell_call"}:
            name = item.name or ("local_shell" if kind == "local_shell_call" else "")
            given = item.input if item.input is not None else item.arguments
            if isinstance(given, str) and kind == "function_call":
                given = decode_arguments(given)
            if given is None and isinstance(item.action, dict):
                given = item.action
            if name == "spawn_agent" and self.copied:
                self.task = text_of(dict_of(given).get("message"))
            call = tool_call(item.call_id or "", name, given)
            return (self._assistant_message(call, time, cursor),)
        if kind in {"function_call_output", "custom_tool_call_output"}:
            return (self._result_message(item, time, cursor),)
        if kind == "reasoning":
            text = "\n\n".join(_texts(item.summary)) or "\n\n".join(_texts(item.content))
            if text:
                return (self._assistant_message(Reasoning(text), time, cursor),)
            return ()
        if kind == "web_search_call":
            call = ToolCall("", "web_search_call", "fetch", dict_of(item.action))
            return (self._assistant_message(call, time, cursor),)
        if kind == "agent_message":
            text = "\n\n".join(_texts(item.content))
            self.speaking = False
            return (self._message("user", (Text(text),), time, cursor),)
        return () if kind in ITEM_TYPES else (Unknown(f"response_item/{kind}"),)

    def _text_message(self, item: Payload, time: str, cursor: Cursor) -> Iterable[Record]:
        texts = _texts(item.content)
        if item.role == "assistant":
            parts = tuple(Text(t) for t in texts)
            if not self.speaking:
                self.turn += 1
            self.speaking = True
            stop = _PHASES.get(item.phase, "") if isinstance(item.phase, str) else ""
            return (self._message("assistant", parts, time, cursor, stop=stop),)
        self.speaking = False
        if item.role != "user":
            parts = tuple(Text(t) for t in texts)
            return (self._message("system", parts, time, cursor),)
        typed: tuple[Typed, ...] = ()
        pasted = False
        for number, text in enumerate(texts):
            spans, found = _typed(number, text)
            typed += spans
            pasted = pasted or found
        # A prompt that is nothing but a pasted transcript was sent by the person all the same.
        origin = "prompt" if typed or pasted else "injected"
        if self.task and texts == [self.task]:
            origin, typed = "injected", ()
            self.task, self.copied = "", False
        if not typed and len(texts) == 1 and texts[0].startswith("<turn_aborted>"):
            origin = "interruption"
        parts = tuple(Text(t) for t in texts)
        return (self._message("user", parts, time, cursor, origin, typed),)

    def _assistant_message(self, part: Part, time: str, cursor: Cursor) -> Message:
        if not self.speaking:
            self.turn += 1
        self.speaking = True
        return self._message("assistant", (part,), time, cursor)

    def _result_message(self, item: Payload, time: str, cursor: Cursor) -> Message:
        self.speaking = False
        call = item.call_id or ""
        text, code = _output(item.output)
        known = self.exit_codes.pop(call, None)
        code = known if known is not None else code
        if code is not None:
            status = "ok" if code == 0 else "error"
        elif _RUNNING in text[:400]:
            status = "running"
        elif text.startswith(_NEVER_RAN):
            status = "denied"
        elif text.startswith(("user rejected", "patch rejected")):
            status = "denied"
        elif text.startswith("aborted"):
            status = "interrupted"
        elif text.startswith(_FAILED):
            status = "denied" if _REJECTED.search(text, 0, 1000) else "error"
        else:
            status = "ok"
        result = ToolResult(call, text, status, code)
        return self._message("tool", (result,), time, cursor)

    def _message(
        self,
        role: Role,
        parts: tuple[Part, ...],
        time: str,
        cursor: Cursor,
        origin: str = "",
        typed: tuple[Typed, ...] = (),
        stop: str = "",
    ) -> Message:
        response = f"response-{self.turn}"
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            response=response,
            time=time,
            model=self.model,
            cwd=self.cwd,
            stop=stop,
        )


def _typed(part: int, text: str) -> tuple[tuple[Typed, ...], bool]:
    """The spans of a message that the person typed, and whether a transcript of another agent
    was pasted into it."""
    start = 0
    if _ATTACHED.match(text) and (at := text.find(_REQUEST)) >= 0:
        start = at + len(_REQUEST)
    spans = typed_spans(part, text) if not start else _shifted(part, text, start, len(text))
    pasted = transcript_span(text) if spans else None
    if pasted is None:
        return spans, False
    before = _shifted(part, text, start, max(start, pasted[0]))
    return before + _shifted(part, text, max(start, pasted[1]), len(text)), True


def _shifted(part: int, text: str, start: int, end: int) -> tuple[Typed, ...]:
    return shifted(typed_spans(part, text[start:end].rstrip()), start)


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [
        b["text"] for b in content if isinstance(b, dict) and isinstance(b.get("text"), str)
    ]


def _output(output: object) -> tuple[str, int | None]:
    """Text and exit code of a tool's output, in any of its four shapes."""
    code: int | None = None
    if isinstance(output, str) and output.startswith("{"):
        value = decode_arguments(output)
        if isinstance(value, dict) and isinstance(value.get("output"), str):
            facts = value.get("metadata")
            if isinstance(facts, dict):
                code = int_of(facts.get("exit_code"))
            return value["output"], code
    if isinstance(output, dict):
        output = output.get("content", "")
    text = output if isinstance(output, str) else "\n".join(_texts(output))
    found = _EXIT_CODE.search(text, 0, 400)
    return text, int(found[1]) if found else None


def _applied_changes(
    call: object, changes: object, cursor: Cursor, *, succeeded: bool
) -> Iterable[Record]:
    if not isinstance(changes, dict):
        return ()
    files: list[tuple[str, str, str]] = []
    for path, change in changes.items():
        if not isinstance(change, dict):
            continue
        action = ACTIONS.get(text_of(change.get("type")), "modified")
        files.append(moved(path, text_of(change.get("move_path")), action))
    return (cursor.changes(text_of(call), files, succeeded=succeeded),)


def _token_count(info: object) -> Iterable[Record]:
    if not isinstance(info, dict):
        return ()
    named = ("last_token_usage", "total_token_usage")
    last, total = (usage_by(info.get(name), TOKENS, inclusive=True) for name in named)
    window = int_of(info.get("model_context_window"))
    if last is None and total is None:
        return ()
    return (TokenCount(last or Usage(), total or Usage(), window),)


def _detect(sample: Sample) -> bool:
    wrapped = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
    bare = False
    for line in sample.each_line():
        if str(line.get("type")) in wrapped and "payload" in line:
            return True
        if "record_type" in line and "type" not in line:
            bare = True
    first = sample.lines[0] if sample.lines else {}
    return bare and "id" in first and "timestamp" in first


FORMAT = Format("codex", "lines", CodexReader, _detect)
