"""Bytes to records: feeding, recognising, taking lines apart, accounting for each.

The first half of the pass. What becomes of a record is the business of `fold.Fold`.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import msgspec

from leftoff import codec
from leftoff.errors import FormatError
from leftoff.extraction.session_state import Lines
from leftoff.formats.reader import Cursor, Format, Sample, detect, formats, unrecognised
from leftoff.model import Issue, Link, Message, Record, SessionFacts, Severity, Unknown

SNIFF = 1 << 20
"""Bytes after which an unrecognised recording must be one document."""

PLACES = 20
"""How many places an issue names."""

_WHAT: dict[str, tuple[Severity, str]] = {
    "blank_line": ("info", "blank lines"),
    "line_too_long": ("error", f"lines of more than {codec.MAX_LINE >> 20} MiB, skipped"),
    "no_json": ("warning", "lines that hold no JSON object"),
    "not_a_record": ("warning", "JSON values that are no records"),
    "cut": ("warning", "lines cut short"),
    "glued": ("warning", "lines that hold several records, taken apart"),
    "nul": ("warning", "NUL bytes, removed"),
    "bom": ("info", "byte order marks, removed"),
    "invalid_utf8": ("warning", "bytes that are no UTF-8, replaced"),
    "surrogate": ("warning", "lone surrogates, replaced"),
    "not_a_number": ("warning", "numbers that JSON does not know, dropped"),
    "control_character": ("warning", "raw control characters inside strings"),
    "field_type": ("warning", "fields of an unexpected type, ignored"),
    "odd_count": ("warning", "counts that cannot be, ignored"),
    "mended_document": ("warning", "damage in the document, mended"),
    "too_deep": ("error", "values nested too deeply, skipped"),
    "repeated_record": ("info", "records repeated word for word, counted once"),
}


class Intake(ABC):
    """Reads the bytes of one recording and hands on its records.

    Args:
        where: the name of the recording for error messages, e.g. its path.
        format: name of the format, or None to recognise it by content.

    Attributes:
        offset: bytes read up to the end of the last whole line.
        lines: what became of each line.
        issues: what was wrong with them, by code and detail.
    """

    def __init__(self, where: str, format: str | None) -> None:
        self.where = where
        self.offset = 0
        self.lines = Lines()
        self.cursor = Cursor()
        self.issues: dict[tuple[str, str], Issue] = {}
        self.format: Format | None = None
        self._held = bytearray()  # undecided, or a document
        self._pieces = 0
        self._tail = bytearray()  # an unterminated last line
        self._dropping = False  # in the middle of a line that is too long
        self._tried_at = 0
        if format is not None:
            self._use(formats.get(format))

    # -- what becomes of a record ----------------------------------------------------------

    @abstractmethod
    def _message(self, m: Message) -> None: ...

    @abstractmethod
    def _link(self, link: Link) -> None: ...

    @abstractmethod
    def _fact(self, found: Record) -> None: ...

    # -- feeding ---------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the recording, cut anywhere.

        Raises:
            FormatError: the bytes are surely of no known format, or too large for theirs.
        """
        self.feed_lines(io.BytesIO(data))

    def feed_lines(self, pieces: Iterable[bytes]) -> None:
        """Takes the next lines. A piece without a final newline is the beginning of a line.

        Raises:
            FormatError: as for `feed`.
        """
        for piece in pieces:
            if piece[-1:] != b"\n":
                self._partial(piece)
            elif self._tail or self._dropping or len(piece) > codec.MAX_LINE:
                whole, self._tail = bytes(self._tail + piece), bytearray()
                if self._dropping or len(whole) > codec.MAX_LINE:
                    self._dropping = False
                    self.offset += len(whole)
                    self._skip_long()
                else:
                    self._whole(whole)
            elif self._strict is None:
                self._hold(piece)
            else:
                self._line(piece)

    def _whole(self, line: bytes) -> None:
        """A whole line of a recording whose format may not be known yet."""
        if self._strict is None:
            self._hold(line)
        else:
            self._line(line)

    def _partial(self, piece: bytes) -> None:
        """The beginning of a line; one that grows too long is dropped up to its end."""
        if self._dropping:
            self.offset += len(piece)
            return
        self._tail += piece
        if len(self._tail) <= codec.MAX_LINE:
            return
        if self._strict is None and self._held:
            self._look(complete=False)
        first = not self._held and self._tail.lstrip()[:1] == b"{"
        if self._strict is not None or first:
            self.offset += len(self._tail)
            self._tail, self._dropping = bytearray(), True
        elif len(self._held) + len(self._tail) > codec.MAX_DOCUMENT:
            raise self._too_large()

    def _skip_long(self) -> None:
        self.cursor.line += 1
        self.lines.total += 1
        self.lines.skipped += 1
        self._issue("line_too_long")

    def _hold(self, piece: bytes) -> None:
        """Keeps a piece of a recording that is a document, or not recognised yet."""
        self._held += piece
        self._pieces += 1
        size = len(self._held)
        if size > codec.MAX_DOCUMENT:
            raise self._too_large()
        if self.format is None and (
            self._pieces == Sample.LINES or size > self._tried_at + SNIFF
        ):
            self._tried_at = 1 << 62  # a second look only when all is there
            self._look(complete=False)

    def _look(self, *, complete: bool) -> None:
        """Tries to recognise the format by what is held."""
        sample = Sample(bytes(self._held), complete=complete)
        found = detect(sample)
        if found is not None:
            self._use(found)
        elif complete or sample.binary:
            raise unrecognised(sample, self.where)

    def _too_large(self) -> FormatError:
        limit = codec.MAX_DOCUMENT >> 20
        return FormatError(
            f"{self.where}: no line-based recording, and more than {limit} MiB; "
            "split it or convert it to JSONL first"
        )

    def _use(self, found: Format) -> None:
        self.format = found
        self.reader = found.reader()
        if found.shape == "document":
            return
        if found.shape == "lines":
            self._decoder = codec.LineDecoder(self.reader.record)
            self._strict = self._decoder.strict
        else:
            self._strict = bytes
        held, self._held = self._held, bytearray()
        for line in io.BytesIO(held):
            self._line(line)

    _strict: Any = None

    # -- lines -----------------------------------------------------------------------------

    def _line(self, line: bytes) -> None:
        cursor, lines = self.cursor, self.lines
        cursor.line += 1
        cursor.raw = line
        self.offset += len(line)
        lines.total += 1
        try:
            record = self._strict(line)
        except (ValueError, RecursionError):
            self._mended(line)
            return
        lines.parsed += 1
        known, unknown = False, False
        try:
            for found in self.reader.read(record, cursor):
                kind = type(found)
                if kind is Unknown:
                    unknown = True
                    self._issue("unknown_kind", found.kind)
                    continue
                if kind is Message:
                    known = True
                    self._message(found)
                elif kind is Link:
                    self._link(found)
                else:
                    known = known or kind is not SessionFacts
                    self._fact(found)
        except FormatError as error:
            raise self._placed(error) from error
        # A line of which more was read than its envelope counts as parsed.
        if unknown and not known:
            lines.parsed -= 1
            lines.unknown += 1

    def _placed(self, error: FormatError) -> FormatError:
        """What a reader refuses, with where it stands: a reader does not know."""
        return FormatError(f"{self.where}: {error}")

    def _mended(self, line: bytes) -> None:
        """A line that strict decoding refused: saved as far as it goes."""
        if not line.strip(b"\x00 \t\r\n"):
            self.lines.skipped += 1
            self._issue("nul" if b"\x00" in line else "blank_line")
            return
        records, codes = self._decoder.decode(line)
        unknown = 0
        found: list[Record] = []
        for record in records:
            try:
                read = list(self.reader.read(record, self.cursor))
            except FormatError as error:
                raise self._placed(error) from error
            unknown += any(type(r) is Unknown for r in read)
            found += read
        if not records or ("cut" in codes and unknown == len(records)):
            self.lines.skipped += 1
        elif unknown == len(records):
            self.lines.unknown += 1
        else:
            self.lines.repaired += 1
        for code in codes or ("no_json",):
            self._issue(code)
        for item in found:
            if type(item) is Unknown:
                if "cut" not in codes:
                    self._issue("unknown_kind", item.kind)
            else:
                self._take(item)

    def _take(self, found: Record) -> None:
        kind = type(found)
        if kind is Message:
            self._message(found)  # type: ignore[arg-type]
        elif kind is Link:
            self._link(found)  # type: ignore[arg-type]
        elif kind is Unknown:
            self._issue("unknown_kind", found.kind)  # type: ignore[union-attr]
        else:
            self._fact(found)

    # -- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """There is nothing more: reads an unterminated last line, a whole document.

        Raises:
            FormatError: no known format, or not one message.
        """
        tail, self._tail = bytes(self._tail), bytearray()
        if self._dropping:
            self._dropping = False
            self._skip_long()
        if self._strict is None:
            if tail:
                self._hold(tail)
            tail = b""
            if self._strict is None:
                self._document()
        if tail:
            if len(tail) > codec.MAX_LINE:
                self._skip_long()
            else:
                self._line(tail)
        self.cursor.ended = True
        if self.format is not None and self.format.shape == "text":
            self.cursor.raw = b""
            for found in self.reader.read(b"", self.cursor):
                self._take(found)

    def _document(self) -> None:
        if self.format is None:
            self._look(complete=True)
            if self._strict is not None:
                return
        data, self._held = bytes(self._held), bytearray()
        self.cursor.line = 0
        self.offset = len(data)
        archive = data.startswith(b"PK\x03\x04") and getattr(
            self.format, "reads_archives", False
        )
        if not archive:
            data = self._json(data)
        counted: int | None = None
        for found in self.reader.read(data, self.cursor):
            item = getattr(found, "item", None)
            if isinstance(found, Unknown) or (item is not None and item != counted):
                self.lines.total += 1  # an element of the list that holds the messages
                if isinstance(found, Unknown):
                    self.lines.unknown += 1
                else:
                    self.lines.parsed += 1
                counted = item
            self._take(found)

    def _json(self, data: bytes) -> bytes:
        """The document as valid JSON, mended if it must be."""
        try:
            msgspec.json.decode(data)
        except (ValueError, RecursionError):
            document = Sample(data, complete=True).document
            if document is None:
                raise FormatError(
                    f"{self.where}: the JSON document is damaged beyond reading"
                ) from None
            data = codec.dumps(document)  # read what could be saved
            self._issue("mended_document")
        return data

    def _issue(self, code: str, detail: str = "") -> None:
        place = f"line {self.cursor.line}" if self.cursor.line else "the document"
        known = self.issues.get((code, detail))
        if known is None:
            severity, what = _WHAT.get(code, ("info", f"records of unknown kind {detail!r}"))
            self.issues[code, detail] = Issue(code, severity, what, 1, (place,))
            return
        places = known.places if len(known.places) >= PLACES else (*known.places, place)
        self.issues[code, detail] = msgspec.structs.replace(
            known, count=known.count + 1, places=places
        )
