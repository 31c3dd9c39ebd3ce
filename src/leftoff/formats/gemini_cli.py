"""Gemini CLI sessions, `chats/session-*.json` and `.jsonl`: docs/formats/gemini_cli.md.

Earlier versions write one pretty-printed JSON document; `Message.item` counts its list
`messages`. A call and its result stand in one item and so in one message. Newer versions write
each item on a line, and append the whole item again when it has grown: written from the
recorder's open source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.formats.gemini_parts import (
    SNAPSHOT,
    STATUS,
    GeminiParts,
    response_texts,
    result_of,
    usage_of,
)
from leftoff.formats.lenient_json import (
    dict_of,
    dicts_of,
    fields_of,
    known_id,
    text_of,
    value_of,
)
from leftoff.formats.reader import Cursor, Format, Sample


class Call(Struct, gc=False):
    id: object = None
    name: object = None
    args: object = None
    result: object = None
    status: object = None
    resultDisplay: object = None


class Item(Struct, gc=False):
    id: object = None
    timestamp: object = None
    type: object = None
    content: object = None
    displayContent: object = None
    model: object = None
    tokens: object = None
    thoughts: object = None
    toolCalls: list[Call] | None = None


class Line(Item, gc=False):
    """An item, the header, or a change to the header or to the conversation."""

    sessionId: object = None
    startTime: object = None
    summary: object = None
    kind: object = None
    changed: Any = field(default=None, name="$set")
    rewound: Any = field(default=None, name="$rewindTo")


_ITEM = LineDecoder(Item)
_NOTICES = frozenset({"info", "error", "warning"})
_TOKENS = ("input", "output", "cached", "thoughts", "tool")
# Number of last messages that may be appended again; the recorder repeats only the very last.
_MAX_REPEATABLE = 32
# Messages that a rewind can go back. Chosen by hand; not measured.
_MAX_REWIND = 4096


class GeminiReader(Struct):
    """Reads one document, or its items one at a time (`read_item`)."""

    record: ClassVar[Any] = bytes

    parts: GeminiParts = field(default_factory=GeminiParts)
    subagent: bool = False
    """Another agent started the session, so its prompts were not typed."""

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        fields = fields_of(data)
        facts = {k: value_of(v) for k, v in fields.items() if k != "messages"}
        yield self.read_facts(facts)
        for item in cursor.each(fields.get("messages"), _ITEM):
            yield self.read_item(item, cursor) if item else rec.Unknown("message/no object")

    def read_facts(self, facts: dict[str, Any]) -> rec.SessionFacts:
        """The facts of the session, from the top-level fields."""
        if facts.get("kind") == "subagent":
            self.subagent = True
        return rec.SessionFacts(
            id=text_of(facts.get("sessionId")),
            title=text_of(facts.get("summary")),
            started=text_of(facts.get("startTime")),
        )

    def read_item(self, item: Item, cursor: Cursor) -> rec.Message | rec.Unknown:
        """One item of `messages`."""
        kind = text_of(item.type)
        role: rec.Role = "user"
        typed: tuple[rec.Typed, ...] = ()
        origin = ""
        if kind == "user":
            parts, typed = self._user_parts(item)
            if any(type(p) is rec.ToolResult for p in parts):
                origin = "tool"
        elif kind == "gemini":
            parts, typed = self._assistant_parts(item)
            role = "assistant"
        elif kind in _NOTICES:
            parts = self.parts.content(item.content, False).parts
            cancelled = len(parts) == 1 and parts[0] == rec.Text("Request cancelled.")
            role, origin = "system", "interruption" if cancelled else "meta"
        else:
            return rec.Unknown(f"message/{kind}")
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            key=text_of(item.id),
            response=None,
            time=text_of(item.timestamp),
            model=text_of(item.model),
            usage=usage_of(item.tokens, _TOKENS),
        )

    def _user_parts(self, item: Item) -> tuple[tuple[rec.Part, ...], tuple[rec.Typed, ...]]:
        open_calls = {identity for _, identity in self.parts.open}
        content = self.parts.content(item.content, not self.subagent)
        if content.results:
            # Synchronised history repeats results that are already recorded with their calls.
            new = [
                p
                for p in content.parts
                if type(p) is not rec.ToolResult or p.call_id in open_calls
            ]
            return tuple(new), ()
        shown = self.parts.content(item.displayContent, False).parts
        if (
            not self.subagent
            and len(shown) == 1
            and type(shown[0]) is rec.Text
            and shown[0].text
        ):
            # The displayed part of the prompt was typed; the recorder inserted the rest.
            for number, part in enumerate(content.parts):
                at = part.text.find(shown[0].text) if type(part) is rec.Text else -1
                if at >= 0:
                    return content.parts, (rec.Typed(number, at, at + len(shown[0].text)),)
        return content.parts, content.typed

    def _assistant_parts(
        self, item: Item
    ) -> tuple[tuple[rec.Part, ...], tuple[rec.Typed, ...]]:
        parts: list[rec.Part] = []
        for thought in dicts_of(item.thoughts):
            words = [text_of(thought.get(k)) for k in ("subject", "description")]
            parts.append(rec.Reasoning("\n".join(w for w in words if w)))
        call_ids = {known_id(c.id) for c in item.toolCalls or ()}
        for part in self.parts.content(item.content, False).parts:
            # These calls follow, with their results.
            repeated = type(part) is rec.ToolCall and part.id in call_ids
            if not repeated and part != rec.Text(""):
                parts.append(part)
        typed: tuple[rec.Typed, ...] = ()
        for call in item.toolCalls or ():
            tool_call, result = self._call(call)
            parts.append(tool_call)
            if result is not None:
                if tool_call.kind == "ask" and result.status == "ok":
                    typed += _answer_spans(result.text, len(parts))
                parts.append(result)
        return tuple(parts), typed

    def _call(self, call: Call) -> tuple[rec.ToolCall, rec.ToolResult | None]:
        name = text_of(call.name)
        tool_call = self.parts.tool_call({"id": call.id, "name": name, "args": call.args})
        self.parts.forget_call(tool_call.id)  # its result, if any, is in this record
        text, failed = response_texts(call.result)
        text = text or text_of(call.resultDisplay)
        status = STATUS.get(text_of(call.status), "running")
        if status == "running" and not text:
            return tool_call, None
        if status == "ok" and failed:
            status = "error"
        shown = dict_of(call.resultDisplay)
        detail = None
        if isinstance(shown.get("isNewFile"), bool) and status == "ok":
            detail = {"created": shown["isNewFile"]}
        return tool_call, result_of(tool_call.id, name, text, status, detail)


def _answer_spans(text: str, part: int) -> tuple[rec.Typed, ...]:
    try:
        answers = dict_of(dict_of(msgspec.json.decode(text)).get("answers"))
    except (ValueError, RecursionError):
        return ()
    spans: list[rec.Typed] = []
    position = 0
    for answer in answers.values():
        words = text_of(answer)
        at = text.find(f'"{words}"', position) if words else -1
        if at >= 0:
            spans.append(rec.Typed(part, at + 1, at + 1 + len(words), "answer"))
            position = at + len(words)
    return tuple(spans)


class GeminiLinesReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    items: GeminiReader = field(default_factory=GeminiReader)
    given: dict[str, list[str]] = field(default_factory=dict)
    """What was already emitted of the last messages, by id: "tokens", call ids, "result of"
    call ids."""
    parents: dict[str, str] = field(default_factory=dict)
    last: str = ""

    def read(self, line: Line, cursor: Cursor) -> Iterable[rec.Record]:
        if isinstance(line.rewound, str):
            # What follows has the same parent as what it replaces.
            self.last = self.parents.get(line.rewound, "")
        elif isinstance(line.changed, dict):
            yield self.items.read_facts(line.changed)
            yield from self._compressed(line.changed.get("messages"), cursor)
        elif text_of(line.id):
            yield from self._item(line, text_of(line.id), cursor)
        elif text_of(line.sessionId):
            yield self.items.read_facts(msgspec.structs.asdict(line))
            self.last = self.last or text_of(line.sessionId)
            yield rec.Link(text_of(line.sessionId), "")
        else:
            yield rec.Unknown("line without id")

    def _item(self, item: Line, identity: str, cursor: Cursor) -> Iterable[rec.Record]:
        repeated = identity in self.given
        given = self.given.setdefault(identity, [])
        if repeated and item.type != "gemini":
            return  # only the agent's messages grow
        if repeated:
            item.id, item.content, item.thoughts = "", "", None
            item.tokens = None if "tokens" in given else item.tokens
        found = self.items.read_item(item, cursor)
        if not isinstance(found, rec.Message):
            yield found
            return
        parts = _new_parts(found.parts, given)
        if item.tokens is not None:
            given.append("tokens")
        if repeated and not parts and (found.usage is None or not found.usage.total):
            cursor.give_back("")
            return
        parent = identity if repeated else self.last
        if not repeated:
            self.parents[identity], self.last = self.last, identity
            _drop_oldest(self.parents, _MAX_REWIND)
            _drop_oldest(self.given, _MAX_REPEATABLE)
        yield msgspec.structs.replace(
            found,
            parts=parts,
            typed=() if repeated else found.typed,
            parent=parent,
            response=identity if found.role == "assistant" else "",
        )

    def _compressed(self, messages: Any, cursor: Cursor) -> Iterable[rec.Record]:
        """The conversation was replaced; only the summary of the removed part is new."""
        for message in dicts_of(messages):
            identity = known_id(message.get("id"))
            content = self.items.parts.content(message.get("content"), False)
            text = next((p.text for p in content.parts if type(p) is rec.Text), "")
            if not text.startswith(SNAPSHOT) or identity in self.parents:
                continue
            yield cursor.compaction()
            yield cursor.message(
                "user",
                content.parts,
                "compaction",
                key=identity,
                parent=self.last,
                time=text_of(message.get("timestamp")),
            )
            self.parents[identity], self.last = self.last, identity


def _new_parts(parts: tuple[rec.Part, ...], given: list[str]) -> tuple[rec.Part, ...]:
    new: list[rec.Part] = []
    for part in parts:
        if type(part) is rec.ToolCall:
            part_key = part.id
        elif type(part) is rec.ToolResult:
            part_key = f"result of {part.call_id}" if part.status != "running" else ""
        else:
            new.append(part)
            continue
        if part_key and part_key not in given:
            given.append(part_key)
            new.append(part)
    return tuple(new)


def _drop_oldest(entries: dict[str, Any], limit: int) -> None:
    if len(entries) > limit:
        del entries[next(iter(entries))]


def _detect(sample: Sample) -> bool:
    return {"sessionId", "projectHash", "messages"} <= sample.keys


def _detect_lines(sample: Sample) -> bool:
    for line in sample.lines:
        if "messages" not in line and {"sessionId", "projectHash"} <= line.keys():
            return True
        if line.get("type") == "gemini" and "content" in line and "id" in line:
            return True
        if "lastUpdated" in dict_of(line.get("$set")):
            return True
    return False


FORMAT = Format("gemini_cli", "document", GeminiReader, _detect)
LINES = Format("gemini_cli_jsonl", "lines", GeminiLinesReader, _detect_lines)
