"""The pass: bytes in, evidence out, one message at a time.

A `Fold` is resumable. Its state is a fold over whole lines and has three sections: the head
(offset, reader, counters, pending calls), the thread (packed keys), the evidence (append-only).
To read on, only the head is needed; to summarise, all three.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, Self

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import FormatError, StateError
from leftoff.extraction.evidence import (
    Applied,
    Called,
    Compacted,
    Counted,
    Evidence,
    Returned,
    Spent,
)
from leftoff.extraction.gate import Gate, Hit
from leftoff.extraction.recording import Head, Lines, Recording, Tail
from leftoff.extraction.rulebook import OUTPUTS, gate_for
from leftoff.extraction.view import (
    CALL,
    FAILED,
    FILE,
    HIT,
    OUTPUT,
    PLAN,
    RESULT,
    TEXT,
    TYPED,
    Pending,
    View,
)
from leftoff.formats import Cursor, Format, Sample, detect, formats, unrecognised
from leftoff.formats.thread import Packed
from leftoff.formats.tools import EDITS, text_argument
from leftoff.model import (
    Changes,
    Compaction,
    Issue,
    Link,
    Message,
    NewSession,
    Record,
    Ref,
    SessionFacts,
    Severity,
    Text,
    TokenCount,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    record_hash,
)

BUILTIN = ("requests", "decisions", "progress", "files", "insights")

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
    "mended_document": ("warning", "damage in the document, mended"),
    "too_deep": ("error", "values nested too deeply, skipped"),
    "repeated_record": ("info", "records repeated word for word, counted once"),
}


class State(Struct, frozen=True):
    """A saved pass. `head` alone is enough to read on; the rest is for the summary."""

    offset: int
    head: bytes
    thread: bytes
    evidence: bytes


class FoldHead(Struct):
    """The head section: everything that grows with nothing."""

    format: str
    offset: int
    reader: bytes
    cursor: Cursor
    lines: Lines
    issues: list[Issue]
    recordings: list[Head]


class Fold:
    """Reads one recording.

    Args:
        where: the name of the recording for error messages, e.g. its path.
        format: name of the format, or None to recognise it by content.
        extra: names of plug-in extractors to run beside the built-in ones.

    Attributes:
        offset: bytes read up to the end of the last whole line.
        sessions: the sessions found: for each, the main recording under "" and its subagents
            by id. Most recordings hold exactly one.
    """

    def __init__(
        self, where: str = "<bytes>", format: str | None = None, extra: Sequence[str] = ()
    ) -> None:
        self.where = where
        self.names = (*BUILTIN, *extra)
        self.offset = 0
        self.lines = Lines()
        self.cursor = Cursor()
        self.issues: dict[tuple[str, str], Issue] = {}
        self.sessions: list[dict[str, Recording]] = []
        self.format: Format | None = None
        self._gate: Gate = gate_for(self.names)
        self._pieces: list[bytes] = []  # undecided, or a document
        self._held = 0
        self._tail = bytearray()  # an unterminated last line
        self._dropping = False  # in the middle of a line that is too long
        self._tried_at = 0
        self._begin()
        if format is not None:
            self._use(formats.get(format))

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
        elif self._held + len(self._tail) > codec.MAX_DOCUMENT:
            raise self._too_large()

    def _skip_long(self) -> None:
        self.cursor.line += 1
        self.lines.total += 1
        self.lines.skipped += 1
        self._issue("line_too_long")

    def _hold(self, piece: bytes) -> None:
        """Keeps a piece of a recording that is a document, or not recognised yet."""
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > codec.MAX_DOCUMENT:
            raise self._too_large()
        if self.format is None and (
            len(self._pieces) == Sample.LINES or self._held > self._tried_at + SNIFF
        ):
            self._tried_at = 1 << 62  # a second look only when all is there
            self._look(complete=False)

    def _look(self, *, complete: bool) -> None:
        """Tries to recognise the format by what is held."""
        sample = Sample(b"".join(self._pieces), complete=complete)
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
        held, self._pieces, self._held = self._pieces, [], 0
        for piece in held:
            self._line(piece)

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
        for found in self.reader.read(record, cursor):
            kind = type(found)
            if kind is Unknown:
                unknown = True
                self._issue("unknown_kind", found.kind)
                continue
            known = True
            if kind is Message:
                self._message(found)
            elif kind is Link:
                self._main.thread.link(found.key, found.parent)
            else:
                self._fact(found)
        if unknown and not known:  # a line of which something was read counts as parsed
            lines.parsed -= 1
            lines.unknown += 1

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
            read = list(self.reader.read(record, self.cursor))
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
            self._main.thread.link(found.key, found.parent)  # type: ignore[union-attr]
        elif kind is Unknown:
            self._issue("unknown_kind", found.kind)  # type: ignore[union-attr]
        else:
            self._fact(found)

    # -- records ---------------------------------------------------------------------------

    def _begin(self) -> None:
        """A new session starts."""
        self._main = Recording("", self.names)
        self.sessions.append({"": self._main})
        self.cursor.taken = {}

    def _child(self, agent: str) -> Recording:
        recordings = self.sessions[-1]
        if agent not in recordings:
            recordings[agent] = Recording(agent, self.names)
        return recordings[agent]

    def _message(self, m: Message) -> None:
        recording = self._child(m.agent) if m.agent else self._main
        if m.key and recording.is_repeat(m.key):
            self.cursor.give_back(m.agent)
            self._issue("repeated_record")
            return
        recording.thread.add(m)
        header = recording.header
        if m.time > header.ended:
            header.ended = m.time
            header.started = header.started or m.time
        if m.model and m.model not in header.models:
            header.models.append(m.model)
        if m.usage is not None:
            self._spent(recording, m, m.usage)
        flags = TYPED if m.typed else 0
        hits = calls = outputs = _NONE
        number = -1
        for part in m.parts:
            number += 1
            kind = type(part)
            if kind is ToolCall:
                flags |= self._called(recording, m, number, part)  # type: ignore[arg-type]
            elif kind is ToolResult:
                call = recording.answer(part.call_id) or _UNCALLED  # type: ignore[union-attr]
                found = self._returned(recording, m, number, part, call)  # type: ignore[arg-type]
                flags |= RESULT | _FLAGS_BACK.get(call.kind, 0)
                if part.status in _BAD:  # type: ignore[union-attr]
                    flags |= FAILED
                calls = {**calls, number: call}
                if found:
                    flags |= OUTPUT
                    outputs = {**outputs, number: found}
            elif kind is Text:
                text = part.text  # type: ignore[union-attr]
                if m.agent:
                    recording.hear(m.origin, text)
                if m.origin == "agent":
                    flags |= TEXT
                    if recording.tail.last is None:
                        recording.tail.texts.append(text)
                    for name, named in self._gate.scan(text, number).items():
                        flags |= HIT
                        hits = {**hits, name: hits.get(name, []) + named}
                elif m.role != "assistant":
                    recording.tail.texts.append(text)
        if len(recording.tail.texts) > Tail.HELD:
            recording.tail.settle()
        if flags:
            wanting = recording.wanting(flags)
            if wanting:
                view = View(m, hits, calls, outputs)
                for extractor in wanting:
                    recording.evidence.extend(extractor.see(view))

    def _called(self, recording: Recording, m: Message, number: int, call: ToolCall) -> int:
        """Records a call; returns what the message has because of it."""
        kind = call.kind
        text = text_argument(call, _ABOUT.get(kind, "path"))[:300]
        recording.evidence.append(Called(m.index, number, call.name, kind, text))
        if call.id:
            recording.pending[call.id] = Pending(m.index, number, call.name, kind, text)
        return CALL | _FLAGS.get(kind, 0)

    def _returned(
        self, recording: Recording, m: Message, number: int, result: ToolResult, call: Pending
    ) -> list[Hit]:
        """Records the outcome of a call; returns what its output shows."""
        text = result.text
        recording.tail.texts.append(text)
        created = result.detail.get("created") if result.detail else None
        output = ""
        found: list[Hit] = []
        if text and call.kind in _RUNNERS:
            found = scan_output(text, number)
            if len(text) <= OUTPUT_KEPT and _tells_of_files(call.text, text):
                output = text
        recording.evidence.append(
            Returned(
                m.index,
                number,
                call.message,
                call.part,
                result.status,
                result.exit_code,
                created if isinstance(created, bool) else None,
                output,
            )
        )
        return found

    def _spent(self, recording: Recording, m: Message, usage: Usage) -> None:
        tail = recording.tail
        known = bool(m.response) and m.response == tail.response
        if (known and usage == tail.last) or not usage.total:
            return  # the usage of a response is repeated on each of its lines
        recording.evidence.append(Spent(m.index, m.response, m.model, usage))
        if not known or tail.last is None:
            recording.tail = Tail(last=usage, response=m.response)
        elif usage.total > tail.last.total:
            tail.last = usage

    def _fact(self, found: Record) -> None:
        main = self._main
        if isinstance(found, SessionFacts):
            main.header.learn(found)
        elif isinstance(found, TokenCount):
            if found.window:
                main.header.window = found.window
            main.evidence.append(Counted(len(main.thread), found.last, found.total))
            if found.last.total:
                main.tail = Tail(last=found.last)
        elif isinstance(found, Compaction):
            ref = _ref(found, len(main.thread))
            occupancy = occupancy_of(main)
            main.evidence.append(Compacted(ref, found.trigger, occupancy, found.recorded))
            # The texts before it are gone from the window, not from the session.
            earlier = main.text_tokens if main.tail.last is None else 0
            main.tail = Tail(earlier=earlier)
        elif isinstance(found, Changes):
            call = main.pending.get(found.call_id) or main.answered.get(found.call_id)
            main.evidence.append(
                Applied(
                    _ref(found, call.message if call else max(0, len(main.thread) - 1)),
                    call.message if call else -1,
                    call.part if call else -1,
                    found.succeeded,
                    found.files,
                )
            )
        elif isinstance(found, NewSession):
            if len(main.thread):
                self._begin()
            self._main.header.id = found.id

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
        told = [s for s in self.sessions if any(len(r.thread) for r in s.values())]
        self.sessions = told or self.sessions[-1:]  # one may have begun and held nothing
        if not told:
            name = self.format.name if self.format else "any format"
            raise FormatError(
                f"{self.where}: read as {name}, but there is no message in it "
                f"({self.lines.total} lines: {self.lines.unknown} of unknown kinds, "
                f"{self.lines.skipped} unreadable)"
            )

    def _document(self) -> None:
        data = b"".join(self._pieces)
        if self.format is None:
            self._look(complete=True)
            if self._strict is not None:
                return
        self._pieces, self._held = [], 0
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

    def fork(self) -> Self:
        """A copy that may be closed without touching this one."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.cursor = codec.thaw(codec.freeze(self.cursor), Cursor)
        twin.lines = codec.thaw(codec.freeze(self.lines), Lines)
        twin.issues = dict(self.issues)
        twin.sessions = [
            *self.sessions[:-1],
            {k: r.fork() for k, r in self.sessions[-1].items()},
        ]
        twin._main = twin.sessions[-1][""]
        twin._pieces, twin._tail = list(self._pieces), bytearray(self._tail)
        if self.format is not None:
            twin.reader = codec.thaw(codec.freeze(self.reader), type(self.reader))
        return twin

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

    # -- saving ----------------------------------------------------------------------------

    def save(self) -> State:
        """The state after the last whole line; what follows it must be fed again.

        Raises:
            StateError: a one-document recording has no state between its beginning and end.
        """
        if self._strict is None or self.format is None:
            return State(0, b"", b"", b"")
        session = self.sessions[-1]
        head = FoldHead(
            self.format.name,
            self.offset,
            codec.freeze(self.reader),
            self.cursor,
            self.lines,
            list(self.issues.values()),
            [r.head() for r in session.values()],
        )
        return State(
            self.offset,
            codec.freeze((head, list(self.issues))),
            codec.freeze([r.thread.pack() for r in session.values()]),
            codec.freeze([r.evidence for r in session.values()]),
        )

    @classmethod
    def load(cls, state: State, where: str = "<bytes>", extra: Sequence[str] = ()) -> Self:
        """The pass that was saved; feed it from `offset` on.

        Raises:
            StateError: the state is damaged.
        """
        fold = cls(where, None, extra)
        if not state.offset:
            return fold
        try:
            head, keys = codec.thaw(state.head, tuple[FoldHead, list[tuple[str, str]]])
            threads = codec.thaw(state.thread, list[Packed])
            evidence = codec.thaw(state.evidence, list[list[Evidence]])
            fold._use(formats.get(head.format))
            fold.reader = codec.thaw(head.reader, type(fold.reader))
        except ValueError as error:
            raise StateError(f"{where}: the saved state is damaged ({error})") from error
        fold.offset, fold.cursor, fold.lines = head.offset, head.cursor, head.lines
        fold.issues = dict(zip(keys, head.issues, strict=True))
        fold.sessions = [
            {
                saved.agent: Recording.revive(saved, thread, found)
                for saved, thread, found in zip(head.recordings, threads, evidence, strict=True)
            }
        ]
        fold._main = fold.sessions[-1][""]
        return fold


