"""LangChain's dumps of messages, one JSON document each: docs/formats/langchain.md.

Three shapes of one message: `messages_to_dict` ({"type", "data"}), `dumps` ({"lc", "type":
"constructor", "id", "kwargs"}) and a model's own dump ({"type", "content", ...}). They stand in
a list, or in an object's `messages`."""

from collections.abc import Iterable

from msgspec import field
from msgspec.structs import replace

from leftoff.formats.chat import ChatReader
from leftoff.formats.lenient_json import Fields, dict_of, dicts_of, fields_of, text_of, usage_by
from leftoff.formats.openai_parts import usage_of
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample, mostly
from leftoff.model import Message, Record, ToolResult, Unknown

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
ROLES |= {"function": "function", "developer": "developer"}
_SUFFIXES = ("messagechunk", "message")
# Content blocks that repeat `tool_calls`, which has one form for all providers.
_CALL_BLOCKS = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "input_json_delta", "function_call"}
)


class LangChainReader(ItemReader):
    """Reads one dump. Its state is the chat reader's."""

    chat: ChatReader = field(default_factory=ChatReader)

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:  # type: ignore[override]
        fields = fields_of(data)
        # A prompt that was dumped by `dumps` has its messages in `kwargs`.
        inside = "messages" not in fields and "kwargs" in fields
        return ItemReader.read(self, bytes(fields["kwargs"]) if inside else data, cursor)

    def item(self, item: Fields, cursor: Cursor) -> Iterable[Record]:
        kind, inner = _unwrap(item)
        role = _role(kind, inner)
        if kind == "remove":  # removes a message from a graph's state; has no content
            return
        if not role:
            yield Unknown(kind)
            return
        for record in self.chat.item(_message(role, inner), cursor):
            if isinstance(record, Message):
                record = _with_recorded_facts(record, inner)
            yield record


def _unwrap(item: Fields) -> tuple[str, Fields]:
    """The kind of a message ("human", "ai" ...) and its fields, of any of the three shapes."""
    if item.get("lc") is not None and isinstance(item.get("kwargs"), dict):
        names = item.get("id")
        named = text_of(names[-1]) if isinstance(names, list) and names else ""
        kind, inner = item.text("kwargs.type") or named, item.at("kwargs")
    else:
        kind = item.text("type")
        inner = item.at("data") if isinstance(item.get("data"), dict) else item
    kind = kind.casefold()
    for suffix in _SUFFIXES:
        kind = kind.removesuffix(suffix)
    return kind, inner


def _role(kind: str, data: Fields) -> str:
    if kind == "chat":  # a role that the application chose
        named = data.text("role").casefold()
        named = ROLES.get(named, named)
        return named if named in ROLES.values() else "assistant"
    return ROLES.get(kind, "")


def _message(role: str, data: Fields) -> Fields:
    extra = data.at("additional_kwargs")
    # Older versions have no `tool_calls` and store the provider's calls here.
    given: object = [
        {"id": c.get("id"), "function": {"name": c.get("name"), "arguments": c.get("args")}}
        for c in (*data.each("tool_calls"), *data.each("invalid_tool_calls"))
    ] or extra.get("tool_calls")
    content = data.get("content")
    if isinstance(content, list):
        content = [b for b in content if not (given and dict_of(b).get("type") in _CALL_BLOCKS)]
    return Fields(
        {
            "role": role,
            "content": content,
            "tool_calls": given,
            "function_call": None if given else extra.get("function_call"),
            "tool_call_id": data.get("tool_call_id"),
            "reasoning_content": extra.get("reasoning_content"),
            "id": data.get("id"),
            "model": data.text("response_metadata.model_name", "response_metadata.model"),
        }
    )


def _with_recorded_facts(m: Message, data: Fields) -> Message:
    """The message with the token usage or tool status from LangChain's own fields."""
    if m.role == "assistant":
        used = data.at("usage_metadata").value
        total = data.get("response_metadata.token_usage")
        usage = usage_by(used, _TOKENS, inclusive=True) if used else usage_of(total)
        return replace(m, usage=usage)
    status = {"success": "ok", "error": "error"}.get(data.text("status"))
    (*_, last) = m.parts or (None,)
    if status and type(last) is ToolResult and last.status == "unknown":
        return replace(m, parts=(*m.parts[:-1], replace(last, status=status)))
    return m


# What was read from and written to the cache is a part of `input_tokens` there.
_TOKENS = (
    "input_tokens output_tokens input_token_details.cache_read "
    "input_token_details.cache_creation output_token_details.reasoning"
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


def _detect(sample: Sample) -> bool:
    document = sample.document
    listed = sample.listed("messages")
    if isinstance(document, dict) and "messages" not in document:
        listed = dicts_of(dict_of(document.get("kwargs")).get("messages"))[: Sample.LINES]
    # `human` and `ai` are LangChain's own words, `system` and `tool` are others' as well.
    return mostly(_is_message, listed) and any(
        _is_message(m) and ("content" not in m or m["type"] in ("human", "ai")) for m in listed
    )


FORMAT = Format("langchain", "document", LangChainReader, _detect)
