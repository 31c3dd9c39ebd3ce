"""ToolBench answers, one JSON document each: docs/formats/toolbench.md.

The agent searches a tree of calls. `answer_generation.train_messages` holds the conversations
that lead to its last answer, each longer than the one before; the last one is the session.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from leftoff.codec import LineDecoder
from leftoff.formats.chat import ChatMessage, ChatReader
from leftoff.formats.lenient_json import dict_of, fields_of, items_of, text_of, value_of
from leftoff.formats.openai_parts import decoded
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Message, Part, Record, Text, ToolResult, Typed, Unknown

_MESSAGE = LineDecoder(ChatMessage)
_CUT = "Message error..."
"""The server's `error` for an answer that it shortened; the answer itself is there."""


class ToolBenchReader(Struct):
    """Reads one answer. Fields are its state."""

    record: ClassVar[Any] = bytes

    query: str = ""
    asked: bool = False

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        answer = fields_of(fields_of(data).get("answer_generation", Raw(b"0")))
        self.query = text_of(value_of(answer.get("query"))).strip()
        chains = items_of(answer.get("train_messages"))
        reader = ChatReader()
        for number, item in enumerate(items_of(chains[-1]) if chains else []):
            cursor.raw = bytes(item)
            found, _ = _MESSAGE.decode(cursor.raw)
            if not found:
                yield Unknown("message")
            for message in found:
                for record in reader.message(message, cursor, number):
                    yield self._told(record) if isinstance(record, Message) else record

    def _told(self, m: Message) -> Message:
        if m.role == "tool":
            return replace(m, parts=tuple(map(_judged, m.parts)))
        if m.role != "user":
            return m
        # Only the first is a person's: later ones urge the search on to another branch.
        typed = () if self.asked else self._query(m)
        self.asked = True
        return replace(m, typed=typed, origin="prompt" if typed else "injected")

    def _query(self, m: Message) -> tuple[Typed, ...]:
        """Where the query stands: the recorder puts a word around it."""
        for number, part in enumerate(m.parts):
            if type(part) is Text and self.query and (at := part.text.find(self.query)) >= 0:
                return (Typed(number, at, at + len(self.query)),)
        return m.typed


def _judged(part: Part) -> Part:
    """An answer of the tool server names its error; an empty one means that it went well."""
    if type(part) is not ToolResult or part.status != "unknown":
        return part
    error = dict_of(decoded(part.text)).get("error") if part.text[:1] == "{" else None
    if not isinstance(error, str) or error == _CUT:
        return part
    return replace(part, status="error" if error else "ok")


class ToolBench(Struct, frozen=True):
    """The format object: how to know such a file and how to read it."""

    name: str = "toolbench"
    shape: str = "document"
    reader: type[ToolBenchReader] = ToolBenchReader

    def detect(self, sample: Sample) -> bool:
        if "answer_generation" not in sample.keys:
            return False
        return "train_messages" in dict_of(sample.document["answer_generation"])


FORMAT = ToolBench()
