"""What is asked of a batch, what is handed to a worker, and what comes back: plain values.

They cross process and machine borders as MessagePack, so nothing in them is code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from leftoff import codec
from leftoff._version import __version__
from leftoff.budget.thresholds import Preset
from leftoff.budget.windows import ModelRow
from leftoff.errors import UnknownName
from leftoff.extraction.collector import BUILTIN
from leftoff.extraction.rule_sets import rules_digest
from leftoff.incremental.saved_positions import SavedPosition
from leftoff.redaction.redactor import rules_digest as redaction_digest

What: TypeAlias = Literal["summarize", "files", "budget"]

RESULTS = 1
"""Grows whenever the rows that a worker makes change their meaning."""

_READERS: dict[str, tuple[str, ...]] = {
    "summarize": BUILTIN,
    "files": ("files",),
    "budget": (),
}


class Wanted(Struct, frozen=True):
    """What is wanted of each session.

    Attributes:
        what: the document: the whole summary, its files alone, or the account of tokens.
        only: built-in extractors to run, in place of those that `what` needs.
        extractors, redactors: plug-ins to run too, by name.
        format: read everything as this format; recognised by content if "".
        personal: also hide personal data.
        preset, windows: thresholds and window sizes of the account of tokens.
    """

    what: What = "summarize"
    only: tuple[str, ...] = ()
    extractors: tuple[str, ...] = ()
    redactors: tuple[str, ...] = ()
    format: str = ""
    personal: bool = False
    preset: Preset | None = None
    windows: tuple[ModelRow, ...] = ()

    @property
    def builtin(self) -> tuple[str, ...]:
        """The built-in extractors that run."""
        return self.only or _READERS[self.what]

    def check(self) -> None:
        """Says what does not exist, before anything is read.

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
        told = (RESULTS, __version__, rules_digest(), redaction_digest(), self)
        return hashlib.blake2b(codec.freeze(told), digest_size=8).hexdigest()


class File(Struct, frozen=True):
    """A file as the file system tells it.

    Attributes:
        path: a path, or a URL that fsspec knows.
        size: bytes; -1 where it cannot be told.
        modified: nanoseconds since 1970, 0 where it cannot be told: such a file is read again
            every time.
        place: device and inode, or what a store of objects says in their stead.
        named: somebody named this very file, no folder or pattern that it fits.
    """

    path: str
    size: int = -1
    modified: int = 0
    place: str = ""
    named: bool = False


class Head(Struct, frozen=True):
    """What the first records of a file tell of the session that they belong to.

    Attributes:
        keys: one number for each thing that only files of one line of work share: the
            session's id, the one that it was forked from, ids of its first records.
    """

    keys: tuple[int, ...] = ()


class Job(Struct, frozen=True):
    """Files that are one session, or one file that holds several.

    Attributes:
        files: in order of path.
        beside: files of subagents, which reading the main file finds by itself.
        states: what is known of files that have grown, by path.
    """

    number: int
    files: tuple[File, ...]
    beside: tuple[File, ...] = ()
    states: dict[str, SavedPosition] = {}

    @property
    def size(self) -> int:
        """Bytes to read, roughly; at least 1."""
        known = sum(max(0, f.size) for f in (*self.files, *self.beside))
        return max(1, known - sum(kept.offset for kept in self.states.values()))


class Counts(Struct):
    """What a run tells about its rows; sums over jobs.

    Attributes:
        formats: sessions by format.
        failures: failed files by kind of failure.
        lines: total, parsed, unknown, repaired, skipped.
    """

    formats: dict[str, int] = {}
    failures: dict[str, int] = {}
    lines: tuple[int, ...] = (0, 0, 0, 0, 0)

    def add(self, other: Counts) -> None:
        for name, count in other.formats.items():
            self.formats[name] = self.formats.get(name, 0) + count
        for name, count in other.failures.items():
            self.failures[name] = self.failures.get(name, 0) + count
        self.lines = tuple(a + b for a, b in zip(self.lines, other.lines, strict=True))


class Result(Struct, frozen=True):
    """What became of a job.

    Attributes:
        tables: for each of `rows.TABLES` its rows as JSON lines, redacted.
        states: saved states of its files, by path.
        read: bytes that had to be read.
        seconds: how long it took, in processor time of the worker.
        final: the same bytes would give the same again; not so where a worker was killed or
            stopped.
    """

    number: int
    tables: tuple[bytes, ...]
    counts: Counts
    states: dict[str, SavedPosition] = {}
    read: int = 0
    seconds: float = 0.0
    final: bool = True


class Chunk(Struct, frozen=True):
    """What one worker is handed at once: headers to read, or jobs to do.

    Attributes:
        heads: files whose headers are wanted.
    """

    wanted: Wanted
    jobs: tuple[Job, ...] = ()
    heads: tuple[File, ...] = ()


class Done(Struct, frozen=True):
    """What a worker gives back for a chunk, in its order."""

    results: tuple[Result, ...] = ()
    heads: tuple[Head, ...] = ()


CHUNK, CHUNK_FILES = 16 << 20, 256
"""Bytes and files of a chunk at most, unless one session is larger."""


def chunks(
    wanted: Wanted, jobs: Sequence[Job], workers: int, *, in_order: bool = False
) -> list[Chunk]:
    """The jobs in chunks of about equal size. A session larger than a chunk has one of its own.

    Args:
        in_order: as the jobs are; else the largest first, so that none is left over for long
            at the end.
    """
    share = sum(job.size for job in jobs) // max(1, 4 * workers)
    limit = max(1 << 20, min(CHUNK, share))
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
