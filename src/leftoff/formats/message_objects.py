"""Messages of other libraries as plain values: pydantic models (OpenAI, Anthropic, LangChain,
Semantic Kernel), and the data classes of the Claude Agent SDK, which hold neither role nor
type: their class says it."""

from dataclasses import fields, is_dataclass

from leftoff.formats.lenient_json import dict_of

_BLOCKS = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
    "ServerToolUseBlock": "server_tool_use",
    "ServerToolResultBlock": "tool_result",
}
_MESSAGES = {
    "UserMessage": "user",
    "AssistantMessage": "assistant",
    "SystemMessage": "system",
    "ResultMessage": "result",
}
# Fields of a data class that a recorded line has inside `message`.
_IN_MESSAGE = {"content": "content", "model": "model", "message_id": "id", "usage": "usage"}

# Levels of values inside each other; what is deeper is left out. Chosen by hand.
MAX_DEPTH = 100


def plain_message(value: object, room: int = MAX_DEPTH) -> object:
    """A message as plain values; any other value as it is."""
    if not room:
        return None
    if isinstance(value, dict):
        return {key: plain_message(item, room - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_message(item, room - 1) for item in value]
    # A class has `model_dump`, too, but no values.
    if isinstance(value, type):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain_message(dump(), room - 1)
    if not is_dataclass(value):
        return value
    held = {f.name: plain_message(getattr(value, f.name), room - 1) for f in fields(value)}
    name = type(value).__name__
    if name in _BLOCKS:
        return {"type": _BLOCKS[name], **held}
    kind = _MESSAGES.get(name)
    if kind is None:
        return held
    if kind == "system":
        return {**dict_of(held.get("data")), "type": kind, "subtype": held.get("subtype")}
    if kind == "result":
        return {"type": kind, **held}
    inside = {_IN_MESSAGE[key]: held.pop(key) for key in _IN_MESSAGE if key in held}
    return {"type": kind, **held, "message": {"role": kind, **inside}}


def described(value: object) -> str:
    """A value for an error message: its type, and the names of the keys of a dict."""
    if not isinstance(value, dict):
        return f"of the type {type(value).__name__}"
    keys = ", ".join([repr(str(key)[:40]) for key in list(value)[:5]])
    return f"a dict with the keys {keys}" if keys else "an empty dict"
