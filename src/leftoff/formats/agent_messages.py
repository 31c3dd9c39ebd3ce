"""Lists of `AgentMessage` objects: docs/formats/agent_messages.md.

A JSON list (or one object on each line) of {"type": "user" | "assistant" | "system" | ...,
"content": [...]}; a block is text, or has `toolName` with `toolInput`, or `toolResult`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff import model as rec
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import text_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.formats.vocabulary import tool_call

TYPES = frozenset({"user", "assistant", "system", "tool", "tool_use", "tool_result", "result"})


class AgentMessage(Struct, gc=False):
    type: str = ""
    content: object = None
    timestamp: object = None
    id: object = None
    uuid: object = None


_MESSAGE = codec.LineDecoder(AgentMessage)


class AgentMessageReader(Struct):
    """Reads one message on each line. Fields are its state between lines."""

    record: ClassVar[Any] = AgentMessage

    calls: int = 0
    open: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """Id and tool name of calls without a result."""

    def read(self, record: AgentMessage, cursor: Cursor) -> Iterable[rec.Record]:
        return (self.message(record, cursor),)

    def message(self, m: AgentMessage, cursor: Cursor) -> rec.Record:
        """One message, on a line or of a document."""
        if m.type not in TYPES:
            return rec.Unknown(m.type)
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        content = m.content if isinstance(m.content, list) else [m.content]
        for block in content:
            if isinstance(block, str):
                block = {"type": "text", "text": block}
            if not isinstance(block, dict):
                continue
            for part in self._parts(block):
                if m.type == "user" and type(part) is rec.Text:
                    typed += typed_spans(len(parts), part.text)
                parts.append(part)
        role: rec.Role = "tool"
        if m.type == "user":
            role = "user"
        elif m.type == "system":
            role = "system"
        elif m.type == "assistant" or any(type(p) is rec.ToolCall for p in parts):
            role = "assistant"
        origin = "" if typed or role != "user" else "tool"
        key = next((k for k in (m.uuid, m.id) if isinstance(k, str)), "")
        return cursor.message(
            role, tuple(parts), origin, typed, key=key, time=text_of(m.timestamp)
        )

    def _parts(self, block: dict[str, Any]) -> Iterable[rec.Part]:
        name = block.get("toolName") or block.get("tool_name") or block.get("name")
        kind = block.get("type")
        result = block.get("toolResult", block.get("tool_result"))
        if kind == "thinking":
            yield rec.Reasoning(str(block.get("thinking") or block.get("text") or ""))
            return
        called = (
            isinstance(name, str)
            and kind != "tool_result"
            and (kind == "tool_use" or "toolInput" in block or "tool_input" in block)
        )
        if called:
            self.calls += 1
            identity = block.get("toolUseId") or block.get("id")
            identity = identity if isinstance(identity, str) else f"call-{self.calls}"
            self.open = [*self.open[-63:], (identity, str(name))]
            given = block.get("toolInput", block.get("tool_input", block.get("input")))
            yield tool_call(identity, str(name), given)
        if result is not None or kind == "tool_result":
            given = result if result is not None else block.get("content")
            failed = block.get("isError") is True or block.get("is_error") is True
            if isinstance(given, dict):
                failed = failed or given.get("isError") is True or bool(given.get("error"))
            identity = self._match_call(
                block.get("toolUseId") or block.get("tool_use_id"), name
            )
            yield rec.ToolResult(identity, _text(given), "error" if failed else "ok")
        elif isinstance(block.get("text"), str):
            yield rec.Text(block["text"])
        elif not called:
            yield rec.Media(str(kind or ""))

    def _match_call(self, identity: object, name: object) -> str:
        """The call that a result answers: by id, else the oldest open one of that tool."""
        for place, (known, tool) in enumerate(self.open):
            if known == identity or (not identity and (tool == name or not name)):
                del self.open[place]
                return known
        return identity if isinstance(identity, str) else ""


class AgentMessageDocumentReader(AgentMessageReader):
    """Reads a list of messages."""

    record: ClassVar[Any] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:  # type: ignore[override]
        for message in cursor.each(data, _MESSAGE):
            yield self.message(message, cursor) if message else rec.Unknown("")


def _text(value: object, depth: int = 20) -> str:
    """The text of a result; values nested more than `depth` levels deep as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("output", "content", "text", "error", "stdout"):
            if isinstance(value.get(key), str):
                return str(value[key])
    if isinstance(value, list) and depth:
        return "\n".join(_text(v, depth - 1) for v in value)
    return "" if value is None else msgspec.json.encode(value).decode()


def is_message(value: object) -> bool:
    """Whether a JSON value looks like a message of this format: a `type` and no `role`."""
    if not isinstance(value, dict) or "role" in value:
        return False
    if not isinstance(value.get("type"), str) or value["type"] not in TYPES:
        return False
    return "content" in value and "message" not in value and "payload" not in value


def _detect(sample: Sample) -> bool:
    return mostly(is_message, sample.items)


def _detect_lines(sample: Sample) -> bool:
    return mostly(is_message, sample.lines)


FORMAT = Format("agent_messages", "document", AgentMessageDocumentReader, _detect)
LINES = Format("agent_message_lines", "lines", AgentMessageReader, _detect_lines)
