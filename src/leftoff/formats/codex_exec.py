"""The events of `codex exec --json`: docs/formats/codex_exec.md.

One event on each line: the thread, its turns, and items (commands, file changes, calls of MCP
tools, messages) that start and complete. The prompt is not among the events."""

import shlex
from collections.abc import Iterable

from msgspec import field

from leftoff import model as rec
from leftoff.formats.codex import ACTIONS, TOKENS
from leftoff.formats.lenient_json import Fields, usage_by
from leftoff.formats.reader import Cursor, Format, ItemReader
from leftoff.formats.vocabulary import KINDS, tool_call

EVENTS = KINDS["codex_exec_events"]
_STATUS = {"completed": "ok", "failed": "error", "declined": "denied", "in_progress": "running"}
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})


class CodexExecReader(ItemReader):
    thread: str = ""
    run: int = 0  # number of `thread.started` events: the ids of items begin anew in each run.
    speaking: bool = False
    """The last item came from the model, so the next one is of the same response."""
    started: list[str] = field(default_factory=list)
    """Ids of the items whose call stands at their start."""

    def item(self, event: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        kind = event.text("type")
        if kind in {"item.started", "item.updated", "item.completed"}:
            return self._item(kind, event.at("item"), cursor)
        if kind == "thread.started":
            return self._thread(event.text("thread_id"))
        if kind == "turn.completed":
            usage = event.at("usage").value
            total = usage_by(usage, TOKENS, inclusive=True) or rec.Usage()
            ended = rec.Turn("ended")
            return (rec.TokenCount(rec.Usage(), total), ended) if total.total else (ended,)
        if kind == "turn.started":
            return (rec.Turn("started"),)
        if kind in {"turn.failed", "error"}:
            words = event.text("message", "error.message")
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

    def _item(self, event: str, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        kind = item.text("type")
        completed = event == "item.completed"
        if kind in {"agent_message", "reasoning", "error"}:
            words = item.text("text", "message")
            if completed and words:
                part = rec.Reasoning(words) if kind == "reasoning" else rec.Text(words)
                role: rec.Role = "system" if kind == "error" else "assistant"
                yield self._message(role, part, cursor)
        elif kind == "todo_list":
            steps = [
                {
                    "step": step.text("text"),
                    "status": "completed" if step.get("completed") is True else "pending",
                }
                for step in item.each("items")
            ]
            call = tool_call("", "update_plan", {"plan": steps})
            yield self._message("assistant", call, cursor)
        elif kind == "web_search":
            if completed:
                given = {"query": item.get("query"), "action": item.get("action")}
                call = rec.ToolCall("", "web_search_call", "fetch", given)
                yield self._message("assistant", call, cursor)
        elif event != "item.updated":
            recorded = item.text("id")
            identity = f"{recorded}@{self.run}" if self.run > 1 else recorded
            if recorded not in self.started:
                yield self._message("assistant", _call(kind, identity, item), cursor)
                self.started = [*self.started[-63:], recorded]
            if completed:
                self.started = [one for one in self.started if one != recorded]
                result = _result(kind, identity, item)
                yield self._message("tool", result, cursor)
            if completed and kind == "file_change":
                files = [
                    (path, ACTIONS.get(change.text("kind"), "modified"), "")
                    for change in item.each("changes")
                    if (path := change.text("path"))
                ]
                yield cursor.changes(identity, files, succeeded=result.status == "ok")

    def _message(self, role: rec.Role, part: rec.Part, cursor: Cursor) -> rec.Message:
        speaks = role == "assistant"
        self.turns += speaks and not self.speaking
        self.speaking = speaks
        origin = "meta" if role == "system" else ""
        return cursor.message(role, (part,), origin, response=f"response-{self.turns}")


def _call(kind: str, identity: str, item: Fields) -> rec.ToolCall:
    if kind == "command_execution":
        command = {"command": _argv(item.text("command"))}
        return rec.ToolCall(identity, "shell", "shell", command)
    if kind == "mcp_tool_call":
        name = f"mcp__{item.text('server')}__{item.text('tool')}"
        return tool_call(identity, name, item.get("arguments"))
    given = {"changes": item.get("changes")}
    if kind != "file_change":
        known = {"id", "type", "status", "result", "error"}
        given = {k: v for k, v in item.value.items() if k not in known}
    return rec.ToolCall(identity, kind, "other", given)


def _argv(command: str) -> str | list[str]:
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


def _result(kind: str, identity: str, item: Fields) -> rec.ToolResult:
    status = _STATUS.get(item.text("status"), "unknown")
    if kind == "command_execution":
        code = item.number("exit_code")
        if code is not None and status != "denied":
            status = "error" if code else "ok"
        return rec.ToolResult(identity, item.text("aggregated_output"), status, code)
    texts = filter(None, (block.text("text") for block in item.each("result.content")))
    text = "\n".join(texts) or item.text("error.message", "error")
    return rec.ToolResult(identity, text, status)


def _is_event(line: dict[str, object]) -> bool:
    match line:
        case {"type": "thread.started", "thread_id": _} | {
            "type": "item.started" | "item.updated" | "item.completed",
            "item": {"type": str(), "id": _},
        }:
            return True
    return False


FORMAT = Format(
    "codex_exec", "lines", CodexExecReader, lambda s: any(map(_is_event, s.lines)), several=True
)
