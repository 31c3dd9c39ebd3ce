"""Gemini CLI sessions as JSON lines, `chats/session-*.jsonl`: docs/formats/gemini_cli.md.

What newer versions write: the items of the session document, one on each line, appended anew
whenever something was added to them. Written from the recorder's open source.
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
_ANEW = 32
"""How many of the last messages may be appended anew; in fact it is always the last one."""
_REWOUND = 4096
"""How many messages back a rewind is understood."""


class GeminiLinesReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    items: GeminiReader = field(default_factory=GeminiReader)
    given: dict[str, list[str]] = field(default_factory=dict)
    """Of the last messages, what was given out: "tokens", call ids, "result of" call ids."""
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
        anew = identity in self.given
        given = self.given.setdefault(identity, [])
        if anew and item.type != "gemini":
            return  # only the agent's messages grow
        if anew:
            item.id, item.content, item.thoughts = "", "", None
            item.tokens = None if "tokens" in given else item.tokens
        found = self.items.read_item(item, cursor, cursor.raw)
        if not isinstance(found, Message):
            yield found
            return
        parts = _new_parts(found.parts, given)
        if item.tokens is not None:
            given.append("tokens")
        if anew and not parts and (found.usage is None or not found.usage.total):
            cursor.give_back("")
            return
        parent = identity if anew else self.last
        if not anew:
            self.parents[identity], self.last = self.last, identity
            _bound(self.parents, _REWOUND)
            _bound(self.given, _ANEW)
        yield msgspec.structs.replace(
            found,
            parts=parts,
            typed=() if anew else found.typed,
            parent=parent,
            response=identity if found.role == "assistant" else "",
        )

    def _compressed(self, messages: Any, cursor: Cursor) -> Iterable[Record]:
        """The conversation was replaced; new in it is only the summary of what went."""
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
    """The parts that were not given out yet; marks them as given."""
    new: list[Part] = []
    for part in parts:
        if type(part) is ToolCall:
            mark = part.id
        elif type(part) is ToolResult:
            mark = f"result of {part.call_id}" if part.status != "running" else ""
        else:
            new.append(part)
            continue
        if mark and mark not in given:
            given.append(mark)
            new.append(part)
    return tuple(new)


def _bound(kept: dict[str, Any], most: int) -> None:
    if len(kept) > most:
        del kept[next(iter(kept))]


class GeminiCliLines(Struct, frozen=True):
    """The format object: how to know such a file and how to read it."""

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
