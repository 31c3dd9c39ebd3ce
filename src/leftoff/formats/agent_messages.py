"""Lists of `AgentMessage` objects: docs/formats/agent_messages.md.

A JSON list (or one object on each line) of {"type": "user" | "assistant" | "system" | ...,
"content": [...]}; a block is text, or has `toolName` with `toolInput`, or `toolResult`."""

from collections.abc import Iterable

from leftoff import model as rec
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields, json_text
from leftoff.formats.openai_parts import blocks_of
from leftoff.formats.reader import Cursor, Format, ItemReader, items_under, lines_of

TYPES = frozenset({"user", "assistant", "system", "tool", "tool_use", "tool_result", "result"})


class AgentMessageReader(ItemReader):
    lists = ()

    def item(self, m: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        kind = m.text("type")
        if kind not in TYPES:
            return (rec.Unknown(kind),)
        parts = [p for block in blocks_of(m.get("content")) for p in self._parts(block)]
        typed = typed_parts(parts) if kind == "user" else ()
        # Calls and results stand in messages of several types; what is in one says whose it is.
        role: rec.Role = "tool"
        if kind in {"user", "system"}:
            role = "user" if kind == "user" else "system"
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
            given = block.get([*inputs, "input"][0])
            yield self.call(block.text("toolUseId", "id"), name, given)
        # Both spellings are found; a result may be null in one of them.
        given = block.get("toolResult")
        given = block.get("tool_result") if given is None else given
        if given is not None or kind == "tool_result":
            given = given if given is not None else block.get("content")
            said = Fields(given)
            # A tool that failed may say so itself, in its output, while the block says nothing.
            flags = block.get("isError"), block.get("is_error"), said.get("isError")
            status = "error" if True in flags or said.get("error") else "ok"
            identity = self.answered(block.text("toolUseId", "tool_use_id"), name)
            yield rec.ToolResult(identity, _text(given), status)
        elif isinstance(text := block.get("text"), str):
            yield rec.Text(text)
        elif not called:
            yield rec.Media(kind)


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
    found = Fields(value)
    known = found.text("type") in TYPES and "content" in found.value
    return known and not {"role", "message", "payload"} & found.value.keys()


FORMAT = Format("agent_messages", "document", AgentMessageReader, items_under(is_message))
LINES = Format("agent_message_lines", "lines", AgentMessageReader, lines_of(is_message))
