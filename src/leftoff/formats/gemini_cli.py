"""Gemini CLI session documents, `chats/session-*.json`: docs/formats/gemini_cli.md.

One pretty-printed JSON document; `Message.item` counts its list `messages`. A call and its
result stand in one item and so in one message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.codec import LineDecoder
from leftoff.formats.gemini_parts import GeminiParts, response_texts, result_of
from leftoff.formats.lenient_json import (
    count_of,
    dict_of,
    dicts_of,
    fields_of,
    items_of,
    known_id,
    text_of,
    value_of,
)
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
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


class Call(Struct, gc=False):
    id: Any = None
    name: Any = None
    args: Any = None
    result: Any = None
    status: Any = None
    resultDisplay: Any = None


class Item(Struct, gc=False):
    id: Any = None
    timestamp: Any = None
    type: Any = None
    content: Any = None
    displayContent: Any = None
    model: Any = None
    tokens: Any = None
    thoughts: Any = None
    toolCalls: list[Call] | None = None


_ITEM = LineDecoder(Item)
_NOTICES = frozenset({"info", "error", "warning"})
_STATUS = {"success": "ok", "error": "error", "cancelled": "cancelled"}


class GeminiReader(Struct):
    """Reads one document, or its items one at a time (`read_item`)."""

    record: ClassVar[Any] = bytes

    parts: GeminiParts = field(default_factory=GeminiParts)
    subagent: bool = False
    """Another agent started the session, so its prompts were not typed."""

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        fields = fields_of(data)
        facts = {k: value_of(v) for k, v in fields.items() if k != "messages"}
        yield self.read_facts(facts)
        for number, raw in enumerate(items_of(fields.get("messages"))):
            for item in _ITEM.decode(bytes(raw))[0]:
                yield self.read_item(item, cursor, bytes(raw), item_number=number)
                break
            else:
                yield Unknown("message/no object")

    def read_facts(self, facts: dict[str, Any]) -> SessionFacts:
        """The facts of the session, from the top-level fields."""
        if facts.get("kind") == "subagent":
            self.subagent = True
        return SessionFacts(
            id=text_of(facts.get("sessionId")),
            title=text_of(facts.get("summary")),
            started=text_of(facts.get("startTime")),
        )

    def read_item(
        self, item: Item, cursor: Cursor, raw: bytes, *, item_number: int | None = None
    ) -> Message | Unknown:
        """One item of `messages`."""
        kind = text_of(item.type)
        parts: tuple[Part, ...]
        typed: tuple[Typed, ...] = ()
        usage: Usage | None = None
        model = ""
        if kind == "user":
            parts, typed = self._user_parts(item)
            role, origin = "user", "prompt" if typed else "injected"
            if any(type(p) is ToolResult for p in parts):
                origin = "tool"
        elif kind == "gemini":
            parts, typed = self._assistant_parts(item)
            role, origin = "assistant", "agent"
            usage, model = usage_of(item.tokens), text_of(item.model)
        elif kind in _NOTICES:
            parts = self.parts.content(item.content, False).parts
            role, origin = "system", "meta"
            if len(parts) == 1 and parts[0] == Text("Request cancelled."):
                origin = "interruption"
        else:
            return Unknown(f"message/{kind}")
        index = cursor.take()
        return Message(
            index=index,
            role=role,  # type: ignore[arg-type]
            parts=parts,
            line=cursor.line if item_number is None else None,
            item=item_number,
            origin=origin,
            typed=typed,
            key=text_of(item.id),
            response=f"r{index}" if role == "assistant" else "",
            time=text_of(item.timestamp),
            model=model,
            usage=usage,
            raw=raw,
        )

    def _user_parts(self, item: Item) -> tuple[tuple[Part, ...], tuple[Typed, ...]]:
        open_calls = {identity for _, identity in self.parts.open}
        content = self.parts.content(item.content, not self.subagent)
        if content.results:
            # Synchronised history repeats results that are already recorded with their calls.
            new = [
                p for p in content.parts if type(p) is not ToolResult or p.call_id in open_calls
            ]
            return tuple(new), ()
        shown = self.parts.content(item.displayContent, False).parts
        if not self.subagent and len(shown) == 1 and type(shown[0]) is Text and shown[0].text:
            # The displayed part of the prompt was typed; the recorder inserted the rest.
            for number, part in enumerate(content.parts):
                at = part.text.find(shown[0].text) if type(part) is Text else -1
                if at >= 0:
                    return content.parts, (Typed(number, at, at + len(shown[0].text)),)
        return content.parts, content.typed

    def _assistant_parts(self, item: Item) -> tuple[tuple[Part, ...], tuple[Typed, ...]]:
        parts: list[Part] = []
        for thought in dicts_of(item.thoughts):
            words = [text_of(thought.get(k)) for k in ("subject", "description")]
            parts.append(Reasoning("\n".join(w for w in words if w)))
        call_ids = {known_id(c.id) for c in item.toolCalls or ()}
        for part in self.parts.content(item.content, False).parts:
            # These calls follow, with their results.
            repeated = type(part) is ToolCall and part.id in call_ids
            if not repeated and part != Text(""):
                parts.append(part)
        typed: tuple[Typed, ...] = ()
        for call in item.toolCalls or ():
            tool_call, result = self._call(call)
            parts.append(tool_call)
            if result is not None:
                if tool_call.kind == "ask" and result.status == "ok":
                    typed += _answer_spans(result.text, len(parts))
                parts.append(result)
        return tuple(parts), typed

    def _call(self, call: Call) -> tuple[ToolCall, ToolResult | None]:
        name = text_of(call.name)
        tool_call = self.parts.tool_call({"id": call.id, "name": name, "args": call.args})
        self.parts.forget_call(tool_call.id)  # its result, if any, is in this record
        text, failed = response_texts(call.result)
        text = text or text_of(call.resultDisplay)
        status = _STATUS.get(text_of(call.status), "running")
        if status == "running" and not text:
            return tool_call, None
        if status == "ok" and failed:
            status = "error"
        shown = dict_of(call.resultDisplay)
        detail = None
        if isinstance(shown.get("isNewFile"), bool) and status == "ok":
            detail = {"created": shown["isNewFile"]}
        return tool_call, result_of(tool_call.id, name, text, status, detail)


def usage_of(tokens: Any) -> Usage | None:
    """A message's tokens; `input` there includes what came from the cache."""
    if not isinstance(tokens, dict):
        return None
    cached = count_of(tokens.get("cached"))
    thoughts = count_of(tokens.get("thoughts"))
    return Usage(
        input=max(0, count_of(tokens.get("input")) - cached) + count_of(tokens.get("tool")),
        output=count_of(tokens.get("output")) + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )


def _answer_spans(text: str, part: int) -> tuple[Typed, ...]:
    """The spans of the person's answers in the JSON text of an `ask_user` result."""
    try:
        answers = dict_of(dict_of(msgspec.json.decode(text)).get("answers"))
    except (ValueError, RecursionError):
        return ()
    spans: list[Typed] = []
    position = 0
    for answer in answers.values():
        words = text_of(answer)
        at = text.find(f'"{words}"', position) if words else -1
        if at >= 0:
            spans.append(Typed(part, at + 1, at + 1 + len(words), "answer"))
            position = at + len(words)
    return tuple(spans)


class GeminiCli(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "gemini_cli"
    shape: str = "document"
    reader: type[GeminiReader] = GeminiReader

    def detect(self, sample: Sample) -> bool:
        return {"sessionId", "projectHash", "messages"} <= sample.keys


FORMAT = GeminiCli()
