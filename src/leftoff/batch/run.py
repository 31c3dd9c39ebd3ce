"""One run of a batch: find files, plan jobs, do those without a stored result, write."""

import hashlib
import heapq
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from leftoff import codec
from leftoff.batch import outputs
from leftoff.batch.files import FoundFiles, find_files, is_url
from leftoff.batch.index import Index, job_signature, path_digest
from leftoff.batch.jobs import (
    BatchOptions,
    Chunk,
    Counts,
    FileHeader,
    Job,
    JobResult,
    plan_jobs,
    split_into_chunks,
    subagent_files,
)
from leftoff.batch.pool import Engine, InProcess
from leftoff.batch.rows import decode_rows
from leftoff.errors import UsageError
from leftoff.redaction.redactor import Redactor
from leftoff.stores.atomic import create_and_open

# Headers in one chunk. Chosen by hand; not measured.
HEADERS_PER_CHUNK = 500
# Seconds between two commits of the index: finished work that a killed run can lose. Chosen by
# hand; not measured.
COMMIT_INTERVAL = 2.0
# Number of slowest sessions in a report; failures: four times as many.
SHOWN = 5


class FailedFile(Struct, frozen=True):
    """A file that could not be read: redacted path, kind of failure, and why."""

    path: str
    failure: str
    reason: str


class SlowJob(Struct, frozen=True):
    """A job that took long, in seconds of processor time."""

    seconds: float
    path: str
    size: int


class Report(Struct):
    """What a run did.

    Attributes:
        left_out: files in folders with other endings.
        jobs: groups of files that belong together; `known` of them had a stored result.
        counts: over all rows, with those of stored results.
        failed: the first failures.
        read: bytes that had to be read; `size` is what all files hold.
        seconds: wall time.
        unchanged: outputs that were up to date and were not written."""

    files: int = 0
    left_out: int = 0
    jobs: int = 0
    known: int = 0
    done: int = 0
    counts: Counts = field(default_factory=Counts)
    failed: list[FailedFile] = []
    slowest: list[SlowJob] = []
    size: int = 0
    read: int = 0
    seconds: float = 0.0
    written: list[str] = []
    unchanged: list[str] = []
    interrupted: bool = False

    @property
    def sessions(self) -> int:
        """Number of sessions, of all formats."""
        return sum(self.counts.formats.values())

    @property
    def failures(self) -> int:
        """Files that could not be read."""
        return sum(self.counts.failures.values())


class ProgressListener(Protocol):
    """Receives the progress of a run."""

    # Planning is finished: `todo` jobs of `size` bytes are to be done.
    def planned(self, report: Report, todo: int, size: int) -> None: ...
    def job_done(self, job: Job, report: Report) -> None: ...


