"""LangChain's dumps of messages, one JSON document each: docs/formats/langchain.md.

Three shapes of one message: `messages_to_dict` ({"type", "data"}), `dumps` ({"lc", "type":
"constructor", "id", "kwargs"}) and a model's own dump ({"type", "content", ...}). They stand in
a list, or in an object's `messages`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from leftoff.codec import LineDecoder
from leftoff.formats.chat import ChatMessage, ChatReader
from leftoff.formats.lenient_json import count_of, dict_of, dicts_of, fields_of, text_of
from leftoff.formats.openai_parts import usage_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.model import Message, Part, Record, ToolResult, Unknown, Usage

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
ROLES |= {"function": "function", "developer": "developer"}
_SUFFIXES = ("messagechunk", "message")
# Content blocks that repeat `tool_calls`, which has one form for all providers.
_CALL_BLOCKS = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "input_json_delta", "function_call"}
)


class Item(Struct, gc=False):
    type: object = None
    data: object = None
    lc: object = None
    id: object = None
    kwargs: object = None


class Data(Struct, gc=False):
    content: object = None
    type: object = None
    role: object = None
    id: object = None
    tool_calls: object = None
    invalid_tool_calls: object = None
    tool_call_id: object = None
    status: object = None
    usage_metadata: object = None
    additional_kwargs: object = None
    response_metadata: object = None


_ITEM = LineDecoder(Item)
_DATA = LineDecoder(Data)


class LangChainReader(Struct):
    """Reads one dump. Its state is the chat reader's."""

    record: ClassVar[Any] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        reader = ChatReader()
        for item in cursor.each(_message_list(data), _ITEM):
            kind, inner = _unwrap(item, cursor.raw) if item else ("", Data())
            role = _role(kind, inner)
            if kind == "remove":  # removes a message from a graph's state; has no content
                continue
            if not role:
                yield Unknown(kind)
                continue
            for record in reader.message(_message(role, inner), cursor):
                yield (
                    _with_recorded_facts(record, inner)
                    if isinstance(record, Message)
                    else record
                )


def _message_list(data: bytes) -> Raw:
    if data.lstrip()[:1] == b"[":
        return Raw(data)
    fields = fields_of(data)
    if "messages" not in fields and "kwargs" in fields:
        fields = fields_of(fields["kwargs"])
    return fields.get("messages", Raw(b"[]"))


def _unwrap(item: Item, raw: bytes) -> tuple[str, Data]:
    """The kind of a message ("human", "ai" ...) and its fields, of any of the three shapes."""
    fields = fields_of(raw)
    if item.lc is not None and isinstance(item.kwargs, dict):
        names = item.id if isinstance(item.id, list) else []
        kind = text_of(item.kwargs.get("type")) or (text_of(names[-1]) if names else "")
        inner = fields.get("kwargs", Raw(b"{}"))
    else:
        kind = text_of(item.type)
        inner = fields["data"] if isinstance(item.data, dict) else Raw(raw)
    kind = kind.casefold()
    for suffix in _SUFFIXES:
        kind = kind.removesuffix(suffix)
    return kind, next(iter(_DATA.decode(bytes(inner))[0]), Data())


def _role(kind: str, data: Data) -> str:
    if kind == "chat":  # a role that the application chose
        named = text_of(data.role).casefold()
        named = ROLES.get(named, named)
        return named if named in ROLES.values() else "assistant"
    return ROLES.get(kind, "")


def _message(role: str, data: Data) -> ChatMessage:
    extra, metadata = dict_of(data.additional_kwargs), dict_of(data.response_metadata)
    calls = [
        {"id": c.get("id"), "function": {"name": c.get("name"), "arguments": c.get("args")}}
        for c in (*dicts_of(data.tool_calls), *dicts_of(data.invalid_tool_calls))
    ]
    # Older versions have no `tool_calls` and store the provider's calls here.
    given: Any = calls or extra.get("tool_calls")
    content = data.content
    if given and isinstance(content, list):
        content = [
            b
            for b in content
            if not (isinstance(b, dict) and text_of(b.get("type")) in _CALL_BLOCKS)
        ]
    if isinstance(content, list):
        content = [_block(b) for b in content]
    return ChatMessage(
        role=role,
        content=content,
        tool_calls=given,
        function_call=None if given else extra.get("function_call"),
        tool_call_id=data.tool_call_id,
        reasoning_content=extra.get("reasoning_content"),
        id=data.id,
        model=text_of(metadata.get("model_name")) or text_of(metadata.get("model")),
    )


def _block(block: object) -> Any:
    """A block of content; LangChain's own reasoning blocks hold it under another name."""
    if isinstance(block, dict) and block.get("type") == "reasoning":
        return {"type": "reasoning", "text": text_of(block.get("reasoning"))}
    return block


def _with_recorded_facts(m: Message, data: Data) -> Message:
    """The message with the token usage or tool status from LangChain's own fields."""
    if m.role == "assistant":
        return replace(m, usage=_usage(data))
    if m.role == "tool" and data.status in ("success", "error"):
        status = "error" if data.status == "error" else "ok"
        return replace(m, parts=tuple(_with_status(part, status) for part in m.parts))
    return m


def _with_status(part: Part, status: str) -> Part:
    if type(part) is ToolResult and part.status == "unknown":
        return replace(part, status=status)
    return part


def _usage(data: Data) -> Usage | None:
    """`input_tokens` there includes what was read from and written to the cache."""
    given = dict_of(data.usage_metadata)
    if not given:
        return usage_of(dict_of(data.response_metadata).get("token_usage"))
    into, out = (dict_of(given.get(f"{k}_token_details")) for k in ("input", "output"))
    read, written = count_of(into.get("cache_read")), count_of(into.get("cache_creation"))
    return Usage(
        max(0, count_of(given.get("input_tokens")) - read - written),
        count_of(given.get("output_tokens")),
        read,
        written,
        count_of(out.get("reasoning")),
    )


def _is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    kind = text_of(value.get("type"))
    if kind == "constructor":
        names = value.get("id")
        return "lc" in value and isinstance(names, list) and "messages" in names
    if isinstance(value.get("data"), dict):
        return kind in ROLES | {"chat": ""} and "content" in value["data"]
    return "role" not in value and "content" in value and kind in ROLES


def _is_unambiguous(value: Any) -> bool:
    """Whether the value is a message that no other format writes like this."""
    if not _is_message(value):
        return False
    return "content" not in value or value["type"] in ("human", "ai")


def _detect(sample: Sample) -> bool:
    document = sample.document
    listed = sample.listed("messages")
    if isinstance(document, dict) and "messages" not in document:
        listed = dicts_of(dict_of(document.get("kwargs")).get("messages"))[: Sample.LINES]
    return mostly(_is_message, listed) and any(map(_is_unambiguous, listed))


FORMAT = Format("langchain", "document", LangChainReader, _detect)
