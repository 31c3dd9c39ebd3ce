"""The pass over a growing recording, kept on the disk: what was read is not read again.

    kept = KeptPass(folder)
    kept.read_on("session.jsonl")      # reads what is new; needs only the head
    reading = kept.whole("session.jsonl")   # everything that was found so far

Two files in a folder of their own. `pass.head` is replaced whole after each reading and says
how much of `pass.found` belongs to it; what was found is appended there. What a killed reader
appended without a new head is written over by the next one.

A kept pass is valid for the same leftoff and rules, and for a file that still begins with what
was read: the same device and inode, not shorter, the same first and last bytes before the
offset. Else everything is read again. A file that is written anew in the middle of a reading
is noticed and read again.

What is kept was redacted. Where something was, the original words are missing: they are needed
for the summary that `summarize` gives (which counts secrets, and places words by their length),
so that reads the recording whole. With `exact=False` what was kept is told instead.

Two that read on at the same time need a lock, which `following.Follower` and the hooks' worker
have.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct

from leftoff import codec
from leftoff._version import __version__
from leftoff.errors import FormatError, SourceError, StateError
from leftoff.extraction.collector import Fold, State
from leftoff.extraction.rule_sets import rules_digest
from leftoff.formats.thread import Packed, Thread
from leftoff.incremental.cursor import Mark
from leftoff.redaction.redactor import Redactor
from leftoff.sources.open import opened, parts_of
from leftoff.stores.atomic import Folder, make_folders, own, write_whole

if TYPE_CHECKING:  # reading on takes a tenth of a second, and half of it would be these
    from leftoff.analysis.session_pass import Pass
    from leftoff.summary import ContextSummary

HEAD, FOUND = "pass.head", "pass.found"

BLOCK = 1 << 20
SAVE_EVERY = 64 << 20
"""Bytes read after which the state is saved, so that a reader that is stopped loses little."""

ANEW = 3
"""How often a recording that is written anew while it is read is tried again."""

_PACKED_FORMATS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class NotReadOn(SourceError):
    """A recording that has to be read whole each time: compressed, or one document."""


class WrittenAnew(SourceError):
    """A recording that was written anew while it was read."""


class _Head(Struct):
    """What `pass.head` holds.

    Attributes:
        mark: how much of which file was read.
        head: the head of the pass.
        agents, counts: its recordings and how many messages each has.
        found: how much of `pass.found` belongs to it.
        sums: digest of that.
        earlier: sessions that stand before it in the recording.
        placeholders: the highest number of a redacted secret.
        redacted: something that is kept was redacted.
    """

    leftoff: str
    rules: str
    mark: Mark
    head: bytes
    agents: list[str]
    counts: list[int]
    found: int
    sums: bytes
    earlier: int
    placeholders: int
    redacted: bool


class KeptPass:
    """The pass over one recording, in a folder of its own.

    Args:
        folder: made when something is saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read_on(
        self, path: str, *, stop: Callable[[], bool] = lambda: False
    ) -> tuple[int, bool]:
        """Reads what is new in a recording and keeps what was found.

        Args:
            stop: asked after each MiB; True ends the reading early, and what was read is kept.

        Returns:
            how many bytes were read, and whether nothing is left.

        Raises:
            SourceError: the recording cannot be read; `NotReadOn`: not read on; `WrittenAnew`:
                it changes too often.
            FormatError: it is no recording in a known format.
            OSError: the state cannot be kept; what was kept stays.
        """
        for last in (*[False] * ANEW, True):
            try:
                with opened(path) as file:
                    return self.read_file(file, path, stop=stop)
            except WrittenAnew:
                if last:
                    raise
        raise AssertionError

    def read_file(
        self, file: BinaryIO, path: str, *, stop: Callable[[], bool] = lambda: False
    ) -> tuple[int, bool]:
        """Reads what is new in an open file, as `read_on` does.

        Raises:
            WrittenAnew: it was not the same file from beginning to end; what was kept stays.
        """
        known = self._valid(file)
        reading = Fold(path)
        if known is not None:
            with suppress(StateError):
                reading = _read_on(known, path)
        if known is None or not reading.offset:
            known, witness = None, Mark.of(file, 0)
        else:
            witness = known.mark
        file.seek(reading.offset)
        total, unsaved, complete = 0, 0, True
        while data := file.read(BLOCK):
            if not witness.offset:
                if data.startswith(_PACKED_FORMATS):
                    raise NotReadOn(f"{path}: is compressed and cannot be read on")
                witness = Mark.after(file, data)
            reading.feed(data)
            total += len(data)
            unsaved += len(data)
            if unsaved >= SAVE_EVERY:
                saved = self._saved(file, reading, known, witness, path)
                if saved is not None:
                    known, witness = saved, saved.mark
                    reading = _read_on(known, path)
                    file.seek(reading.offset)
                unsaved = 0
            if stop():
                complete = False
                break
        if _is_document(reading):
            raise NotReadOn(f"{path}: is one document and cannot be read on")
        if unsaved:
            self._saved(file, reading, known, witness, path)
        return total, complete

    def whole(self, path: str) -> Pass | None:
        """Everything that was found up to the last `read_on`, None if nothing is kept. It may
        be fed on, closed and summarised."""
        with suppress(SourceError), opened(path) as file:
            return self._whole(file, path)
        return None

    def _whole(self, file: BinaryIO, path: str, *, exact: bool = False) -> Pass | None:
        known = self._valid(file)
        if known is None or (exact and known.redacted):
            return None
        threads = [Thread() for _ in known.agents]
        evidence: list[list[Any]] = [[] for _ in known.agents]
        numbers = {agent: n for n, agent in enumerate(known.agents)}
        try:
            for agents, packed, found in self._frames(known):
                for agent, rows, news in zip(agents, packed, found, strict=True):
                    threads[numbers[agent]].extend(rows)
                    evidence[numbers[agent]] += news
            state = State(
                known.mark.offset,
                known.head,
                codec.freeze([t.pack() for t in threads]),
                codec.freeze(evidence),
            )
            del evidence
            from leftoff.analysis.session_pass import Pass

            reading = Pass.load(state, path)
        except (OSError, ValueError, KeyError, StateError):
            return None  # damaged: it costs the time to read it again
        reading.earlier = known.earlier
        return reading

    def complete(self, path: str, *, exact: bool = True) -> Pass:
        """The recording read to its end and closed; what was kept is not read again.

        Raises:
            SourceError: it cannot be read.
            FormatError: it holds no message in a known format.
        """
        for _ in range(ANEW):
            with opened(path) as file:
                reading = self._whole(file, path, exact=exact)
                if reading is None:
                    break
                before = Mark.of(file, reading.offset)
                while data := file.read(BLOCK):
                    reading.feed(data)
                if not before.holds(file):
                    continue
            reading.close()
            return reading
        from leftoff import api

        return api.open_pass(path)

    def summary(self, path: str, *, exact: bool = True) -> ContextSummary:
        """The summary of a recording as `summarize` gives it; what was kept is not read again.

        Args:
            exact: False for placeholders in place of secrets before anything is judged.

        Raises:
            SourceError: it cannot be read.
            FormatError: it holds no message in a known format.
        """
        from leftoff import api

        main, _ = parts_of(path)

        def read(path: str, **options: Any) -> Pass:
            if path != main:
                return api.open_pass(path, **options)
            return self.complete(path, exact=exact)

        found = api.Gathered(read)
        found.add(path, None, (), -1)
        return found.summary("")

    @property
    def size(self) -> int:
        """Bytes of what was found, which a summary has to load."""
        with suppress(OSError):
            return (self.folder / FOUND).stat().st_size
        return 0

    # -- keeping ---------------------------------------------------------------------------

    def _saved(
        self, file: BinaryIO, reading: Fold, known: _Head | None, witness: Mark, path: str
    ) -> _Head | None:
        """Keeps what was found since the last time; None if it can only be kept with more.

        Args:
            witness: of bytes that were read before. While it holds, the file was not written
                anew, so all of it was read from one recording.
        """
        state = reading.save()
        recordings = list(reading.sessions[-1].values())
        if not state.offset or not any(len(r.thread) for r in recordings):
            return None  # of a session that has just begun the one before is told
        gate = Redactor()
        gate._last = known.placeholders if known else 0  # numbers go on where they ended
        redacted = _redacted_head(state.head, gate)
        if redacted is None:
            return None
        mark = Mark.of(file, state.offset)
        if not witness.holds(file):
            raise WrittenAnew(f"{path}: was written anew while it was read")
        earlier = known.earlier if known else 0
        if len(reading.sessions) > 1:
            known = None  # another session begins: what was kept is not of it
            earlier += sum(
                any(len(r.thread) for r in s.values()) for s in reading.sessions[:-1]
            )
        evidence = gate.value(codec.thaw(state.evidence, Any))
        frame = codec.freeze(
            ([r.agent for r in recordings], codec.thaw(state.thread, Any), evidence)
        )
        start = known.found if known else 0
        with _keeping(self.folder):
            if known is None:  # the old head must not speak for what is written now
                (self.folder / HEAD).unlink(missing_ok=True)
            end = self._append(start, len(frame).to_bytes(8, "big") + frame)
        head = _Head(
            leftoff=__version__,
            rules=rules_digest(),
            mark=mark,
            head=redacted,
            agents=[r.agent for r in recordings],
            counts=[len(r.thread) for r in recordings],
            found=end,
            sums=_sum(known.sums if known else b"", frame),
            earlier=earlier,
            placeholders=gate._last,
            redacted=bool(gate.total) or (known is not None and known.redacted),
        )
        with _keeping(self.folder):
            data = codec.freeze(head)
            write_whole(self.folder / HEAD, _sum(b"", data) + data)
        return head

    def _append(self, start: int, data: bytes) -> int:
        """Puts data at `start`, over what stands there; says where it ends."""
        make_folders(self.folder)
        with os.fdopen(own(self.folder / FOUND), "r+b") as found:
            found.truncate(start)
            found.seek(start)
            found.write(data)
            found.flush()
            os.fsync(found.fileno())
        return start + len(data)

    def _frames(
        self, known: _Head
    ) -> Iterator[tuple[list[str], list[Packed], list[list[Any]]]]:
        """What was found, piece by piece.

        Raises:
            ValueError: it is not what was kept; known when the last piece was given.
        """
        sums = b""
        with (self.folder / FOUND).open("rb") as found:
            while found.tell() < known.found:
                size = int.from_bytes(found.read(8), "big")
                if size > known.found:
                    raise ValueError("damaged")
                frame = found.read(size)
                sums = _sum(sums, frame)
                agents, packed, evidence = codec.thaw(
                    frame, tuple[list[str], list[Packed], list[list[Any]]]
                )
                yield agents, packed, evidence
        if sums != known.sums:
            raise ValueError("damaged")

    # -- trusting --------------------------------------------------------------------------

    def _valid(self, file: BinaryIO) -> _Head | None:
        """The head that was kept, if the recording still begins with what it is of."""
        try:
            with Folder.opened(self.folder) as folder:  # not what somebody else put there
                data = folder.read(HEAD, codec.MAX_DOCUMENT)
            if data[:_SUM] != _sum(b"", data[_SUM:]):
                return None
            head: _Head = codec.thaw(data[_SUM:], _Head)
        except (OSError, ValueError):
            return None
        same = (
            head.leftoff == __version__
            and head.rules == rules_digest()
            and head.mark.holds(file)
            and self.size >= head.found
        )
        return head if same else None


