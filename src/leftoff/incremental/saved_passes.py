"""The saved pass over a growing recording: what was read once is not read again.

    saved = SavedPass(folder)
    saved.read_on("session.jsonl")          # reads what was added; loads only the head
    reading = saved.whole("session.jsonl")  # loads everything found so far

Two files in one folder: `pass.found`, to which each read appends what it found, and
`pass.head`, which is then replaced atomically and records the valid length of `pass.found`.
What a killed reader appended without replacing the head is overwritten by the next one.

A saved pass is valid for the same leftoff and rules, and for a file that still begins with what
was read (see `cursor`). Otherwise everything is read again. A file that is rewritten during a
read is detected and read again.

The saved data is redacted. If anything was redacted, the summary that `summarize` gives cannot
be made from it, because that counts secrets and locates text by its length: then the recording
is read whole. With `exact=False` the redacted data is used instead.

Concurrent readers of one folder need a lock; `follow.Follower` and the hooks' worker have one.
"""

from __future__ import annotations

import gc
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
from leftoff.extraction.collector import Collector, State
from leftoff.extraction.evidence import Evidence
from leftoff.extraction.evidence_log import EvidenceLog, interned
from leftoff.extraction.rule_sets import rules_digest
from leftoff.formats.thread import Packed, Thread
from leftoff.incremental.cursor import Cursor, FileReplaced, NotResumable, Tail, retried
from leftoff.redaction.redactor import Redactor
from leftoff.sources.open import open_regular
from leftoff.sources.session_choice import has_work
from leftoff.stores.atomic import Directory, make_directories, open_private, write_atomic

if TYPE_CHECKING:  # a resumed read takes 0.1 s; importing these would take half of it
    from leftoff.analysis.session_pass import Pass
    from leftoff.summary import ContextSummary

HEAD, FOUND = "pass.head", "pass.found"

# Pieces of a thread that are held as objects for a summary. Those of 500 MB of sessions,
# 235,000, are judged in a third less time than where they are packed. The process takes 206
# MB instead of 118: as much as to load them takes anyway where one read found all of them. Up
# to 40 MB of session `EvidenceLog` packs none, and nothing grows: 18 MB take 51 MB either way.
HELD = 300_000


class _Head(Struct):
    """What `pass.head` holds.

    Attributes:
        mark: position in the file.
        head: the head of the pass, as MessagePack.
        agents, counts: its recordings and how many messages each has.
        found: how much of `pass.found` belongs to it.
        sums: digest of that.
        earlier: number of sessions before it in the recording.
        placeholders: the highest number of a redacted secret.
        redacted: whether anything in it was redacted."""

    leftoff: str
    rules: str
    mark: Cursor
    head: bytes
    agents: list[str]
    counts: list[int]
    found: int
    sums: bytes
    earlier: int
    placeholders: int
    redacted: bool


