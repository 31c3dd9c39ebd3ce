"""One run of a batch: find, plan, do what is not known yet, write."""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from leftoff import codec
from leftoff.batch import outputs
from leftoff.batch.files import Found, find, is_url
from leftoff.batch.index import Index, digest, signature
from leftoff.batch.jobs import Chunk, Counts, Head, Job, Result, Wanted, chunks
from leftoff.batch.plan import beside, jobs
from leftoff.batch.pool import Engine, Here
from leftoff.errors import UsageError
from leftoff.redaction.redactor import Redactor
from leftoff.stores.atomic import inside

HEADS = 500
"""Headers that one worker is asked for at once."""

SAVED = 2.0
"""Seconds of work that a killed run loses at most, besides what was being done."""

SHOWN = 5
"""How many of the slowest sessions a report names; four times as many failures."""


class Failed(Struct, frozen=True):
    """A file that could not be read: redacted path, kind of failure, and why."""

    path: str
    failure: str
    reason: str


class Slow(Struct, frozen=True):
    """A job that took long, in seconds of processor time."""

    seconds: float
    path: str
    size: int


class Report(Struct):
    """What a run did.

    Attributes:
        files: recordings found; `left_out` are files in folders with other endings.
        jobs: groups of files that belong together; `known` of them were as they had been.
        counts: over all rows, also those known before.
        failed: the first failures.
        read: bytes that had to be read; `size` is what all files hold.
        seconds: wall time.
        unchanged: outputs that stood as they were and were not written again.
    """

    files: int = 0
    left_out: int = 0
    jobs: int = 0
    known: int = 0
    done: int = 0
    counts: Counts = field(default_factory=Counts)
    failed: list[Failed] = []
    slowest: list[Slow] = []
    size: int = 0
    read: int = 0
    seconds: float = 0.0
    written: list[str] = []
    unchanged: list[str] = []
    interrupted: bool = False

    @property
    def sessions(self) -> int:
        """Sessions told, of all formats."""
        return sum(self.counts.formats.values())

    @property
    def failures(self) -> int:
        """Files that could not be read."""
        return sum(self.counts.failures.values())


class Watcher(Protocol):
    """Is told how a run goes on."""

    def planned(self, report: Report, todo: int, size: int) -> None:
        """So many jobs of so many bytes are to be done."""
        ...

    def did(self, job: Job, report: Report) -> None:
        """One job more is done."""
        ...