def _is_document(reading: Fold) -> bool:
    if reading.format is None:  # of a short one it is known when it has ended
        reading = reading.fork()
        with suppress(FormatError):
            reading.close()
    return reading.format is not None and reading.format.shape == "document"


_SUM = 16


def _sum(before: bytes, data: bytes) -> bytes:
    """A digest of data and of what stands before it, by its digest."""
    return hashlib.blake2b(before + data, digest_size=_SUM).digest()


@contextmanager
def _keeping(folder: Path) -> Iterator[None]:
    """Says of an error in writing what was written: not the recording."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(folder)
        raise


def _read_on(known: _Head, path: str) -> Fold:
    """The pass as it was kept, to be fed on.

    Raises:
        StateError: what was kept is damaged.
    """
    return Fold.read_on(State(known.mark.offset, known.head, b"", b""), known.counts, path)


def _redacted_head(frozen: bytes, gate: Redactor) -> bytes | None:
    """The head of a pass with its texts redacted; parts of it are frozen in themselves.

    None if the reader holds lines with a secret: of lines nothing can be replaced. They belong
    to a message that goes on, and are read again.
    """
    head, issues = codec.thaw(frozen, Any)
    parts = [codec.thaw(place[name], Any) for place, name in _parts(head)]
    lines = b"\n".join(_bytes_in(parts)).decode(errors="replace")
    if lines and gate.text(lines) != lines:
        return None
    head, parts = gate.value((head, parts))
    for (place, name), part in zip(_parts(head), parts, strict=True):
        place[name] = codec.freeze(part)
    return codec.freeze((head, issues))


def _parts(head: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Where in a head something stands that is frozen in itself."""
    found = [(head, "reader")]
    for recording in head["recordings"]:
        found += [(recording["extractors"], name) for name in recording["extractors"]]
    return found


def _bytes_in(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _bytes_in(item)
