"""Semantic Kernel's `ChatHistory`, one JSON document each: docs/formats/semantic_kernel.md.

Python's `ChatHistory.serialize()`, the .NET serialiser's list, and the `chat_history` of a
resume state."""

from collections.abc import Iterable

from leftoff import model as rec
from leftoff.formats.chat import ROLES
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields, json_text, time_of_s
from leftoff.formats.openai_parts import decode_arguments, usage_of
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample, mostly

_NAMED = ("user", "assistant", "system", "developer", "tool")


class SemanticKernelReader(ItemReader):
    lists = ("messages", "chat_history")

    def head(self, document: Fields) -> Iterable[rec.Record]:
        if (about := document.at("workflow_metadata")).value:
            yield about.facts(id="id", started="started_at")

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        item = _lowered(item)
        # .NET writes the role as an object: `{"Label": "user"}`.
        named = (item.text("role") or _lowered(item.at("role")).text("label")).casefold()
        if named not in _NAMED:
            return (rec.Unknown(f"role {named}" if item.value else "message"),)
        role = ROLES[named]
        self.turns += role == "assistant"
        parts = tuple(self._parts(item, role))
        about = _lowered(item.at("metadata"))
        message = cursor.message(
            role,
            parts,
            typed=typed_parts(parts) if role == "user" else (),
            response=about.text("id") or f"r{self.turns}",
            time=item.text("timestamp")
            or time_of_s(about.get("created"))
            or about.text("created", "createdat"),
            model=item.text("aimodelid", "modelid"),
            usage=usage_of(about.get("usage")),
        )
        return (message,)

    def _parts(self, item: Fields, role: rec.Role) -> Iterable[rec.Part]:
        text = item.text("content") if not item.get("items") else ""
        if role == "tool" and text:
            yield rec.ToolResult(self.answered(item.text("toolcallid")), text)
            return
        if text:
            yield rec.Text(text)
        for block in item.each("items"):
            yield self._part(_lowered(block))
        for call in map(_lowered, item.each("functioncalls")):
            yield self._call(call.text("callid"), "", call, call.get("parameters"))

    def _part(self, block: Fields) -> rec.Part:
        kind = block.text("contenttype", "$type")
        # .NET's `FunctionCallContent` is Python's `function_call`.
        kind = kind.removesuffix("Content").casefold().replace("_", "")
        if kind == "functioncall":
            plugin, given = block.text("pluginname"), block.get("arguments")
            return self._call(block.text("id"), plugin, block, given)
        if kind == "functionresult":
            result = block.get("result")
            call = self.answered(block.text("callid", "id"))
            return rec.ToolResult(call, "" if result is None else json_text(result))
        text = block.get("text")
        if kind == "reasoning":
            return rec.Reasoning(block.text("text"))
        if kind == "text" or isinstance(text, str):
            return rec.Text(block.text("text"))
        return rec.Media(kind)

    def _call(self, identity: str, plugin: str, block: Fields, given: object) -> rec.ToolCall:
        name = block.text("functionname")
        name = f"{plugin}.{name}" if plugin else name
        identity = identity or f"call-{self.turns}-{len(self.waiting)}"
        return self.call(identity, name, decode_arguments(given))


def _lowered(fields: Fields) -> Fields:
    """The fields by one name each: .NET writes `FunctionName`, Python `function_name`."""
    return Fields({k.casefold().replace("_", ""): v for k, v in fields.value.items()})


def _is_message(value: object) -> bool:
    match value:
        case {"content_type": "message", "role": _}:
            return True
        case {"Role": {"Label": _}, "Items": _} | {"Role": {"Label": _}, "Content": _}:
            return True
    return False


def _detect(sample: Sample) -> bool:
    if "chat_history" in sample.keys:
        history = sample.listed("chat_history")
        return "workflow_metadata" in sample.keys and any("role" in m for m in history)
    return mostly(_is_message, sample.listed("messages"))


FORMAT = Format("semantic_kernel", "document", SemanticKernelReader, _detect)
