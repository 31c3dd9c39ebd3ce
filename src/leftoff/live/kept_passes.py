"""The pass over a growing recording, kept on the disk: what was read is not read again.

    kept = KeptPass(folder)
    kept.read_on("session.jsonl")      # reads what is new; needs only the head
    reading = kept.whole("session.jsonl")   # everything that was found so far

Two files in a folder of their own. `pass.head` is replaced whole after each reading and says
how much of `pass.found` belongs to it; what was found is appended there. What a killed reader
appended without a new head is written over by the next one.

A kept pass is valid for the same leftoff and rules, and for a file that still begins with what
was read: the same device and inode, not shorter, the same first and last bytes before the
offset. Else everything is read again. What is kept was redacted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from leftoff import api, codec
from leftoff._version import __version__
from leftoff.errors import SourceError, StateError
from leftoff.extraction.fold import State
from leftoff.extraction.rulebook import rules_digest
from leftoff.findings import ContextSummary
from leftoff.formats.thread import Packed, Thread
from leftoff.redaction import Redactor
from leftoff.sources import parts_of
from leftoff.stores.writing import make_folders, write_whole
from leftoff.summary import Pass

HEAD, FOUND = "pass.head", "pass.found"

BLOCK = 1 << 20
SAVE_EVERY = 64 << 20
"""Bytes read after which the state is saved, so that a reader that is stopped loses little."""

EDGE = 4096
"""Bytes at both ends of what was read that are compared."""

_PACKED_FORMATS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class _Head(Struct):
    """What `pass.head` holds.

    Attributes:
        edges: digest of the first and last bytes of what was read.
        offset: how much was read.
        head: the head of the pass.
        agents, counts: its recordings and how many messages each has.
        found: how much of `pass.found` belongs to it.
        placeholders: the highest number of a redacted secret.
    """

    leftoff: str
    rules: str
    device: int
    inode: int
    edges: str
    offset: int
    head: bytes
    agents: list[str]
    counts: list[int]
    found: int
    placeholders: int


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
            SourceError: the recording cannot be read, or not read on: it is compressed or one
                document.
            FormatError: it is no recording in a known format.
            OSError: the state cannot be kept; what was kept stays.
        """
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - a path as its user spells it
                return self._read(file, path, stop)
        except OSError as error:
            if error.filename not in (None, path):
                raise
            raise SourceError(f"{path}: {error.strerror}") from error

    def _read(self, file: BinaryIO, path: str, stop: Callable[[], bool]) -> tuple[int, bool]:
        known = self._valid(file)
        reading = Pass(path)
        if known is not None:
            state = State(known.offset, known.head, b"", b"")
            with suppress(StateError):
                reading = Pass.read_on(state, known.counts, path)
        if not reading.offset:
            known = None
        file.seek(reading.offset)
        total, unsaved, complete = 0, 0, True
        while data := file.read(BLOCK):
            if not total and not reading.offset and data.startswith(_PACKED_FORMATS):
                raise SourceError(f"{path}: is compressed and cannot be read on")
            reading.feed(data)
            total += len(data)
            unsaved += len(data)
            if unsaved >= SAVE_EVERY:
                known, reading = self._saved(file, reading, known, path)
                unsaved = 0
            if stop():
                complete = False
                break
        if reading.format is not None and reading.format.shape == "document":
            raise SourceError(f"{path}: is one document and cannot be read on")
        if unsaved:
            self._saved(file, reading, known, path)
        return total, complete

    def whole(self, path: str) -> Pass | None:
        """Everything that was found up to the last `read_on`, None if nothing is kept. It may
        be fed on, closed and summarised."""
        with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
            known = self._valid(file)
            if known is None:
                return None
            threads = [Thread() for _ in known.agents]
            evidence: list[list[Any]] = [[] for _ in known.agents]
            numbers = {agent: n for n, agent in enumerate(known.agents)}
            for agents, packed, found in self._frames(known.found):
                for agent, rows, news in zip(agents, packed, found, strict=True):
                    threads[numbers[agent]].extend(rows)
                    evidence[numbers[agent]] += news
            state = State(
                known.offset,
                known.head,
                codec.freeze([t.pack() for t in threads]),
                codec.freeze(evidence),
            )
            del evidence
            with suppress(StateError):
                return Pass.load(state, path)
        return None

    def summary(self, path: str) -> ContextSummary:
        """The summary of a recording as `summarize` gives it; what was kept is not read again.

        Raises:
            SourceError: it cannot be read.
            FormatError: it holds no message in a known format.
        """
        main, _ = parts_of(path)
        kept = self.whole(main)
        if kept is not None:
            with open(main, "rb") as file:  # noqa: PTH123
                file.seek(kept.offset)
                while data := file.read(BLOCK):
                    kept.feed(data)
            kept.close()

        def opened(path: str, **options: Any) -> Pass:
            return kept if kept is not None and path == main else api.open_pass(path, **options)

        found = api.Gathered(opened)
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
        self, file: BinaryIO, reading: Pass, known: _Head | None, path: str
    ) -> tuple[_Head | None, Pass]:
        """Keeps what was found since the last time; the pass to go on with."""
        state = reading.save()
        if not state.offset:
            return known, reading
        recordings = list(reading.sessions[-1].values())
        if len(reading.sessions) > 1:
            known = None  # another session begins: what was kept is not of it
        gate = Redactor()
        gate._last = known.placeholders if known else 0  # numbers go on where they ended
        evidence = gate.value(codec.thaw(state.evidence, Any))
        frame = codec.freeze(
            ([r.agent for r in recordings], codec.thaw(state.thread, Any), evidence)
        )
        start = known.found if known else 0
        end = self._append(start, len(frame).to_bytes(8, "big") + frame)
        told = os.fstat(file.fileno())
        head = _Head(
            leftoff=__version__,
            rules=rules_digest(),
            device=told.st_dev,
            inode=told.st_ino,
            edges=_edges(file, state.offset),
            offset=state.offset,
            head=_redacted_head(state.head, gate),
            agents=[r.agent for r in recordings],
            counts=[len(r.thread) for r in recordings],
            found=end,
            placeholders=gate._last,
        )
        write_whole(self.folder / HEAD, codec.freeze(head))
        file.seek(state.offset)
        on = Pass.read_on(State(state.offset, head.head, b"", b""), head.counts, path)
        return head, on

    def _append(self, start: int, data: bytes) -> int:
        """Puts data at `start`, over what stands there; says where it ends."""
        make_folders(self.folder)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.folder / FOUND, flags, 0o600)
        with os.fdopen(descriptor, "r+b") as found:
            found.truncate(start)
            found.seek(start)
            found.write(data)
            found.flush()
            os.fsync(found.fileno())
        return start + len(data)

    def _frames(self, end: int) -> Iterator[tuple[list[str], list[Packed], list[list[Any]]]]:
        with (self.folder / FOUND).open("rb") as found:
            while found.tell() < end:
                size = int.from_bytes(found.read(8), "big")
                agents, packed, evidence = codec.thaw(
                    found.read(size), tuple[list[str], list[Packed], list[list[Any]]]
                )
                yield agents, packed, evidence

    # -- trusting --------------------------------------------------------------------------

    def _valid(self, file: BinaryIO) -> _Head | None:
        """The head that was kept, if the recording still begins with what it is of."""
        try:
            head: _Head = codec.thaw((self.folder / HEAD).read_bytes(), _Head)
        except (OSError, ValueError):
            return None
        told = os.fstat(file.fileno())
        same = (
            head.leftoff == __version__
            and head.rules == rules_digest()
            and (head.device, head.inode) == (told.st_dev, told.st_ino)
            and told.st_size >= head.offset
            and head.edges == _edges(file, head.offset)
            and self.size >= head.found
        )
        return head if same else None


def _edges(file: BinaryIO, offset: int) -> str:
    """A digest of the first and the last bytes before an offset."""
    file.seek(0)
    first = file.read(min(EDGE, offset))
    file.seek(max(0, offset - EDGE))
    last = file.read(min(EDGE, offset))
    return hashlib.blake2b(first + last, digest_size=16).hexdigest()


def _redacted_head(frozen: bytes, gate: Redactor) -> bytes:
    """The head of a pass with its texts redacted; parts of it are frozen in themselves."""
    head, issues = codec.thaw(frozen, Any)
    inner: list[tuple[dict[str, Any], str]] = [(head, "reader")]
    for recording in head["recordings"]:
        inner += [(recording["extractors"], name) for name in recording["extractors"]]
    for place, name in inner:
        place[name] = codec.freeze(gate.value(codec.thaw(place[name], Any)))
    return codec.freeze((gate.value(head), issues))
