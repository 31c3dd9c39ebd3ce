"""The events of `codex exec --json`: docs/formats/codex_exec.md.

One event on each line: the thread, its turns, and items (commands, file changes, calls of MCP
tools, messages) that start and complete. The prompt is not among the events."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from leftoff import model as rec
from leftoff.formats.lenient_json import dict_of, dicts_of, int_of, text_of, usage_by
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import KINDS, tool_call

EVENTS = KINDS["codex_exec_events"]
_STATUS = {"completed": "ok", "failed": "error", "declined": "denied", "in_progress": "running"}
_ACTIONS = {"add": "created", "update": "modified", "delete": "deleted"}
_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "",
    "reasoning_output_tokens",
)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})


class Event(Struct, gc=False):
    type: str = ""
    thread_id: str | None = None
    item: dict[str, Any] | None = None
    usage: object = None
    error: object = None
    message: object = None


class CodexExecReader(Struct):
    """Reads the events of one stream. Fields are its state between lines."""

    record: ClassVar[Any] = Event

    thread: str = ""
    run: int = 0
    """Number of `thread.started` events: the ids of items begin anew in each run."""
    turn: int = 0
    """Number of the model response that is being recorded."""
    speaking: bool = False
    """The last item came from the model, so the next one is of the same response."""
    started: list[str] = msgspec.field(default_factory=list)
    """Ids of the items whose call stands at their start."""

    def read(self, event: Event, cursor: Cursor) -> Iterable[rec.Record]:
        kind = event.type
        if kind in {"item.started", "item.updated", "item.completed"}:
            return tuple(self._item(kind, dict_of(event.item), cursor))
        if kind == "thread.started":
            return self._thread(event.thread_id or "")
        if kind == "turn.completed":
            total = usage_by(dict_of(event.usage), _TOKENS, inclusive=True) or rec.Usage()
            ended = rec.Turn("ended")
            return (rec.TokenCount(rec.Usage(), total), ended) if total.total else (ended,)
        if kind == "turn.started":
            return (rec.Turn("started"),)
        if kind in {"turn.failed", "error"}:
            words = text_of(event.message) or text_of(dict_of(event.error).get("message"))
            said = (self._message("system", rec.Text(words), cursor),) if words else ()
            return (*said, rec.Turn("failed", words)) if kind == "turn.failed" else said
        return (rec.Unknown(kind),)

    def _thread(self, identity: str) -> Iterable[rec.Record]:
        self.run += 1
        self.speaking = False
        self.started = []
        # A thread that is resumed has the same id: the file then goes on with it.
        another = bool(self.thread) and identity != self.thread
        self.thread = identity
        facts = rec.SessionFacts(id=identity)
        return (rec.NewSession(identity), facts) if another else (facts,)

    def _item(self, event: str, item: dict[str, Any], cursor: Cursor) -> Iterable[rec.Record]:
        kind = text_of(item.get("type"))
        if kind in {"agent_message", "reasoning", "error"}:
            words = text_of(item.get("text")) or text_of(item.get("message"))
            if event != "item.completed" or not words:
                return
            if kind == "error":
                yield self._message("system", rec.Text(words), cursor)
            else:
                part = rec.Text(words) if kind == "agent_message" else rec.Reasoning(words)
                yield self._message("assistant", part, cursor)
            return
        if kind == "todo_list":
            steps = [
                {
                    "step": text_of(step.get("text")),
                    "status": "completed" if step.get("completed") is True else "pending",
                }
                for step in dicts_of(item.get("items"))
            ]
            call = tool_call("", "update_plan", {"plan": steps})
            yield self._message("assistant", call, cursor)
            return
        if kind == "web_search":
            if event == "item.completed":
                given = {"query": item.get("query"), "action": item.get("action")}
                call = rec.ToolCall("", "web_search_call", "fetch", given)
                yield self._message("assistant", call, cursor)
            return
        if event == "item.updated":
            return
        recorded = text_of(item.get("id"))
        identity = f"{recorded}@{self.run}" if self.run > 1 else recorded
        if recorded not in self.started:
            yield self._message("assistant", _call(kind, identity, item), cursor)
            self.started = [*self.started[-63:], recorded]
        if event == "item.completed":
            self.started = [one for one in self.started if one != recorded]
            result = _result(kind, identity, item)
            yield self._message("tool", result, cursor)
            if kind == "file_change":
                files = [
                    (path, _ACTIONS.get(text_of(change.get("kind")), "modified"), "")
                    for change in dicts_of(item.get("changes"))
                    if (path := text_of(change.get("path")))
                ]
                yield cursor.changes(identity, files, succeeded=result.status == "ok")

    def _message(self, role: rec.Role, part: rec.Part, cursor: Cursor) -> rec.Message:
        speaks = role == "assistant"
        self.turn += speaks and not self.speaking
        self.speaking = speaks
        origin = "meta" if role == "system" else ""
        return cursor.message(role, (part,), origin, response=f"response-{self.turn}")


def _call(kind: str, identity: str, item: dict[str, Any]) -> rec.ToolCall:
    if kind == "command_execution":
        command = text_of(item.get("command"))
        return rec.ToolCall(identity, "shell", "shell", {"command": _argv(command)})
    if kind == "mcp_tool_call":
        server, tool = text_of(item.get("server")), text_of(item.get("tool"))
        name = f"mcp__{server}__{tool}"
        return tool_call(identity, name, item.get("arguments"))
    if kind == "file_change":
        return rec.ToolCall(identity, kind, "other", {"changes": item.get("changes")})
    known = {"id", "type", "status", "result", "error"}
    return rec.ToolCall(
        identity, kind, "other", {k: v for k, v in item.items() if k not in known}
    )


def _argv(command: str) -> Any:
    """`/bin/zsh -lc 'ls'` as its three words, of which the last one is what ran; else the text
    as it is."""
    if command.partition(" ")[0].rpartition("/")[2] not in _SHELLS:
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[1] in {"-c", "-lc"}:
        return [words[0].rpartition("/")[2], *words[1:]]
    return command


def _result(kind: str, identity: str, item: dict[str, Any]) -> rec.ToolResult:
    status = _STATUS.get(text_of(item.get("status")), "unknown")
    if kind == "command_execution":
        code = int_of(item.get("exit_code"))
        if code is not None and status != "denied":
            status = "error" if code else "ok"
        return rec.ToolResult(identity, text_of(item.get("aggregated_output")), status, code)
    content = dict_of(item.get("result")).get("content")
    texts = [text_of(block.get("text")) for block in dicts_of(content)]
    failure = dict_of(item.get("error")).get("message") or item.get("error")
    if not any(texts) and isinstance(failure, str):
        texts = [failure]
    return rec.ToolResult(identity, "\n".join(filter(None, texts)), status)


def _detect(sample: Sample) -> bool:
    for line in sample.lines:
        kind = line.get("type")
        if kind == "thread.started" and "thread_id" in line:
            return True
        if kind in ("item.started", "item.updated", "item.completed"):
            item = line.get("item")
            if isinstance(item, dict) and isinstance(item.get("type"), str):
                return "id" in item
    return False


# Registered as `codex_exec`.
FORMAT = Format("codex_exec", "lines", CodexExecReader, _detect, several=True)
