"""Plain message lists, OpenAI's and Anthropic's: docs/formats/chat.md.

One JSON list of messages, an object with the list under "messages", or one message on each
line. A message is {"role", "content"} with OpenAI's `tool_calls` and `tool` messages or
Anthropic's `tool_use` and `tool_result` blocks; both may stand in one list.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.formats import text_calls
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import items_of
from leftoff.formats.reader import Cursor, Sample
from leftoff.formats.vocabulary import kind_of
from leftoff.model import (
    Media,
    Message,
    Part,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Typed,
    Unknown,
    Usage,
)

ROLES = frozenset(
    {"system", "developer", "user", "assistant", "tool", "function", "model", "ai", "human"}
)


class ChatMessage(Struct, gc=False):
    role: str = ""
    content: Any = None
    tool_calls: Any = None
    function_call: Any = None
    tool_call_id: Any = None
    name: Any = None
    reasoning_content: Any = None
    id: Any = None
    model: Any = None
    usage: Any = None
    timestamp: Any = None
    created_at: Any = None


class ChatDocument(Struct, gc=False):
    messages: list[msgspec.Raw] = []
    id: Any = None
    session_id: Any = None
    cwd: Any = None
    model: Any = None


class ChatReader(Struct):
    """Reads messages, one at a time. Fields are its state between lines."""

    record: ClassVar[Any] = ChatMessage

    model: str = ""
    turn: int = 0
    calls: list[str] = msgspec.field(default_factory=list)
    """Ids of calls without a result, for results that name none."""
    text_call_ids: list[str] = msgspec.field(default_factory=list, name="told")
    """Ids of the calls in the text of the last reply that have no result yet."""

    def read(self, record: ChatMessage, cursor: Cursor) -> Iterable[Record]:
        return self.message(record, cursor, None)

    def message(self, m: ChatMessage, cursor: Cursor, item: int | None) -> tuple[Record, ...]:
        """One message, on a line or at place `item` of a document."""
        role = m.role.casefold()
        if role not in ROLES:
            return (Unknown(m.role),)
        if role in {"tool", "function"}:
            result = text_calls.result_of(self._match_call(m.tool_call_id), _text(m.content))
            return (self._build(m, "tool", (result,), "tool", (), cursor, item),)
        if role in {"assistant", "model", "ai"}:
            parts = self._assistant_parts(m)
            return (self._build(m, "assistant", parts, "agent", (), cursor, item),)
        parts, typed, results = self._user_parts(m)
        if role in {"system", "developer"}:
            return (self._build(m, "system", parts, "injected", (), cursor, item),)
        origin = "tool" if results else "prompt" if typed else "injected"
        only = results and all(type(p) is ToolResult for p in parts)
        sender = "tool" if only and _str(m.content) else "user"
        return (self._build(m, sender, parts, origin, typed, cursor, item),)

    def _build(
        self,
        m: ChatMessage,
        role: Any,
        parts: tuple[Part, ...],
        origin: str,
        typed: tuple[Typed, ...],
        cursor: Cursor,
        item: int | None,
    ) -> Message:
        is_assistant = role == "assistant"
        self.turn += is_assistant
        time = m.timestamp or m.created_at
        return Message(
            index=cursor.take(),
            role=role,
            parts=parts,
            line=None if item is not None else cursor.line,
            item=item,
            origin=origin,
            typed=typed,
            key=m.id if isinstance(m.id, str) and not is_assistant else "",
            response=(_str(m.id) or f"r{self.turn}") if is_assistant else "",
            time=_str(time),
            model=_str(m.model) or self.model if is_assistant else "",
            usage=_usage(m.usage) if is_assistant else None,
            raw=cursor.raw,
        )

    def _assistant_parts(self, m: ChatMessage) -> tuple[Part, ...]:
        parts: list[Part] = []
        self.text_call_ids = []
        if isinstance(m.reasoning_content, str) and m.reasoning_content:
            parts.append(Reasoning(m.reasoning_content))
        for block in _blocks(m.content):
            kind = _str(block.get("type"))
            if kind in {"tool_use", "server_tool_use"}:
                parts.append(self._call(block.get("id"), block.get("name"), block.get("input")))
            elif kind in {"thinking", "reasoning"}:
                parts.append(Reasoning(_str(block.get("thinking")) or _str(block.get("text"))))
            elif isinstance(block.get("text"), str):
                text = block["text"]
                if not m.tool_calls and text_calls.has_calls(text):
                    found, self.text_call_ids = text_calls.calls_in(text, self.turn)
                    parts += found
                else:
                    parts.append(Text(text))
            else:
                parts.append(Media(kind))
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

    def _user_parts(self, m: ChatMessage) -> tuple[tuple[Part, ...], tuple[Typed, ...], bool]:
        parts: list[Part] = []
        typed: tuple[Typed, ...] = ()
        results = False
        for block in _blocks(m.content):
            if block.get("type") == "tool_result":
                results = True
                failed = block.get("is_error") is True
                parts.append(
                    ToolResult(
                        self._match_call(block.get("tool_use_id")),
                        _text(block.get("content")),
                        "error" if failed else "ok",
                    )
                )
            elif isinstance(block.get("text"), str):
                text = block["text"]
                if self.text_call_ids and text_calls.is_result(text):
                    results = True
                    parts.append(text_calls.result_of(self.text_call_ids.pop(0), text))
                    continue
                text = text_calls.without_example(text)
                if not text_calls.is_reminder(text):
                    typed += typed_spans(len(parts), text)
                parts.append(Text(text))
            else:
                parts.append(Media(_str(block.get("type"))))
        return tuple(parts), typed, results

    def _call(self, identity: Any, name: Any, given: Any) -> ToolCall:
        if not isinstance(identity, str) or not identity:
            identity = f"call-{self.turn}-{len(self.calls)}"
        self.calls = [*self.calls[-31:], identity]
        if isinstance(given, str):
            # Arguments that are no JSON stay as they are.
            with suppress(ValueError, RecursionError):
                given = msgspec.json.decode(given)
        return ToolCall(identity, _str(name), kind_of(_str(name)), given)

    def _match_call(self, identity: Any) -> str:
        """The id of the call that a result answers; the oldest open one if it names none."""
        if isinstance(identity, str) and identity:
            if identity in self.calls:
                self.calls.remove(identity)
            return identity
        return self.calls.pop(0) if self.calls else ""


class ChatDocumentReader(ChatReader):
    """Reads a document: a list of messages, or an object that holds one."""

    record: ClassVar[Any] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:  # type: ignore[override]
        document = ChatDocument()
        if data.lstrip()[:1] == b"[":
            document.messages = items_of(data)
        else:
            for found in codec.LineDecoder(ChatDocument).decode(data)[0]:
                document = found
        self.model = _str(document.model)
        yield SessionFacts(
            id=_str(document.session_id) or _str(document.id), cwd=_str(document.cwd)
        )
        decoder = codec.LineDecoder(ChatMessage)
        for number, raw in enumerate(document.messages):
            cursor.raw = bytes(raw)
            records, _ = decoder.decode(cursor.raw)
            if not records:
                yield Unknown("")
            for record in records:
                yield from self.message(record, cursor, number)


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _blocks(content: Any) -> list[dict[str, Any]]:
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


def _text(content: Any) -> str:
    return "\n".join(b["text"] for b in _blocks(content) if isinstance(b.get("text"), str))


def _usage(value: Any) -> Usage | None:
    """Usage with OpenAI's or Anthropic's field names."""
    if not isinstance(value, dict):
        return None
    n = {k: v for k, v in value.items() if isinstance(v, int) and not isinstance(v, bool)}
    if "prompt_tokens" in n:
        details = value.get("prompt_tokens_details")
        cached = details.get("cached_tokens", 0) if isinstance(details, dict) else 0
        cached = cached if isinstance(cached, int) else 0
        return Usage(max(0, n["prompt_tokens"] - cached), n.get("completion_tokens", 0), cached)
    return Usage(
        n.get("input_tokens", 0),
        n.get("output_tokens", 0),
        n.get("cache_read_input_tokens", 0),
        n.get("cache_creation_input_tokens", 0),
    )


def is_message(value: Any) -> bool:
    """Whether a JSON value looks like a message of this format."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and value["role"].casefold() in ROLES
        and ("content" in value or "tool_calls" in value or "function_call" in value)
    )


class Chat(Struct, frozen=True):
    """A document that is, or holds, a list of messages."""

    name: str = "chat"
    shape: str = "document"
    reader: type[ChatDocumentReader] = ChatDocumentReader

    def detect(self, sample: Sample) -> bool:
        listed = sample.items
        if isinstance(sample.document, dict) and isinstance(
            sample.document.get("messages"), list
        ):
            listed = [m for m in sample.document["messages"][:20] if isinstance(m, dict)]
        return bool(listed) and sum(map(is_message, listed)) * 2 > len(listed)


class ChatLines(Struct, frozen=True):
    """One message on each line."""

    name: str = "chat_lines"
    shape: str = "lines"
    reader: type[ChatReader] = ChatReader

    def detect(self, sample: Sample) -> bool:
        return bool(sample.lines) and sum(map(is_message, sample.lines)) * 2 > len(sample.lines)


FORMAT = Chat()
LINES = ChatLines()
