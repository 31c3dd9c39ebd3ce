"""Gemini CLI sessions as JSON lines, `chats/session-*.jsonl`: docs/formats/gemini_cli.md.

Newer versions write each item of the session document on a line, and append the whole item
again when it has grown. Written from the recorder's open source.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.formats.gemini_cli import Call, GeminiReader, Item
from leftoff.formats.lenient_json import dict_of, dicts_of, known_id, text_of
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Compaction,
    Link,
    Message,
    Part,
    Record,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)


class Line(Struct, gc=False):
    """A message, the header, or a change to the header or to the conversation."""

    id: Any = None
    timestamp: Any = None
    type: Any = None
    content: Any = None
    displayContent: Any = None
    model: Any = None
    tokens: Any = None
    thoughts: Any = None
    toolCalls: list[Call] | None = None
    sessionId: Any = None
    projectHash: Any = None
    startTime: Any = None
    summary: Any = None
    kind: Any = None
    changed: Any = field(default=None, name="$set")
    rewound: Any = field(default=None, name="$rewindTo")


_SNAPSHOT = "<state_snapshot>"
_MAX_REPEATABLE = 32
"""Number of last messages that may be appended again; the recorder repeats only the very
last."""
_MAX_REWIND = 4096
"""Messages that a rewind can go back. Chosen by hand; not measured."""


class GeminiLinesReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    items: GeminiReader = field(default_factory=GeminiReader)
    given: dict[str, list[str]] = field(default_factory=dict)
    """What was already emitted of the last messages, by id: "tokens", call ids, "result of"
    call ids."""
    parents: dict[str, str] = field(default_factory=dict)
    last: str = ""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
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
            yield Link(text_of(line.sessionId), "")
        else:
            yield Unknown("line without id")

    def _item(self, line: Line, identity: str, cursor: Cursor) -> Iterable[Record]:
        item = Item(
            id=line.id,
            timestamp=line.timestamp,
            type=line.type,
            content=line.content,
            displayContent=line.displayContent,
            model=line.model,
            tokens=line.tokens,
            thoughts=line.thoughts,
            toolCalls=line.toolCalls,
        )
        repeated = identity in self.given
        given = self.given.setdefault(identity, [])
        if repeated and item.type != "gemini":
            return  # only the agent's messages grow
        if repeated:
            item.id, item.content, item.thoughts = "", "", None
            item.tokens = None if "tokens" in given else item.tokens
        found = self.items.read_item(item, cursor, cursor.raw)
        if not isinstance(found, Message):
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

    def _compressed(self, messages: Any, cursor: Cursor) -> Iterable[Record]:
        """The conversation was replaced; only the summary of the removed part is new."""
        for message in dicts_of(messages):
            identity = known_id(message.get("id"))
            content = self.items.parts.content(message.get("content"), False)
            text = next((p.text for p in content.parts if type(p) is Text), "")
            if not text.startswith(_SNAPSHOT) or identity in self.parents:
                continue
            yield Compaction(line=cursor.line, raw=cursor.raw)
            yield Message(
                index=cursor.take(),
                role="user",
                parts=content.parts,
                line=cursor.line,
                origin="compaction",
                key=identity,
                parent=self.last,
                time=text_of(message.get("timestamp")),
                raw=cursor.raw,
            )
            self.parents[identity], self.last = self.last, identity


def _new_parts(parts: tuple[Part, ...], given: list[str]) -> tuple[Part, ...]:
    """The parts that were not emitted yet; adds them to `given`."""
    new: list[Part] = []
    for part in parts:
        if type(part) is ToolCall:
            part_key = part.id
        elif type(part) is ToolResult:
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


class GeminiCliLines(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "gemini_cli_jsonl"
    shape: str = "lines"
    reader: type[GeminiLinesReader] = GeminiLinesReader

    def detect(self, sample: Sample) -> bool:
        for line in sample.lines:
            if "messages" not in line and {"sessionId", "projectHash"} <= line.keys():
                return True
            if line.get("type") == "gemini" and "content" in line and "id" in line:
                return True
            if "lastUpdated" in dict_of(line.get("$set")):
                return True
        return False


FORMAT = GeminiCliLines()
