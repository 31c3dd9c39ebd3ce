"""Options, jobs and results of a batch: plain values that processes and machines exchange as
MessagePack.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff._version import __version__
from leftoff.budget.prices import PriceRow
from leftoff.budget.thresholds import Preset
from leftoff.budget.windows import ModelRow
from leftoff.errors import UnknownName
from leftoff.extraction.collector import BUILTIN
from leftoff.extraction.rule_sets import rules_digest
from leftoff.handover.entries import SessionEntries
from leftoff.incremental.cursor import Cursor
from leftoff.incremental.saved_positions import SavedPosition
from leftoff.redaction.redactor import rules_digest as redaction_digest

What: TypeAlias = Literal["summarize", "files", "budget", "memory"]

ROWS_VERSION = 3
"""Incremented whenever the rows that a worker makes change their meaning."""

_READERS: dict[str, tuple[str, ...]] = {
    "summarize": BUILTIN,
    "files": ("files", "edits"),
    "budget": (),
    "memory": (*BUILTIN, "written_lines", "seen"),
}


class ReaderOptions(Struct, frozen=True):
    """A second reader of each session (`second_reading`).

    Attributes:
        name: a registered name, or a command line.
        home: leftoff's folder, in which answers are stored.
        refresh: ask again although an answer is stored.
        limit: seconds for all questions about the sessions of a job.
    """

    name: str
    home: str
    refresh: bool = False
    limit: float = 0.0


class BatchOptions(Struct, frozen=True):
    """What a batch makes of each session.

    Attributes:
        what: the document: the whole summary, its files alone, the account of tokens, or the
            entries of a project's memory (`handover.entries`).
        only: built-in extractors to run, in place of those that `what` needs.
        extractors, redactors: plug-ins to run too, by name.
        format: read everything as this format; recognised by content if "".
        personal: also hide personal data.
        preset, windows: thresholds and window sizes of the account of tokens.
        prices: rows that come before the built-in table of prices.
        reader: a second reader.
    """

    what: What = "summarize"
    only: tuple[str, ...] = ()
    extractors: tuple[str, ...] = ()
    redactors: tuple[str, ...] = ()
    format: str = ""
    personal: bool = False
    preset: Preset | None = None
    windows: tuple[ModelRow, ...] = ()
    prices: tuple[PriceRow, ...] = ()
    reader: ReaderOptions | None = None

    @property
    def builtin(self) -> tuple[str, ...]:
        """The built-in extractors that run."""
        return self.only or _READERS[self.what]

    def check(self) -> None:
        """Checks all names before anything is read.

        Raises:
            UnknownName: no such document, extractor, redactor or format.
        """
        from leftoff.extraction.extractor import extractors
        from leftoff.formats.reader import formats
        from leftoff.redaction.redactor import redactors

        if self.what not in get_args(What):
            raise UnknownName("document", self.what, get_args(What))
        for name in self.only:
            if name not in BUILTIN:
                raise UnknownName("built-in extractor", name, BUILTIN)
        for name in self.extractors:
            extractors.get(name)
        for name in self.redactors:
            redactors.get(name)
        if self.format:
            formats.get(self.format)

    def digest(self) -> str:
        """16 hex digits that change whenever the same bytes could give another result."""
        asked = self.reader and ReaderOptions(self.reader.name, "")
        given = replace(self, reader=asked)
        parts = (ROWS_VERSION, __version__, rules_digest(), redaction_digest(), given)
        return hashlib.blake2b(codec.pack_state(parts), digest_size=8).hexdigest()


class InputFile(Struct, frozen=True):
    """A file with what the file system reports about it.

    Attributes:
        path: a path, or a URL that fsspec knows.
        size: bytes; -1 if unknown.
        modified: nanoseconds since 1970; 0 if unknown, and then the file is read every time.
        place: device and inode, or the ETag in an object store.
        named: the caller named this file, not a folder or pattern.
    """

    path: str
    size: int = -1
    modified: int = 0
    place: str = ""
    named: bool = False


class FileHeader(Struct, frozen=True):
    """Which session a file belongs to, from its first records.

    Attributes:
        keys: hashes of values that only files of one line of work share: the session's id, the
            id that it was forked from, ids of its first records.
        start: the cursor behind them; None where the file cannot be read on.
    """

    keys: tuple[int, ...] = ()
    start: Cursor | None = None


class Job(Struct, frozen=True):
    """Files that are one session, or one file that holds several.

    Attributes:
        files: in order of path.
        beside: files of subagents, which are read together with the main file.
        states: saved positions of files that have grown, by path.
    """

    number: int
    files: tuple[InputFile, ...]
    beside: tuple[InputFile, ...] = ()
    states: dict[str, SavedPosition] = {}

    @property
    def size(self) -> int:
        """Bytes to read, roughly; at least 1."""
        known = sum(max(0, f.size) for f in (*self.files, *self.beside))
        return max(1, known - sum(saved.cursor.offset for saved in self.states.values()))


class Counts(Struct):
    """Counts over rows, summed over jobs.

    Attributes:
        formats: sessions by format.
        failures: failed files by kind of failure.
        lines: total, parsed, unknown, repaired, skipped.
        unanswered: sessions for which a second reader gave no answer, by reason.
    """

    formats: dict[str, int] = {}
    failures: dict[str, int] = {}
    lines: tuple[int, ...] = (0, 0, 0, 0, 0)
    unanswered: dict[str, int] = {}

    def add(self, other: Counts) -> None:
        for name, count in other.formats.items():
            self.formats[name] = self.formats.get(name, 0) + count
        for name, count in other.failures.items():
            self.failures[name] = self.failures.get(name, 0) + count
        for reason, count in other.unanswered.items():
            self.unanswered[reason] = self.unanswered.get(reason, 0) + count
        self.lines = tuple(a + b for a, b in zip(self.lines, other.lines, strict=True))


class JobResult(Struct, frozen=True):
    """The result of a job.

    Attributes:
        tables: for each of `rows.TABLES` its rows as JSON lines, redacted.
        states: saved states of its files, by path.
        read: bytes that had to be read.
        seconds: how long it took, in processor time of the worker.
        final: the same bytes would give the same result; False if a worker was killed or
            stopped, or a second reader gave no answer.
        memory: where the entries of a project's memory were wanted: those of each session.
    """

    number: int
    tables: tuple[bytes, ...]
    counts: Counts
    states: dict[str, SavedPosition] = {}
    read: int = 0
    seconds: float = 0.0
    final: bool = True
    memory: tuple[SessionEntries, ...] = ()


class Chunk(Struct, frozen=True):
    """A unit of work for one worker: headers to read, or jobs to do.

    Attributes:
        heads: files whose headers are to be read.
    """

    wanted: BatchOptions
    jobs: tuple[Job, ...] = ()
    heads: tuple[InputFile, ...] = ()


class ChunkResult(Struct, frozen=True):
    """The results of a chunk, in its order."""

    results: tuple[JobResult, ...] = ()
    heads: tuple[FileHeader, ...] = ()


CHUNK, CHUNK_FILES = 16 << 20, 256
"""Maximal bytes and files of a chunk, unless one session is larger. Chosen by hand; not
measured."""


def split_into_chunks(
    wanted: BatchOptions, jobs: Sequence[Job], workers: int, *, in_order: bool = False
) -> list[Chunk]:
    """The jobs in chunks of about equal size. A session larger than a chunk has one of its own.

    Args:
        in_order: as the jobs are; else the largest first, so that none is left over for long
            at the end.
    """
    share = sum(job.size for job in jobs) // max(1, 4 * workers)
    limit = max(1 << 20, min(CHUNK, share))
    if wanted.reader is not None:
        limit = 1  # what takes minutes has a time limit of its own
    found: list[list[Job]] = []
    open_: list[Job] = []
    size = 0
    for job in jobs:
        if job.size >= limit and not in_order:
            found.append([job])
            continue
        if open_ and (size + job.size > limit or len(open_) >= CHUNK_FILES):
            found.append(open_)
            open_, size = [], 0
        open_.append(job)
        size += job.size
    if open_:
        found.append(open_)
    if not in_order:
        found.sort(key=lambda some: (-sum(job.size for job in some), some[0].number))
    return [Chunk(wanted, tuple(some)) for some in found]
