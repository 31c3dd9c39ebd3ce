"""Bytes to records: buffering, format detection, decoding of lines, repair, counts of lines.

The first half of a pass. What becomes of a record is the business of `collector.Collector`."""

import io
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from leftoff import codec
from leftoff.errors import FormatError
from leftoff.extraction.session_state import MAX_AGENTS, MAX_CLAIMS, MAX_PARTS, Lines
from leftoff.formats.reader import Cursor, Format, Sample, detect, unrecognised
from leftoff.model import (
    Issue,
    Link,
    Message,
    Record,
    SessionFacts,
    Severity,
    Uncertain,
    Unknown,
)
from leftoff.tables import table

# Bytes after which an unrecognised recording must be one document.
SNIFF = 1 << 20

# Records that a line may hold beside one that is not known, and still be of an unknown kind.
_ENVELOPE = frozenset({Unknown, Link, Uncertain, SessionFacts})

# At most so many places are listed in an issue.
MAX_PLACES = 20

# From so many issues on, records of further unknown kinds are counted together.
MAX_KINDS = 200

_LIMITS = {
    "line": codec.MAX_LINE >> 20,
    "agents": MAX_AGENTS,
    "parts": MAX_PARTS,
    "claims": MAX_CLAIMS,
}
_TABLE = table(__file__, "issues.toml")
_ISSUES: dict[str, tuple[Severity, str]] = {
    code: (severity, what.format(**_LIMITS))
    for severity in get_args(Severity)
    for code, what in _TABLE[severity].items()
}

# So many lines of fewer than so many bytes on average are no document: what a compression bomb
# unpacks to takes a second for each million. Chosen by hand; lines of indented JSON have 20
# bytes and more.
SHORT_LINES, SHORT_LINE = 1 << 20, 8

# From so many lines that are blank, unreadable or of unknown kinds, and such a share of all,
# reading stops: it takes up to 15 seconds for a million. Chosen by hand.
EMPTY_LINES, EMPTY_SHARE = 500_000, 0.99

# From so many lines of unknown kinds, and such a share of all lines, the issue "drift" is
# reported: the recorder has changed its format. Chosen by hand; not measured.
DRIFT_LINES, DRIFT_SHARE = 4, 0.05

# Bytes of a recording of one document that are held as they are before it is tried whether they
# are highly repetitive; such a document is held compressed until it is read or refused.
UNPACKED = 8 << 20

# From such a compression ratio on, bytes are held compressed. JSON of sessions compresses to a
# third to a tenth, white space, zeros and repeated lines to less than a hundredth.
_REPETITIVE = 20


