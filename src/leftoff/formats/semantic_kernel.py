"""Semantic Kernel's `ChatHistory`, one JSON document each: docs/formats/semantic_kernel.md.

Python's `ChatHistory.serialize()`, the .NET serialiser's list, and the `chat_history` of a
resume state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct

from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import (
    dict_of,
    dicts_of,
    fields_of,
    items_of,
    text_of,
    time_of_ms,
    value_of,
)
from leftoff.formats.openai_parts import decode_arguments, usage_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.formats.vocabulary import tool_call


class Item(Struct, gc=False):
    """A message; the .NET names differ in their case only and are brought to lower case."""

    role: object = None
    items: object = None
    content: object = None
    metadata: object = None
    ai_model_id: object = None
    modelid: object = None
    timestamp: object = None
    function_calls: object = None
    tool_call_id: object = None


_ITEM = LineDecoder(Item)
_ROLES: dict[str, rec.Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}


class SemanticKernelReader(Struct):
    """Reads one history. Fields are its state."""

    record: ClassVar[Any] = bytes

    turns: int = 0
    open: list[str] = []
    """Ids of calls without a result, for results that name none."""

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        fields = fields_of(data)
        listed = fields.get("messages") or fields.get("chat_history") or Raw(data)
        facts = dict_of(value_of(fields.get("workflow_metadata")))
        if facts:
            yield rec.SessionFacts(
                id=text_of(facts.get("id")), started=text_of(facts.get("started_at"))
            )
        for number, item in enumerate(items_of(listed)):
            cursor.item, cursor.raw = number, bytes(item)
            lowered = {k.casefold(): v for k, v in fields_of(cursor.raw).items()}
            found, _ = _ITEM.decode(msgspec.json.encode(lowered))
            yield self._message(found[0], cursor) if found else rec.Unknown("message")

    def _message(self, item: Item, cursor: Cursor) -> rec.Record:
        label = _field_of(dict_of(item.role), "label") if item.role else ""
        named = (text_of(item.role) or text_of(label)).casefold()
        if named not in _ROLES:
            return rec.Unknown(f"role {named}")
        role = _ROLES[named]
        self.turns += role == "assistant"
        parts = tuple(self._parts(item, role))
        about = dict_of(item.metadata)
        return cursor.message(
            role,
            parts,
            typed=typed_parts(parts) if role == "user" else (),
            response=text_of(_field_of(about, "id")) or f"r{self.turns}",
            time=text_of(item.timestamp) or _time(about),
            model=text_of(item.ai_model_id) or text_of(item.modelid),
            usage=usage_of(_field_of(about, "usage")),
        )

    def _parts(self, item: Item, role: rec.Role) -> Iterable[rec.Part]:
        if role == "tool" and text_of(item.content) and not item.items:
            yield rec.ToolResult(self._match_call(item.tool_call_id), text_of(item.content))
            return
        if not item.items and text_of(item.content):
            yield rec.Text(text_of(item.content))
        for block in dicts_of(item.items):
            yield self._part(block)
        for call in dicts_of(item.function_calls):
            yield self._call(call.get("call_id"), "", call, call.get("parameters"))

    def _part(self, block: dict[str, Any]) -> rec.Part:
        kind = text_of(block.get("content_type")) or text_of(block.get("$type"))
        kind = kind.removesuffix("Content").casefold().replace("_", "")
        if kind == "functioncall":
            plugin = text_of(_field_of(block, "plugin_name"))
            return self._call(
                _field_of(block, "id"), plugin, block, _field_of(block, "arguments")
            )
        if kind == "functionresult":
            identity = _field_of(block, "call_id") or _field_of(block, "id")
            return rec.ToolResult(
                self._match_call(identity), _result_text(_field_of(block, "result"))
            )
        text = _field_of(block, "text")
        if kind == "reasoning":
            return rec.Reasoning(text_of(text))
        if kind == "text" or isinstance(text, str):
            return rec.Text(text_of(text))
        return rec.Media(kind)

    def _call(
        self, identity: Any, plugin: str, block: dict[str, Any], given: Any
    ) -> rec.ToolCall:
        name = text_of(_field_of(block, "function_name"))
        if plugin:
            name = f"{plugin}.{name}"
        if not text_of(identity):
            identity = f"call-{self.turns}-{len(self.open)}"
        self.open = [*self.open[-31:], identity]
        return tool_call(identity, name, decode_arguments(given))

    def _match_call(self, identity: object) -> str:
        """The id of the call that a result answers; the oldest open one if it names none."""
        if text_of(identity):
            self.open = [known for known in self.open if known != identity]
            return text_of(identity)
        return self.open.pop(0) if self.open else ""


def _field_of(values: dict[str, Any], name: str) -> Any:
    """A value by its Python name, or by its .NET name, which has no underscores."""
    if name in values:
        return values[name]
    bare = name.replace("_", "")
    return next((v for k, v in values.items() if k.casefold() == bare), None)


def _result_text(result: object) -> str:
    if isinstance(result, str):
        return result
    return "" if result is None else msgspec.json.encode(result).decode()


def _time(about: dict[str, Any]) -> str:
    created = _field_of(about, "created")
    if isinstance(created, (int, float)) and abs(created) < 1e11:
        return time_of_ms(created * 1000)
    return text_of(created) or text_of(_field_of(about, "created_at"))


def _is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("content_type") == "message" and "role" in value:
        return True
    label = value.get("Role")
    return (
        isinstance(label, dict)
        and "Label" in label
        and ("Items" in value or "Content" in value)
    )


def _detect(sample: Sample) -> bool:
    if isinstance(sample.document, dict):
        if "chat_history" in sample.keys:
            history = dicts_of(sample.document["chat_history"])
            return "workflow_metadata" in sample.keys and any("role" in m for m in history)
    return mostly(_is_message, sample.listed("messages"))


FORMAT = Format("semantic_kernel", "document", SemanticKernelReader, _detect)
