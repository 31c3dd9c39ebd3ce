"""Plain message lists, OpenAI's and Anthropic's: docs/formats/chat.md.

One JSON list of messages, an object with the list under "messages", or one message on each
line. A message is {"role", "content"} with OpenAI's `tool_calls` and `tool` messages or
Anthropic's `tool_use` and `tool_result` blocks; both may stand in one list."""

from collections.abc import Iterable

from msgspec import field

from leftoff import model as rec
from leftoff.formats import text_calls
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields, dicts_of, text_of, usage_by
from leftoff.formats.openai_parts import (
    blocks_of,
    content_text,
    decode_arguments,
    output_of,
    part_of,
)
from leftoff.formats.reader import Cursor, Format, ItemReader, items_under, lines_of
from leftoff.formats.vocabulary import tool_call, with_closing_words

# The roles of messages, by those that are recorded.
ROLES: dict[str, rec.Role] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "model", "ai"), "assistant"),
    **dict.fromkeys(("tool", "function"), "tool"),
}


class ChatReader(ItemReader):
    text_call_ids: list[str] = field(default_factory=list, name="told")
    """Ids of the calls in the text of the last reply that have no result yet."""

    def head(self, document: Fields) -> Iterable[rec.Record]:
        self.model = document.text("model")
        return (document.facts(id="session_id|id", cwd="cwd"),)

    def item(self, m: Fields, cursor: Cursor) -> tuple[rec.Record, ...]:
        role = ROLES.get(m.text("role").casefold())
        if role is None:
            return (rec.Unknown(m.text("role")),)
        typed: tuple[rec.Typed, ...] = ()
        # Old messages of functions name no call: the oldest one that waits is answered.
        if role == "tool":
            text, call = content_text(m.get("content")), self.answered(m.text("tool_call_id"))
            parts: tuple[rec.Part, ...] = (text_calls.result_of(call, text),)
        elif role == "assistant":
            parts = self._assistant_parts(m)
            self.turns += 1
        else:
            parts = self._user_parts(m)
            typed = typed_parts(parts) if role == "user" else ()
            # Anthropic's API has no role for tools: what they return stands in the person's
            # place, as models without calls get them in the prompt.
            only = all(type(p) is rec.ToolResult for p in parts)
            if role == "user" and only and text_of(m.get("content")):
                role = "tool"
        message = cursor.message(
            role,
            parts,
            "injected" if role == "system" else "",
            typed,
            key="" if role == "assistant" else m.text("id"),
            response=m.text("id") or f"r{self.turns}",
            time=m.text("timestamp", "created_at"),
            model=m.text("model") or self.model,
            usage=_usage(m.at("usage").value),
        )
        return (message,)

    def _assistant_parts(self, m: Fields) -> tuple[rec.Part, ...]:
        parts: list[rec.Part] = []
        self.text_call_ids = []
        if thought := m.text("reasoning_content"):
            parts.append(rec.Reasoning(thought))
        for block in blocks_of(m.get("content")):
            kind, part = block.text("type"), part_of(block)
            text = part.text if type(part) is rec.Text else ""  # not that of a thought
            if kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
                call, name = block.text("id"), block.text("name")
                parts.append(self._call(call, name, block.get("input")))
            elif kind.endswith("tool_result"):  # of a tool that the API itself has run
                parts.append(self._result(block))
            elif not m.get("tool_calls") and text_calls.has_calls(text):
                parts += text_calls.calls_in(text, self._text_call)
            else:
                parts.append(part)
        if refused := m.text("refusal"):
            parts.append(rec.Text(refused))
        calls = dicts_of(m.get("tool_calls"))
        if function := m.at("function_call").value:
            calls.append({"function": function})
        for known in map(Fields, calls):
            named, given = known.text("function"), known.get("arguments")
            if not named and isinstance(known.get("function"), dict):
                named, given = known.text("function.name"), known.get("function.arguments")
            elif not named:
                continue
            parts.append(self._call(known.text("id"), named, given))
        return with_closing_words(parts)

    def _user_parts(self, m: Fields) -> tuple[rec.Part, ...]:
        parts: list[rec.Part] = []
        for block in blocks_of(m.get("content")):
            part = part_of(block)
            text = part.text if type(part) is rec.Text else ""
            if block.get("type") == "tool_result":
                parts.append(self._result(block))
            elif self.text_call_ids and text_calls.is_result(text):
                parts.append(text_calls.result_of(self.text_call_ids.pop(0), text))
            else:
                parts.append(part)
        return tuple(parts)

    def _result(self, block: Fields) -> rec.ToolResult:
        """A result; without the flag it is good: the API sets it on failures only."""
        text, failed = output_of(block.get("content"))
        status = "error" if failed or block.get("is_error") is True else "ok"
        return rec.ToolResult(self.answered(block.text("tool_use_id")), text, status)

    def _text_call(self, name: str, given: object) -> rec.ToolCall:
        identity = f"text-call-{self.turns}-{len(self.text_call_ids)}"
        self.text_call_ids.append(identity)
        return tool_call(identity, name, given)

    def _call(self, identity: str, name: str, given: object) -> rec.ToolCall:
        identity = identity or f"call-{self.turns}-{len(self.waiting)}"
        return self.call(identity, name, decode_arguments(given))


_OPENAI = "prompt_tokens completion_tokens prompt_tokens_details.cached_tokens"
_ANTHROPIC = "input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens"


def _usage(given: dict[str, object]) -> rec.Usage | None:
    """Usage with OpenAI's or Anthropic's field names."""
    if "prompt_tokens" in given:
        return usage_by(given, _OPENAI, inclusive=True)
    return usage_by(given, _ANTHROPIC) if given else None


def is_message(value: object) -> bool:
    """Whether a JSON value looks like a message of this format."""
    found = Fields(value)
    known = found.text("role").casefold() in ROLES
    return known and not found.value.keys().isdisjoint(
        {"content", "tool_calls", "function_call"}
    )


FORMAT = Format("chat", "document", ChatReader, items_under(is_message, "messages"))
LINES = Format("chat_lines", "lines", ChatReader, lines_of(is_message))