class SavedPass:
    """The pass over one recording, in a folder of its own, which the first save creates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read_on(self, path: str, *, stop: Callable[[], bool] = lambda: False) -> int:
        """Reads what was added to a recording, saves what was found, and returns the number of
        bytes read.

        Args:
            stop: called after each MiB; True ends the read early, and what was read is saved.

        Raises:
            SourceError: the recording cannot be read; `NotResumable`: it has to be read whole;
                `FileReplaced`: it was replaced during each attempt.
            FormatError: it is no recording in a known format.
            OSError: the state cannot be saved; the old state stays."""

        def read() -> int:
            with open_regular(path, any_encoding=True) as file:
                return self.read_file(file, path, stop=stop)

        return retried(read)

    def read_file(
        self, file: BinaryIO, path: str, *, stop: Callable[[], bool] = lambda: False
    ) -> int:
        """Reads what was added to an open file, as `read_on` does; `FileReplaced` where the
        file was replaced or rewritten meanwhile; the old state stays."""
        reading, known = Collector(path), self._valid_head(file)
        if known is not None:
            try:
                reading = Collector.resume(known.head, known.counts, path)
            except StateError:
                known = None
        tail = Tail(file, path, known.mark if known else None)
        total = 0
        for data in tail:
            reading.feed(data)
            total += len(data)
            if stop():
                break
        if _is_document(reading):
            raise NotResumable(f"{path}: is one document and cannot be read on")
        if total:
            self._save(tail, reading, known)
        return total

    def whole(self, path: str) -> Pass | None:
        """The pass up to the last `read_on`, None if nothing valid is saved. It can be fed
        further, closed and summarized."""
        with suppress(SourceError), open_regular(path, any_encoding=True) as file:
            return self._whole(file, path)
        return None

    def _whole(self, file: BinaryIO, path: str, *, exact: bool = False) -> Pass | None:
        known = self._valid_head(file)
        if known is None or (exact and known.redacted):
            return None
        threads = [Thread() for _ in known.agents]
        evidence = [EvidenceLog(most=HELD) for _ in known.agents]
        numbers = {agent: n for n, agent in enumerate(known.agents)}
        try:
            for agents, packed, found in self._frames(known):
                for agent, rows, news in zip(agents, packed, found, strict=True):
                    threads[numbers[agent]].extend(rows)
                    evidence[numbers[agent]].extend(interned(news))
            from leftoff.analysis.session_pass import Pass

            packed = [thread.pack() for thread in threads]
            reading = Pass.restore(known.head, packed, evidence, path)
        except (OSError, ValueError, KeyError, StateError):
            return None  # damaged: the caller reads the recording again
        reading.earlier = known.earlier
        return reading

    def complete(self, path: str, *, exact: bool = True) -> Pass:
        """The pass read to its end and closed; what was saved is not read again. `SourceError`
        where it cannot be read; `FormatError` where it holds no message in a known format."""

        def read() -> Pass | None:
            with open_regular(path, any_encoding=True) as file:
                reading = self._whole(file, path, exact=exact)
                if reading is not None:
                    tail = Tail(file, path, Cursor.at(file, reading.offset))
                    for data in tail:
                        reading.feed(data)
                    tail.cursor()  # raises where it was replaced meanwhile
                return reading

        with suppress(FileReplaced):
            if (reading := retried(read)) is not None:
                reading.close()
                return reading
        from leftoff import api

        return api.open_pass(path)

    def summary(self, path: str, *, exact: bool = True) -> ContextSummary:
        """The summary of a recording as `summarize` gives it; what was saved is not read again.

        Args:
            exact: False analyses redacted text, with placeholders in place of secrets.

        Raises:
            SourceError: it cannot be read.
            FormatError: it holds no message in a known format."""
        from leftoff.session_reading import session_with

        read = session_with(path, lambda main: self.complete(main, exact=exact))
        with no_garbage_collection():
            return read.summary("")

    # -- saving ----------------------------------------------------------------------------

    def _save(self, tail: Tail, reading: Collector, known: _Head | None) -> None:
        """Saves what was found since the last save, if it can be saved yet. `FileReplaced`
        where not all of it was read from one recording."""
        state = reading.save()
        recordings = list(reading.sessions[-1].values())
        if not state.offset or not any(len(r.thread) for r in recordings):
            return  # until a new session has a message, the one before is reported
        if len(reading.sessions) > 1 and not has_work(reading.sessions[-1]):
            return  # until the agent does something in it, too
        gate = Redactor()
        gate.last_number = known.placeholders if known else 0  # its numbering goes on
        redacted = redacted_state(state, gate)
        if redacted is None:
            return
        redacted_head, evidence = redacted
        mark = tail.cursor(state.offset)
        earlier = max(reading.earlier, known.earlier if known else 0)
        if len(reading.sessions) > 1:
            known = None  # another session begins: the saved data is not part of it
            earlier += sum(
                any(len(r.thread) for r in s.values()) for s in reading.sessions[:-1]
            )
        agents = [recording.agent for recording in recordings]
        frame = codec.pack_state((agents, codec.unpack_state(state.thread, Any), evidence))
        start = known.found if known else 0
        with _name_folder_in_errors(self.folder):
            if known is None:  # the old head must not describe the new data
                (self.folder / HEAD).unlink(missing_ok=True)
            end = self._append(start, len(frame).to_bytes(8, "big") + frame)
        head = _Head(
            leftoff=__version__,
            rules=rules_digest(),
            mark=mark,
            head=redacted_head,
            agents=agents,
            counts=[len(r.thread) for r in recordings],
            found=end,
            sums=_sum(known.sums if known else b"", frame),
            earlier=earlier,
            placeholders=gate.last_number,
            redacted=bool(gate.total) or (known is not None and known.redacted),
        )
        with _name_folder_in_errors(self.folder):
            data = codec.pack_state(head)
            write_atomic(self.folder / HEAD, _sum(b"", data) + data)

    def _append(self, start: int, data: bytes) -> int:
        """Writes data at `start`, truncating what follows; returns its end offset."""
        make_directories(self.folder)
        with os.fdopen(open_private(self.folder / FOUND), "r+b") as found:
            found.truncate(start)
            found.seek(start)
            found.write(data)
            found.flush()
            # Before the head that counts these bytes, also after a power cut.
            os.fsync(found.fileno())
        return start + len(data)

    def _frames(
        self, known: _Head
    ) -> Iterator[tuple[list[str], list[Packed], list[list[Evidence]]]]:
        """The frames of `pass.found`; `ValueError` where they are damaged; raised after the
        last frame at the latest."""
        sums = b""
        with (self.folder / FOUND).open("rb") as found:
            while found.tell() < known.found:
                size = int.from_bytes(found.read(8), "big")
                # A damaged length could ask for more memory than there is.
                if size > known.found:
                    raise ValueError("damaged")
                frame = found.read(size)
                sums = _sum(sums, frame)
                agents, packed, evidence = codec.unpack_state(
                    frame, tuple[list[str], list[Packed], list[list[Evidence]]]
                )
                yield agents, packed, evidence
        if sums != known.sums:
            raise ValueError("damaged")

    # -- validity --------------------------------------------------------------------------

    def _valid_head(self, file: BinaryIO) -> _Head | None:
        """The saved head, if the recording still begins with what was read."""
        try:
            with Directory.open(self.folder) as folder:  # not through a symbolic link
                data = folder.read(HEAD, codec.MAX_DOCUMENT)
            if data[:_SUM] != _sum(b"", data[_SUM:]):
                return None
            head: _Head = codec.unpack_state(data[_SUM:], _Head)
            size = (self.folder / FOUND).stat().st_size
        except (OSError, ValueError):
            return None
        same = (
            head.leftoff == __version__
            and head.rules == rules_digest()
            and head.mark.is_in(file)
            and size >= head.found
        )
        return head if same else None


def _is_document(reading: Collector) -> bool:
    if reading.format is None:  # a short recording is recognized only at its end
        reading = reading.fork()
        with suppress(FormatError):
            reading.close()
    return reading.format is not None and reading.format.shape == "document"


_SUM = 16


def _sum(before: bytes, data: bytes) -> bytes:
    """The digest of `data` chained to the digest of what precedes it."""
    return hashlib.blake2b(before + data, digest_size=_SUM).digest()


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Switches garbage collection off meanwhile, for the whole process: a summary makes hardly
    any garbage, and each look for it goes over all evidence that is held, together a fifteenth
    of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _name_folder_in_errors(folder: Path) -> Iterator[None]:
    """Names the folder in errors of writing, so that they are not taken for the recording's."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(folder)
        raise


def redacted_state(state: State, gate: Redactor) -> tuple[bytes, object] | None:
    """The head of a pass and its evidence, unpacked, both redacted.

    None if the reader holds raw lines with a secret, in which nothing can be replaced: they
    belong to an unfinished message and are read again."""
    # Parts of a head are MessagePack inside MessagePack.
    head, issues = codec.unpack_state(state.head, Any)
    parts = [codec.unpack_state(place[name], Any) for place, name in _parts(head)]
    raw = (held for held in codec.leaves(parts) if isinstance(held, bytes))
    lines = b"\n".join(raw).decode(errors="replace")
    if lines and gate.text(lines) != lines:
        return None
    head, parts = gate.value((head, parts))
    for (place, name), part in zip(_parts(head), parts, strict=True):
        place[name] = codec.pack_state(part)
    evidence = gate.value(codec.unpack_state(state.evidence, Any))
    return codec.pack_state((head, issues)), evidence


def _parts(head: codec.JsonObject) -> list[tuple[codec.JsonObject, str]]:
    found = [(head, "reader")]
    for recording in head["recordings"]:
        found += [(recording["extractors"], name) for name in recording["extractors"]]
    return found
