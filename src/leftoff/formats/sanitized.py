"""Sessions of which a part was removed before they were published: docs/formats/sanitized.md.

Each line is a message with its role. The first line says what was removed: results of tools
are, so no call has an outcome. A transcript that was written afterwards as a summary has the
same shape and is refused: its words are not those that were said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from leftoff.errors import FormatError
from leftoff.formats.injected import is_continuation, is_interruption, typed_spans
from leftoff.formats.lenient_json import text_of
from leftoff.formats.reader import Cursor, Sample
from leftoff.formats.vocabulary import kind_of
from leftoff.model import Message, Part, Record, SessionFacts, Text, ToolCall, Typed, Unknown

_CALL = "[tool_use:"
_NOTICES = frozenset({"sanitization_notice", "session_meta"})
_WRITTEN_AFTERWARDS = frozenset({"tool_summary", "file_change"})
REASON = (
    "a transcript written afterwards: its lines of the kinds tool_summary and file_change sum "
    "up what was done, and its messages may do so too, so whose words they are cannot be known"
)


class Line(Struct, gc=False):
    type: Any = None
    role: Any = None
    timestamp: Any = None
    text: Any = None
    title: Any = None


class SanitizedReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    calls: int = 0
    turns: int = 0

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        """The message of a line.

        Raises:
            FormatError: the lines are a summary, not a recording.
        """
        if line.type == "message":
            return self._message(line, text_of(line.text), cursor)
        if line.type == "title":
            return (SessionFacts(title=text_of(line.title)),)
        kind = text_of(line.type)
        if kind in _NOTICES:
            return ()
        if kind in _WRITTEN_AFTERWARDS:
            raise FormatError(f"line {cursor.line}: {REASON}")
        return (Unknown(kind or "line without a type"),)

    def _message(self, line: Line, text: str, cursor: Cursor) -> Iterable[Record]:
        typed: tuple[Typed, ...] = ()
        part: Part = Text(text)
        response = ""
        if line.role == "assistant":
            role: Any = "assistant"
            origin = "agent"
            self.turns += 1
            response = f"r{self.turns}"
            if text.startswith(_CALL) and text.endswith("]"):
                part = self._call(text)
        elif line.role == "user":
            role = "user"
            if is_interruption(text):
                origin = "interruption"
            elif is_continuation(text):
                origin = "compaction"
            else:
                typed = typed_spans(0, text)
                origin = "prompt" if typed else "injected"
        else:
            return (Unknown("message without a known role"),)
        return (
            Message(
                cursor.take(),
                role,
                (part,),
                cursor.line,
                None,
                origin,
                typed,
                response=response,
                time=text_of(line.timestamp),
                raw=cursor.raw,
            ),
        )

    def _call(self, text: str) -> Part:
        name, _, given = text[len(_CALL) : -1].partition(" ")
        try:
            arguments = msgspec.json.decode(given) if given else {}
        except (ValueError, RecursionError):
            arguments = {"recorded": given}
        self.calls += 1
        return ToolCall(f"call-{self.calls}", name, kind_of(name), arguments)


class Sanitized(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "sanitized"
    shape: str = "lines"
    reader: type[SanitizedReader] = SanitizedReader

    def detect(self, sample: Sample) -> bool:
        first = sample.lines[0] if sample.lines else {}
        noticed = first.get("type") == "sanitization_notice" or (
            first.get("type") == "session_meta" and isinstance(first.get("sanitization"), dict)
        )
        return noticed and any(
            line.get("type") == "message" and isinstance(line.get("text"), str)
            for line in sample.lines[1:]
        )


FORMAT = Sanitized()