class Run:
    """A batch.

    Args:
        paths: files, folders, patterns, URLs, recorders' homes; all default places if none.
        index: where results are remembered; ":memory:" forgets them.
    """

    def __init__(
        self,
        paths: Iterable[str | PathLike[str]],
        wanted: Wanted,
        engine: Engine,
        index: str,
        environ: Mapping[str, str],
        watcher: Watcher | None = None,
    ) -> None:
        wanted.check()
        self._began, looked = time.monotonic(), time.time_ns()
        self.report = Report()
        self._wanted, self._engine, self._watcher = wanted, engine, watcher
        self._found = find(paths, environ)
        if not self._found.files:
            others = self._found.left_out
            hint = f"; {others} files have endings of other kinds" if others else ""
            raise UsageError(f"no recording found{hint}")
        self._index = Index(index, wanted.digest(), looked)

    def close(self, *, engine: bool = True) -> None:
        """Stops what is being done; what is done stays remembered."""
        if engine:
            self._engine.close()
        self._index.close()

    # -- the steps ---------------------------------------------------------------------------

    def _plan(self) -> tuple[list[Job], list[Job]]:
        """All jobs, and those of them that are not known yet."""
        found, report = self._found, self.report
        heads = self._heads(found)
        every = jobs(list(found.files.values()), heads)
        todo: list[Job] = []
        for job in every:
            counts = self._index.counts(job)
            if counts is None:
                states = self._index.states((*job.files, *job.beside))
                todo.append(replace(job, states=states) if states else job)
            else:
                report.counts.add(counts)
                report.known += 1
                if counts.failures and len(report.failed) < 4 * SHOWN:
                    self._failures((self._index.tables(job) or (b"",))[0])
        report.files, report.jobs = len(found.files), len(every)
        report.left_out = found.left_out
        report.size = sum(max(0, file.size) for file in found.files.values())
        if self._watcher is not None:
            self._watcher.planned(report, len(todo), sum(job.size for job in todo))
        return every, todo

    def _heads(self, found: Found) -> dict[str, Head]:
        sides = beside(found.files)
        mains = [file for path, file in sorted(found.files.items()) if path not in sides]
        heads = self._index.heads(mains)
        unknown = [file for file in mains if file.path not in heads]
        fresh: dict[str, Head] = {}
        wanted = replace(self._wanted, extractors=())
        asked = [
            Chunk(wanted, heads=tuple(unknown[start : start + HEADS]))
            for start in range(0, len(unknown), HEADS)
        ]
        # A few are read sooner here than a process is started.
        engine = Here() if len(asked) < 2 else self._engine
        for chunk, done in engine.run(asked):
            fresh.update(zip((f.path for f in chunk.heads), done.heads, strict=True))
        self._index.learn(fresh, found.files)
        self._index.commit()
        return {**heads, **fresh}

    def _do(
        self, todo: Sequence[Job], *, in_order: bool
    ) -> Generator[tuple[Job, Result], None, None]:
        """Does jobs and remembers what became of them."""
        by_number = {job.number: job for job in todo}
        saved = time.monotonic()
        work = chunks(self._wanted, todo, self._engine.workers, in_order=in_order)
        for _, done in self._engine.run(work):
            for result in done.results:
                job = by_number.pop(result.number)
                self._index.add(job, result)
                self._account(job, result)
                yield job, result
            if time.monotonic() > saved + SAVED:
                self._index.commit()
                saved = time.monotonic()
        self._index.commit()

    def _account(self, job: Job, result: Result) -> None:
        report = self.report
        report.done += 1
        report.read += result.read
        report.counts.add(result.counts)
        if result.counts.failures and len(report.failed) < 4 * SHOWN:
            self._failures(result.tables[0])
        slow = Slow(round(result.seconds, 3), _shown(job.files[0].path), job.size)
        report.slowest = heapq.nlargest(
            SHOWN, [*report.slowest, slow], key=lambda s: (s.seconds, s.path)
        )
        if self._watcher is not None:
            self._watcher.did(job, report)

    def _failures(self, sessions: bytes) -> None:
        for row in msgspec.json.Decoder(_Brief).decode_lines(sessions):
            if row.status == "failed" and len(self.report.failed) < 4 * SHOWN:
                self.report.failed.append(Failed(row.path, row.failure or "", row.reason or ""))

    # -- what for ----------------------------------------------------------------------------

    def write(self, places: Sequence[str]) -> Report:
        """Does all and writes outputs. Interrupted, it writes what is done.

        Raises:
            SourceError, UsageError: an output cannot be written.
        """
        report = self.report
        for place in places:
            outputs.check(place)
        every: list[Job] = []
        try:
            every, todo = self._plan()
            for _ in self._do(todo, in_order=False):
                pass
        except KeyboardInterrupt:
            report.interrupted = True
            self._engine.close()
            self._index.commit()
        if every:
            self._write(every, places)
        self._index.commit()
        report.seconds = time.monotonic() - self._began
        return report

    def _write(self, every: Sequence[Job], places: Sequence[str]) -> None:
        """Writes the outputs, but those that hold these rows already."""
        report = self.report
        about = hashlib.blake2b(digest_size=16)
        told = bool(every) and not report.interrupted
        for job in every:
            name = signature(job)
            told = told and bool(name)
            about.update(name)
        rows = about.digest() + self._wanted.digest().encode()
        if not report.interrupted:
            self._index.forget_others(every)
        for place in places:
            entry = f"output {digest(str(Path(place).absolute())).hex()}"
            known = self._index.about(entry)
            if told and not report.done and known and known == outputs.fingerprint(place, rows):
                report.unchanged.append(place)
                continue
            outputs.write(place, self._index.rows(every))
            report.written.append(place)
            self._index.tell(entry, outputs.fingerprint(place, rows) if told else "")

    def results(self) -> Iterator[tuple[Job, tuple[bytes, ...]]]:
        """Each job with its rows, in the order of paths, when those before it are done."""
        every, todo = self._plan()
        early: dict[int, tuple[bytes, ...]] = {}
        mine = {job.number for job in todo}
        with closing(self._do(todo, in_order=True)) as doing:
            for job in every:
                if job.number not in mine:
                    yield job, self._index.tables(job) or ()
                    continue
                while job.number not in early:
                    done, result = next(doing)
                    early[done.number] = result.tables
                yield job, early.pop(job.number)
            for _ in doing:  # nothing is left; it saves what it did
                pass


class _Brief(Struct):
    path: str
    status: str = ""
    failure: str | None = None
    reason: str | None = None


def _shown(path: str) -> str:
    shown: str = Redactor().text(codec.mended(path))
    return shown


def index_beside(where: str, home: str) -> str:
    """Where the index of an output is kept: beside a file, under `home` for a URL."""
    if not is_url(where):
        return f"{where}.index"
    folder = Path(home) / "state"
    with inside(folder):
        return str(folder / f"batch-{digest(where).hex()}.index")


def plain(report: Report) -> dict[str, Any]:
    """A report as plain values."""
    value: dict[str, Any] = codec.plain(report)
    return value