class HeldBytes:
    """Bytes that wait for more: a document, or the beginning of a line.

    What a decompression bomb unpacks to must not be in memory as it is until it is refused.

    Attributes:
        first: the first byte that is not white space; empty if there is none yet."""

    __slots__ = ("_packed", "_packed_size", "_plain", "_try_at", "first")

    def __init__(self) -> None:
        self.first = b""
        self._packed: list[bytes] = []
        self._packed_size = 0
        self._plain = bytearray()
        self._try_at = UNPACKED

    def __len__(self) -> int:
        return self._packed_size + len(self._plain)

    def append(self, piece: bytes) -> None:
        """Adds bytes at the end."""
        if not self.first:
            self.first = piece.lstrip()[:1]
        self._plain += piece
        size = len(self._plain)
        if size < self._try_at:
            return
        trial = bytes(self._plain[:: max(1, size // 65536)])
        ends = bytes(self._plain[:32768]) + bytes(self._plain[-32768:])
        if all(len(zlib.compress(t, 1)) * _REPETITIVE < len(t) for t in (trial, ends)):
            self._packed.append(zlib.compress(self._plain, 1))
            self._packed_size += size
            self._plain = bytearray()
            self._try_at = UNPACKED
        else:
            self._try_at = size + UNPACKED

    def whole(self) -> bytes:
        """All of them."""
        if not self._packed:
            return bytes(self._plain)
        return b"".join([*map(zlib.decompress, self._packed), self._plain])


class LineReader(ABC):
    """Reads the bytes of one recording and passes its records to the methods of a subclass.

    Args:
        where: the name of the recording for error messages, e.g. its path.

    Attributes:
        offset: bytes read up to the end of the last whole line.
        lines: counts of lines by outcome.
        issues: damage found in the lines, by code and detail."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.offset = 0
        self.lines = Lines()
        self.cursor = Cursor()
        self.issues: dict[tuple[str, str], Issue] = {}
        self.format: Format | None = None
        self._buffer = HeldBytes()  # undecided, or a document
        self._buffered = 0
        self._partial_line = HeldBytes()  # an unterminated last line
        self._skipping = False  # inside a line that is too long
        self._cut = False  # inside a line
        self._detect_from = 0

    # -- records, for subclasses -----------------------------------------------------------

    @abstractmethod
    def _message(self, m: Message) -> None: ...

    @abstractmethod
    def _link(self, link: Link) -> None: ...

    @abstractmethod
    def _fact(self, found: Record) -> None: ...

    # -- feeding ---------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Reads the next bytes of the recording; chunks may end anywhere.

        Raises:
            FormatError: the bytes cannot be of a known format, or are too many for theirs."""
        self.feed_lines(io.BytesIO(data))

    def feed_lines(self, pieces: Iterable[bytes]) -> None:
        """Reads the next lines. A piece without a final newline is the beginning of a line.

        Raises:
            FormatError: as for `feed`."""
        for piece in pieces:
            line = piece
            if piece[-1:] != b"\n":
                self._add_partial_line(piece)
                continue
            if self._cut or len(piece) > codec.MAX_LINE:
                self._cut = False
                self._partial_line.append(piece)
                line, self._partial_line = self._partial_line.whole(), HeldBytes()
                if self._skipping or len(line) > codec.MAX_LINE:
                    self._skipping = False
                    self.offset += len(line)
                    self._skip_long()
                    continue
            if self._strict is None:
                self._add_to_buffer(line)
            else:
                self._line(line)

    def _add_partial_line(self, piece: bytes) -> None:
        """Adds to an unterminated line; one that grows too long is skipped up to its end."""
        self._cut = True
        if self._skipping:
            self.offset += len(piece)
            return
        self._partial_line.append(piece)
        if len(self._partial_line) <= codec.MAX_LINE:
            return
        if self._strict is None and self._buffer:
            self._detect(complete=False)
        first = not self._buffer and self._partial_line.first == b"{"
        if self._strict is not None or first:
            self.offset += len(self._partial_line)
            self._partial_line, self._skipping = HeldBytes(), True
        elif len(self._buffer) + len(self._partial_line) > codec.MAX_DOCUMENT:
            raise self._too_large()

    def _skip_long(self) -> None:
        self.cursor.line += 1
        self.lines.total += 1
        self.lines.skipped += 1
        self._issue("line_too_long")

    def _add_to_buffer(self, piece: bytes) -> None:
        """Buffers a piece of a recording that is a document, or not recognised yet."""
        self._buffer.append(piece)
        self._buffered += 1
        size = len(self._buffer)
        if size > codec.MAX_DOCUMENT:
            raise self._too_large()
        if self._buffered % SHORT_LINES == 0 and size < SHORT_LINE * self._buffered:
            raise FormatError(
                f"{self.where}: {self._buffered:,} lines of fewer than {SHORT_LINE} bytes on "
                "average are no recording"
            )
        if self.format is None and (
            self._buffered == Sample.LINES or size > self._detect_from + SNIFF
        ):
            self._detect_from = 1 << 62  # a second look only when all is there
            self._detect(complete=False)

    def _detect(self, *, complete: bool) -> None:
        """Tries to recognise the format by the buffered bytes."""
        sample = Sample(self._buffer.whole(), complete=complete)
        found = detect(sample)
        self._valid = sample.valid and len(sample.data) == len(self._buffer)  # without a mark
        if found is not None:
            del sample  # what it decoded would stand beside what is decoded now
            self._set_format(found)
        elif complete or sample.binary:
            raise unrecognised(sample, self.where, self.lines.skipped)

    def _too_large(self) -> FormatError:
        limit = codec.MAX_DOCUMENT >> 20
        return FormatError(
            f"{self.where}: no line-based recording, and more than {limit} MiB; "
            "split it or convert it to JSONL first"
        )

    def _set_format(self, found: Format) -> None:
        self.format = found
        self.reader = found.reader()
        if found.shape == "document":
            return
        if found.shape == "lines":
            self._decoder = codec.LineDecoder(self.reader.record)
            self._strict = self._decoder.strict
        else:
            self._strict = bytes
        held, self._buffer = self._buffer.whole(), HeldBytes()
        for line in io.BytesIO(held):
            self._line(line)

    _strict: Any = None
    _valid = False  # the buffer is a JSON document without damage

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
            self._repair(line)
            return
        lines.parsed += 1
        known, unknown = False, False
        try:
            for found in self.reader.read(record, cursor):
                kind = type(found)
                unknown = unknown or kind is Unknown
                known = known or kind not in _ENVELOPE
                self._dispatch(found)
        except FormatError as error:
            raise FormatError(f"{self.where}: {error}") from error
        # A line of which more was read than its envelope counts as parsed.
        if unknown and not known:
            lines.parsed -= 1
            lines.unknown += 1
            self._check_empty()

    def _repair(self, line: bytes) -> None:
        """Reads what can be recovered of a line that strict decoding refused."""
        if not line.strip(b"\x00 \t\r\n"):
            self.lines.skipped += 1
            self._issue("nul" if b"\x00" in line else "blank_line")
            self._check_empty()
            return
        records, codes = self._decoder.decode(line)
        unknown = 0
        found: list[Record] = []
        for record in records:
            try:
                read = list(self.reader.read(record, self.cursor))
            except FormatError as error:
                raise FormatError(f"{self.where}: {error}") from error
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
        self._check_empty()
        for item in found:
            if type(item) is Unknown:
                if "cut" not in codes:
                    self._issue("unknown_kind", item.kind)
            else:
                self._dispatch(item)

    def _check_empty(self) -> None:
        """Raises FormatError where almost all of very many lines hold nothing."""
        lines = self.lines
        empty = lines.unknown + lines.skipped
        if empty >= EMPTY_LINES and empty > EMPTY_SHARE * lines.total:
            raise FormatError(
                f"{self.where}: {empty:,} of the first {lines.total:,} lines are blank, "
                "unreadable or of unknown kinds; this is no recording"
            )

    def _check_drift(self, version: str) -> None:
        """Reports the issue "drift" if too many lines are of unknown kinds."""
        unknown, total = self.lines.unknown, self.lines.total
        if unknown < DRIFT_LINES or unknown < DRIFT_SHARE * total:
            return
        kinds = sorted(
            detail for code, detail in self.issues if code == "unknown_kind" and detail
        )
        named = f" ({', '.join(kinds[:8])})" if kinds else ""
        what = (
            f"{unknown} of {total} lines are of kinds that leftoff does not know{named}; "
            f"recorded by version {version or 'unknown'}"
        )
        self.issues["drift", ""] = Issue("drift", "error", what, unknown)

    def _dispatch(self, found: Record) -> None:
        if type(found) is Message:
            self._message(found)
        elif type(found) is Link:
            self._link(found)
        elif type(found) is Unknown:
            self._issue("unknown_kind", found.kind)
        elif type(found) is Uncertain:
            self._issue(found.code, line=found.line)
        else:
            self._fact(found)

    # -- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the input: reads an unterminated last line, or a whole document.

        Raises:
            FormatError: no known format, or not one message."""
        tail, self._partial_line = self._partial_line.whole(), HeldBytes()
        if self._skipping:
            self._skipping = False
            self._skip_long()
        if self._strict is None:
            if tail:
                self._add_to_buffer(tail)
            tail = b""
            if self._strict is None:
                self._read_document()
        if tail:
            if len(tail) > codec.MAX_LINE:
                self._skip_long()
            else:
                self._line(tail)
        self.cursor.ended = True
        if self.format is not None and self.format.shape == "text":
            self.cursor.raw = b""
            for found in self.reader.read(b"", self.cursor):
                self._dispatch(found)

    def _read_document(self) -> None:
        if self.format is None:
            self._detect(complete=True)
            if self._strict is not None:
                return
        data, self._buffer = self._buffer.whole(), HeldBytes()
        self.cursor.line = 0
        self.offset = len(data)
        archive = data.startswith(b"PK\x03\x04") and getattr(
            self.format, "reads_archives", False
        )
        if not archive and not self._valid:
            data = self._valid_json(data)
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
            self._dispatch(found)

    def _valid_json(self, data: bytes) -> bytes:
        """The document as valid JSON, repaired if necessary."""
        try:
            msgspec.json.decode(data)
        except (ValueError, RecursionError):
            document = Sample(data, complete=True).document
            if document is None:
                raise FormatError(
                    f"{self.where}: the JSON document is damaged beyond reading"
                ) from None
            data = codec.dumps(document)  # what could be recovered
            self._issue("mended_document")
        return data

    def _issue(self, code: str, detail: str = "", line: int = 0, count: int = 1) -> None:
        line = line or self.cursor.line
        place = f"line {line}" if line else "the document"
        known = self.issues.get((code, detail))
        if known is None and detail and len(self.issues) >= MAX_KINDS:
            detail = ""
            known = self.issues.get((code, detail))
        if known is None:
            named = f"records of unknown kind {detail!r}" if detail else "further unknown kinds"
            severity, what = _ISSUES.get(code, ("info", named))
            self.issues[code, detail] = Issue(code, severity, what, count, (place,))
            return
        places = known.places if len(known.places) >= MAX_PLACES else (*known.places, place)
        self.issues[code, detail] = msgspec.structs.replace(
            known, count=known.count + count, places=places
        )