class Run:
    """A batch of files, folders, patterns, URLs or recorders' homes; of all default places if
    none is given. `missing`: a file that was named does not exist."""

    def __init__(
        self,
        paths: Iterable[str | PathLike[str]],
        wanted: BatchOptions,
        engine: Engine,
        index: str,
        environ: Mapping[str, str],
        watcher: ProgressListener | None = None,
        kind: type[Index] = Index,
    ) -> None:
        wanted.check()
        self._began, looked = time.monotonic(), time.time_ns()
        self.report = Report()
        self._wanted, self._engine, self._watcher = wanted, engine, watcher
        named = [str(path) for path in paths]
        self._found = find_files(named, environ)
        self.missing = any(
            f.named and f.size < 0 and not is_url(f.path) for f in self._found.files.values()
        )
        if not self._found.files:
            others = self._found.left_out
            hint = f"; {others} files have endings of other kinds" if others else ""
            where = ", ".join(named[:3]) or "the default folders of the known clients"
            raise UsageError(f"no recording found in {where}{hint}")
        self._index = kind(index, wanted.digest(), looked)

    def close(self) -> None:
        """Closes the index, in which finished work stays; the engine is the caller's."""
        self._index.close()

    # -- the steps ---------------------------------------------------------------------------

    def _plan(self) -> tuple[list[Job], list[Job]]:
        found, report = self._found, self.report
        heads = self._heads(found)
        every = plan_jobs(list(found.files.values()), heads)
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

    def _heads(self, found: FoundFiles) -> dict[str, FileHeader]:
        sides = subagent_files(found.files)
        mains = [file for path, file in sorted(found.files.items()) if path not in sides]
        heads = self._index.heads(mains)
        unknown = [file for file in mains if file.path not in heads]
        fresh: dict[str, FileHeader] = {}
        wanted = replace(self._wanted, extractors=())
        asked = [
            Chunk(wanted, heads=tuple(unknown[start : start + HEADERS_PER_CHUNK]))
            for start in range(0, len(unknown), HEADERS_PER_CHUNK)
        ]
        # A few headers are read faster here than a process starts.
        engine = InProcess() if len(asked) < 2 else self._engine
        for chunk, done in engine.run(asked):
            fresh.update(zip((f.path for f in chunk.heads), done.heads, strict=True))
        self._index.learn(fresh, found.files)
        self._index.commit()
        return {**heads, **fresh}

    def _do(
        self, todo: Sequence[Job], *, in_order: bool
    ) -> Generator[tuple[Job, JobResult], None, None]:
        by_number = {job.number: job for job in todo}
        saved = time.monotonic()
        work = split_into_chunks(self._wanted, todo, self._engine.workers, in_order=in_order)
        for _, done in self._engine.run(work):
            for result in done.results:
                job = by_number.pop(result.number)
                self._index.add(job, result)
                self._account(job, result)
                yield job, result
            if time.monotonic() > saved + COMMIT_INTERVAL:
                self._index.commit()
                saved = time.monotonic()
        self._index.commit()

    def _account(self, job: Job, result: JobResult) -> None:
        report = self.report
        report.done += 1
        report.read += result.read
        report.counts.add(result.counts)
        if result.counts.failures and result.tables and len(report.failed) < 4 * SHOWN:
            self._failures(result.tables[0])
        path = str(Redactor().text(codec.to_valid_json(job.files[0].path)))
        slow = SlowJob(round(result.seconds, 3), path, job.size)
        report.slowest = heapq.nlargest(
            SHOWN, [*report.slowest, slow], key=lambda s: (s.seconds, s.path)
        )
        if self._watcher is not None:
            self._watcher.job_done(job, report)

    def _failures(self, sessions: bytes) -> None:
        for row in decode_rows["sessions"](sessions):
            if row.status == "failed" and len(self.report.failed) < 4 * SHOWN:
                why = row.failure or "", row.reason or ""
                self.report.failed.append(FailedFile(row.path, *why))

    # -- what for ----------------------------------------------------------------------------

    def write(self, places: Sequence[str] = ()) -> Report:
        """Does all jobs without a stored result and writes the outputs; without any, what is
        found stands in the index alone. If interrupted, it writes what is done.

        Raises:
            SourceError, UsageError: an output cannot be written.
            StateError: the index cannot be written."""
        report = self.report
        for place in places:
            outputs.check(place)
        every: list[Job] = []
        with self._index.failures_explained():
            try:
                every, todo = self._plan()
                for _ in self._do(todo, in_order=False):
                    pass
            except KeyboardInterrupt:
                report.interrupted = True
                self._engine.close()
            self._index.commit()
            if every and places:
                self._write(every, places)
                self._index.commit()
        report.seconds = time.monotonic() - self._began
        return report

    def _write(self, every: Sequence[Job], places: Sequence[str]) -> None:
        report = self.report
        names = [job_signature(job) for job in every]
        comparable = not report.interrupted and all(names)
        about = hashlib.blake2b(b"".join(names), digest_size=16)
        rows = about.digest() + self._wanted.digest().encode()
        if not report.interrupted:
            self._index.forget_others(every)
        for place in places:
            entry = f"output {path_digest(str(Path(place).absolute())).hex()}"
            known = self._index.about(entry)
            now = outputs.fingerprint(place, rows)
            if comparable and not report.done and known and known == now:
                report.unchanged.append(place)
                continue
            found = (self._index.tables(job) for job in every)
            outputs.write(place, (tables for tables in found if tables))
            report.written.append(place)
            self._index.set_about(entry, outputs.fingerprint(place, rows) if comparable else "")

    def results(self) -> Iterator[tuple[bytes, ...]]:
        """The tables of each job, in the order of paths, when those before it are done."""
        every, todo = self._plan()
        early: dict[int, tuple[bytes, ...]] = {}
        mine = {job.number for job in todo}
        with closing(self._do(todo, in_order=True)) as doing:
            for job in every:
                while job.number in mine and job.number not in early:
                    done, result = next(doing)
                    early[done.number] = result.tables
                tables = early.pop(job.number, None) or self._index.tables(job)
                if tables:
                    yield tables
            for _ in doing:  # no result is left; the generator commits the index
                pass


def index_beside(where: str, home: str) -> str:
    """The path of an output's index: beside a file, under `home` for a URL."""
    if not is_url(where):
        return f"{where}.index"
    folder = Path(home) / "state"
    with create_and_open(folder):
        return str(folder / f"batch-{path_digest(where).hex()}.index")


def report_to_builtins(report: Report) -> codec.JsonObject:
    """A report as plain values."""
    value: codec.JsonObject = codec.to_builtins(report)
    if not report.counts.unanswered:
        del value["counts"]["unanswered"]
    return value
