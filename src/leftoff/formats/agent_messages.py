"""Lists of `AgentMessage` objects: docs/formats/agent_messages.md.

A JSON list (or one object on each line) of {"type": "user" | "assistant" | "system" | ...,
"content": [...]}; a block is text, or has `toolName` with `toolInput`, or `toolResult`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import field

from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import Fields, json_text
from leftoff.formats.openai_parts import blocks_of
from leftoff.formats.reader import Cursor, Format, ItemReader, items_under, lines_of
from leftoff.formats.vocabulary import tool_call

TYPES = frozenset({"user", "assistant", "system", "tool", "tool_use", "tool_result", "result"})


class AgentMessageReader(ItemReader):
    """Reads one message on each line, or a list of them. Fields are its state between lines."""

    lists = ()

    calls: int = 0
    open: list[tuple[str, str]] = field(default_factory=list)
    """Id and tool name of calls without a result."""

    def item(self, m: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        kind = m.text("type")
        if kind not in TYPES:
            return (rec.Unknown(kind),)
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        for block in blocks_of(m.get("content")):
            for part in self._parts(block):
                if kind == "user" and type(part) is rec.Text:
                    typed += typed_spans(len(parts), part.text)
                parts.append(part)
        role: rec.Role = "tool"
        if kind == "user":
            role = "user"
        elif kind == "system":
            role = "system"
        elif kind == "assistant" or any(type(p) is rec.ToolCall for p in parts):
            role = "assistant"
        origin = "" if typed or role != "user" else "tool"
        key, time = m.text("uuid", "id"), m.text("timestamp")
        return (cursor.message(role, tuple(parts), origin, typed, key=key, time=time),)

    def _parts(self, block: Fields) -> Iterable[rec.Part]:
        name, kind = block.text("toolName", "tool_name", "name"), block.text("type")
        if kind == "thinking":
            yield rec.Reasoning(block.text("thinking", "text"))
            return
        inputs = [n for n in ("toolInput", "tool_input") if n in block.value]
        called = name and kind != "tool_result" and (kind == "tool_use" or inputs)
        if called:
            self.calls += 1
            identity = block.text("toolUseId", "id") or f"call-{self.calls}"
            self.open = [*self.open[-63:], (identity, name)]
            yield tool_call(identity, name, block.get([*inputs, "input"][0]))
        given = block.get("toolResult")
        given = block.get("tool_result") if given is None else given
        if given is not None or kind == "tool_result":
            given = given if given is not None else block.get("content")
            said = Fields(given)
            flags = block.get("isError"), block.get("is_error"), said.get("isError")
            status = "error" if True in flags or said.get("error") else "ok"
            identity = self._match_call(block.text("toolUseId", "tool_use_id"), name)
            yield rec.ToolResult(identity, _text(given), status)
        elif isinstance(text := block.get("text"), str):
            yield rec.Text(text)
        elif not called:
            yield rec.Media(kind)

    def _match_call(self, identity: str, name: str) -> str:
        """The call that a result answers: by id, else the oldest open one of that tool."""
        for place, (known, tool) in enumerate(self.open):
            if known == identity or (not identity and (tool == name or not name)):
                del self.open[place]
                return known
        return identity


def _text(value: object, depth: int = 20) -> str:
    """The text of a result; values nested more than `depth` levels deep as JSON."""
    if isinstance(value, dict):
        for key in ("output", "content", "text", "error", "stdout"):
            if isinstance(value.get(key), str):
                return str(value[key])
    if isinstance(value, list) and depth:
        return "\n".join(_text(v, depth - 1) for v in value)
    return "" if value is None else json_text(value)


def is_message(value: object) -> bool:
    """Whether a JSON value looks like a message of this format: a `type` and no `role`."""
    if not isinstance(value, dict) or "role" in value:
        return False
    if not isinstance(value.get("type"), str) or value["type"] not in TYPES:
        return False
    return "content" in value and "message" not in value and "payload" not in value


FORMAT = Format("agent_messages", "document", AgentMessageReader, items_under(is_message))
LINES = Format("agent_message_lines", "lines", AgentMessageReader, lines_of(is_message))
