"""Plain message lists, OpenAI's and Anthropic's: docs/formats/chat.md.

One JSON list of messages, an object with the list under "messages", or one message on each
line. A message is {"role", "content"} with OpenAI's `tool_calls` and `tool` messages or
Anthropic's `tool_use` and `tool_result` blocks; both may stand in one list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff import model as rec
from leftoff.formats import text_calls
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import count_of, dict_of, text_of, usage_by
from leftoff.formats.openai_parts import decode_arguments
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.formats.vocabulary import tool_call

ROLES = frozenset(
    {"system", "developer", "user", "assistant", "tool", "function", "model", "ai", "human"}
)


class ChatMessage(Struct, gc=False):
    role: str = ""
    content: object = None
    tool_calls: object = None
    function_call: object = None
    tool_call_id: object = None
    reasoning_content: object = None
    id: object = None
    model: object = None
    usage: object = None
    timestamp: object = None
    created_at: object = None


class ChatDocument(Struct, gc=False):
    messages: msgspec.Raw = msgspec.Raw(b"")
    id: object = None
    session_id: object = None
    cwd: object = None
    model: object = None


MESSAGE = codec.LineDecoder(ChatMessage)


class ChatReader(Struct):
    """Reads messages, one at a time. Fields are its state between lines."""

    record: ClassVar[Any] = ChatMessage

    model: str = ""
    turn: int = 0
    calls: list[str] = msgspec.field(default_factory=list)
    """Ids of calls without a result, for results that name none."""
    text_call_ids: list[str] = msgspec.field(default_factory=list, name="told")
    """Ids of the calls in the text of the last reply that have no result yet."""

    def read(self, record: ChatMessage, cursor: Cursor) -> Iterable[rec.Record]:
        return self.message(record, cursor)

    def message(self, m: ChatMessage, cursor: Cursor) -> tuple[rec.Record, ...]:
        """One message, on a line or of a document."""
        role = m.role.casefold()
        if role not in ROLES:
            return (rec.Unknown(m.role),)
        if role in {"tool", "function"}:
            result = text_calls.result_of(self._match_call(m.tool_call_id), _text(m.content))
            return (self._build(m, "tool", (result,), cursor),)
        if role in {"assistant", "model", "ai"}:
            return (self._build(m, "assistant", self._assistant_parts(m), cursor),)
        parts, typed, results = self._user_parts(m)
        if role in {"system", "developer"}:
            return (self._build(m, "system", parts, cursor),)
        only = results and all(type(p) is rec.ToolResult for p in parts)
        sender: rec.Role = "tool" if only and text_of(m.content) else "user"
        return (self._build(m, sender, parts, cursor, "tool" if results else "", typed),)

    def _build(
        self,
        m: ChatMessage,
        role: rec.Role,
        parts: tuple[rec.Part, ...],
        cursor: Cursor,
        origin: str = "",
        typed: tuple[rec.Typed, ...] = (),
    ) -> rec.Message:
        self.turn += role == "assistant"
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            key="" if role == "assistant" else text_of(m.id),
            response=text_of(m.id) or f"r{self.turn}",
            time=text_of(m.timestamp or m.created_at),
            model=text_of(m.model) or self.model,
            usage=_usage(m.usage),
        )

    def _assistant_parts(self, m: ChatMessage) -> tuple[rec.Part, ...]:
        parts: list[rec.Part] = []
        self.text_call_ids = []
        if isinstance(m.reasoning_content, str) and m.reasoning_content:
            parts.append(rec.Reasoning(m.reasoning_content))
        for block in _blocks(m.content):
            kind = text_of(block.get("type"))
            if kind in {"tool_use", "server_tool_use"}:
                parts.append(self._call(block.get("id"), block.get("name"), block.get("input")))
            elif kind in {"thinking", "reasoning"}:
                parts.append(
                    rec.Reasoning(text_of(block.get("thinking")) or text_of(block.get("text")))
                )
            elif isinstance(block.get("text"), str):
                text = block["text"]
                if not m.tool_calls and text_calls.has_calls(text):
                    found, self.text_call_ids = text_calls.calls_in(text, self.turn)
                    parts += found
                else:
                    parts.append(rec.Text(text))
            else:
                parts.append(rec.Media(kind))
        calls = m.tool_calls if isinstance(m.tool_calls, list) else []
        if isinstance(m.function_call, dict):
            calls = [*calls, {"function": m.function_call}]
        for call in calls:
            if not isinstance(call, dict):
                continue
            function = call.get("function")
            if isinstance(function, dict):
                given = function.get("arguments")
                parts.append(self._call(call.get("id"), function.get("name"), given))
            elif isinstance(function, str):
                parts.append(self._call(call.get("id"), function, call.get("arguments")))
        return tuple(parts)

    def _user_parts(
        self, m: ChatMessage
    ) -> tuple[tuple[rec.Part, ...], tuple[rec.Typed, ...], bool]:
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        results = False
        for block in _blocks(m.content):
            if block.get("type") == "tool_result":
                results = True
                status = "error" if block.get("is_error") is True else "ok"
                call = self._match_call(block.get("tool_use_id"))
                parts.append(rec.ToolResult(call, _text(block.get("content")), status))
            elif isinstance(block.get("text"), str):
                text = block["text"]
                if self.text_call_ids and text_calls.is_result(text):
                    results = True
                    parts.append(text_calls.result_of(self.text_call_ids.pop(0), text))
                    continue
                text = text_calls.without_example(text)
                if not text_calls.is_reminder(text):
                    typed += typed_spans(len(parts), text)
                parts.append(rec.Text(text))
            else:
                parts.append(rec.Media(text_of(block.get("type"))))
        return tuple(parts), typed, results

    def _call(self, identity: object, name: object, given: object) -> rec.ToolCall:
        if not isinstance(identity, str) or not identity:
            identity = f"call-{self.turn}-{len(self.calls)}"
        self.calls = [*self.calls[-31:], identity]
        return tool_call(identity, text_of(name), decode_arguments(given))

    def _match_call(self, identity: object) -> str:
        """The id of the call that a result answers; the oldest open one if it names none."""
        if isinstance(identity, str) and identity:
            if identity in self.calls:
                self.calls.remove(identity)
            return identity
        return self.calls.pop(0) if self.calls else ""


class ChatDocumentReader(ChatReader):
    """Reads a document: a list of messages, or an object that holds one."""

    record: ClassVar[Any] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:  # type: ignore[override]
        document = ChatDocument()
        if data.lstrip()[:1] == b"[":
            document.messages = msgspec.Raw(data)
        else:
            for found in codec.LineDecoder(ChatDocument).decode(data)[0]:
                document = found
        self.model = text_of(document.model)
        yield rec.SessionFacts(
            id=text_of(document.session_id) or text_of(document.id), cwd=text_of(document.cwd)
        )
        for message in cursor.each(document.messages, MESSAGE):
            yield from self.message(message, cursor) if message else (rec.Unknown(""),)


def _blocks(content: object) -> list[dict[str, Any]]:
    """Content as blocks: a string is one block of text; null is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if isinstance(content, dict):
        return [content]
    if not isinstance(content, list):
        return []
    return [
        {"type": "text", "text": b} if isinstance(b, str) else b
        for b in content
        if isinstance(b, (str, dict))
    ]


def _text(content: object) -> str:
    return "\n".join(b["text"] for b in _blocks(content) if isinstance(b.get("text"), str))


_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


def _usage(value: object) -> rec.Usage | None:
    """Usage with OpenAI's or Anthropic's field names."""
    if not isinstance(value, dict) or "prompt_tokens" not in value:
        return usage_by(value, _TOKENS)
    cached = count_of(dict_of(value.get("prompt_tokens_details")).get("cached_tokens"))
    given, output = count_of(value["prompt_tokens"]), count_of(value.get("completion_tokens"))
    return rec.Usage(max(0, given - cached), output, cached)


def is_message(value: object) -> bool:
    """Whether a JSON value looks like a message of this format."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and value["role"].casefold() in ROLES
        and ("content" in value or "tool_calls" in value or "function_call" in value)
    )


def _detect(sample: Sample) -> bool:
    return mostly(is_message, sample.listed("messages"))


def _detect_lines(sample: Sample) -> bool:
    return mostly(is_message, sample.lines)


FORMAT = Format("chat", "document", ChatDocumentReader, _detect)
LINES = Format("chat_lines", "lines", ChatReader, _detect_lines)