OUTPUT_KEPT = 4000
"""Code points of a command's output that are kept as evidence of what it did to files. A longer
one is not kept: the part that is left out could tell the contrary."""

_RUNNERS = frozenset({"shell", "powershell", "script", "python", "poll", "other"})
_ABOUT = dict.fromkeys(_RUNNERS, "command")
_FLAGS = {"plan": PLAN, "read": FILE, "shell": FILE, "powershell": FILE, "script": FILE}
_FLAGS |= dict.fromkeys(("python", *EDITS), FILE)
_FLAGS_BACK = {"plan": PLAN}
_BAD = frozenset({"error", "timeout"})
_UNCALLED = Pending(-1, -1, "", "", "")
_NONE: dict[Any, Any] = {}
_TELLS = re.compile(r"\b(?:git|ls|find|rm|mv|cp|mkdir|ln|patch|unzip|tar)\b")
"""Programs whose output tells of files."""

_COMPLAINTS = (
    "No such file", "annot ", "can't ", "not found", "ermission denied", "patching ",
    "introduced new syntax error",
)


def _tells_of_files(command: str, output: str) -> bool:
    """Whether an output may tell what its command did to files."""
    if _TELLS.search(command) is not None:
        return True
    return any(mark in output for mark in _COMPLAINTS)


_OUTPUT_HEAD, _OUTPUT_TAIL = 800, 3000
"""Code points of a long output that are looked at: results stand at its end."""


def scan_output(text: str, part: int) -> list[Hit]:
    """What a tool result shows, looked at from both ends: the last match of each rule."""
    if len(text) <= _OUTPUT_HEAD + _OUTPUT_TAIL:
        found = OUTPUTS.scan(text, part).get("output", [])
    else:
        found = OUTPUTS.scan(text[:_OUTPUT_HEAD], part).get("output", [])
        shift = len(text) - _OUTPUT_TAIL
        for hit in OUTPUTS.scan(text[shift:], part).get("output", []):
            found.append(hit._replace(start=hit.start + shift, end=hit.end + shift))
    return list({hit.rule.id: hit for hit in found}.values()) if len(found) > 1 else found


def occupancy_of(recording: Recording) -> int | None:
    """Tokens in the window now: the last call and an estimate of what was recorded after it;
    None where no usage was recorded."""
    tail = recording.tail
    return None if tail.last is None else tail.last.total + tail.settle()


def _ref(found: Compaction | Changes, message: int) -> Ref:
    return Ref(0, found.line, found.item, message, None, None, None, record_hash(found.raw))
