"""Sessions of which a part was removed before they were published: docs/formats/sanitized.md.

Each line is a message with its role. The first line says what was removed: results of tools
are, so no call has an outcome. A transcript that was written afterwards as a summary has the
same shape and is refused: its words are not those that were said."""

from collections.abc import Iterable

from leftoff.errors import FormatError
from leftoff.formats.injected import sent_by
from leftoff.formats.lenient_json import Fields
from leftoff.formats.openai_parts import recorded_arguments
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
from leftoff.formats.vocabulary import tool_call
from leftoff.model import Part, Record, SessionFacts, Text, Unknown

_CALL = "[tool_use:"
_NOTICES = frozenset({"sanitization_notice", "session_meta"})
_WRITTEN_AFTERWARDS = frozenset({"tool_summary", "file_change"})
REASON = (
    "a transcript written afterwards: its lines of the kinds tool_summary and file_change sum "
    "up what was done, and its messages may do so too, so whose words they are cannot be known"
)


class SanitizedReader(ItemReader):
    def item(self, line: Fields, cursor: Cursor) -> Iterable[Record]:
        """The message of a line.

        Raises:
            FormatError: the lines are a summary, not a recording."""
        kind = line.text("type")
        if kind == "message":
            return (self._message(line, line.text("text"), cursor),)
        if kind == "title":
            return (SessionFacts(title=line.text("title")),)
        if kind in _NOTICES:
            return ()
        if kind in _WRITTEN_AFTERWARDS:
            raise FormatError(f"line {cursor.line}: {REASON}")
        return (Unknown(kind or "line without a type"),)

    def _message(self, line: Fields, text: str, cursor: Cursor) -> Record:
        part: Part = Text(text)
        time = line.text("timestamp")
        if line.get("role") == "user":
            return cursor.message("user", (part,), *sent_by(text), time=time)
        if line.get("role") != "assistant":
            return Unknown("message without a known role")
        self.turns += 1
        if text.startswith(_CALL) and text.endswith("]"):
            name, _, given = text[len(_CALL) : -1].partition(" ")
            part = tool_call(self.call_id(), name, recorded_arguments(given) if given else {})
        return cursor.message("assistant", (part,), response=f"r{self.turns}", time=time)


def _detect(sample: Sample) -> bool:
    first = sample.lines[0] if sample.lines else {}
    noticed = first.get("type") == "sanitization_notice" or (
        first.get("type") == "session_meta" and isinstance(first.get("sanitization"), dict)
    )
    # A notice without a message below it is no recording.
    return noticed and any(
        line.get("type") == "message" and isinstance(line.get("text"), str)
        for line in sample.lines[1:]
    )


FORMAT = Format("sanitized", "lines", SanitizedReader, _detect)
