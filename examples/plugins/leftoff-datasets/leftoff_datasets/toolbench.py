"""ToolBench answers, one JSON document each: docs/formats/toolbench.md.

The agent searches a tree of calls. `answer_generation.train_messages` holds the conversations
that lead to its last answer, each longer than the one before; the last one is the session.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from leftoff.formats.chat import ChatReader
from leftoff.formats.lenient_json import dict_of, fields_of, items_of, text_of, value_of
from leftoff.formats.openai_parts import decode_arguments
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.model import Message, Part, Record, Text, ToolCall, ToolResult, Turn, Typed

_TRUNCATED = "Message error..."
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
        for message in cursor.objects(chains[-1] if chains else None):
            for record in reader.item(message, cursor):
                yield self._with_outcome(record) if isinstance(record, Message) else record
                yield from _run_end(record)

    def _with_outcome(self, m: Message) -> Message:
        if m.role == "tool":
            return replace(m, parts=tuple(map(_with_status, m.parts)))
        if m.role != "user":
            return m
        # Only the first is typed: later ones direct the search to another branch.
        typed = () if self.asked else self._query_span(m)
        self.asked = True
        return replace(m, typed=typed, origin="prompt" if typed else "injected")

    def _query_span(self, m: Message) -> tuple[Typed, ...]:
        """The span of the query in the first message; the recorder adds text around it."""
        for number, part in enumerate(m.parts):
            if type(part) is Text and self.query and (at := part.text.find(self.query)) >= 0:
                return (Typed(number, at, at + len(self.query)),)
        return m.typed


def _run_end(record: Record) -> Iterable[Turn]:
    """How a run ended: with an answer, or given up. Nobody answers to it."""
    for part in record.parts if isinstance(record, Message) else ():
        if type(part) is ToolCall and part.kind == "finish":
            given = dict_of(part.input)
            yield Turn("ended", text_of(given.get("return_type")).replace("_", " "))


def _with_status(part: Part) -> Part:
    """The result with its status, from the server's `error` field; an empty error means
    success."""
    if type(part) is not ToolResult or part.status != "unknown":
        return part
    error = dict_of(decode_arguments(part.text)).get("error") if part.text[:1] == "{" else None
    if not isinstance(error, str) or error == _TRUNCATED:
        return part
    return replace(part, status="error" if error else "ok")


def _detect(sample: Sample) -> bool:
    if "answer_generation" not in sample.keys:
        return False
    return "train_messages" in dict_of(sample.document["answer_generation"])


FORMAT = Format("toolbench", "document", ToolBenchReader, _detect)
