"""Many recordings: planned, read by many workers, restartable, written as tables.

A bad file gives one failed row, a killed worker loses only its own work, and unchanged files
are not read again. docs/scale.md has the measured sizes."""

import os
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff.analysis.summary_json import from_json, safe_summary
from leftoff.api import paths_given
from leftoff.batch.jobs import BatchOptions, ReaderOptions, What
from leftoff.batch.pool import TIME_LIMIT, Engine, InProcess, Pool
from leftoff.batch.rows import (
    TABLES,
    DecisionRow,
    EntryRow,
    FileRow,
    MilestoneRow,
    Rows,
    SessionRow,
    decode_rows,
    session_key,
)
from leftoff.batch.run import Run
from leftoff.budget.prices import Cost
from leftoff.errors import UsageError
from leftoff.settings import load_here
from leftoff.summary import ContextSummary

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]


class Summarized(Struct, frozen=True):
    """One session of many, or one file that could not be read. Everything in it is redacted.

    Attributes:
        row: its row of the table of sessions; `row.status` is "ok" or "failed".
        decisions, milestones, files, entries: its rows of the other tables.
        document: what was asked for, as JSON; b"null" for a file that could not be read."""

    row: SessionRow
    decisions: tuple[DecisionRow, ...] = ()
    milestones: tuple[MilestoneRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    entries: tuple[EntryRow, ...] = ()
    document: bytes = b"null"

    @property
    def ok(self) -> bool:
        """Whether it could be read."""
        return self.row.status == "ok"

    @property
    def summary(self) -> ContextSummary:
        """The whole summary; `UsageError` where the file could not be read, `StateError` where
        something else was asked for."""
        if not self.ok:
            raise UsageError(f"{self.row.path}: {self.row.reason}")
        return from_json(self.document)


def summarize_all(
    paths: Paths = (),
    *,
    what: What = "summarize",
    only: Sequence[str] = (),
    extractors: Sequence[str] = (),
    redactors: Sequence[str] = (),
    format: str = "",
    workers: int = 0,
    limit: float = TIME_LIMIT,
    engine: Engine | None = None,
    index: str | PathLike[str] | None = None,
    reader: str = "",
) -> Iterator[Summarized]:
    """Every session in files, folders, patterns, URLs or recorders' homes, in the order of
    their paths; all default places of this machine if no path is given.

    A file that cannot be read is among them and says why; nothing that a file holds is raised.

    Args:
        what: the whole summary, "files" alone, the "budget", or the entries of the "memory".
        only: built-in extractors to run, in place of those that `what` needs.
        extractors, redactors: plug-ins to run too.
        format: read everything as this format.
        workers: processes. 0 reads in this process, one file after the other and without a
            time limit. With more, the program that calls this needs the guard
            `if __name__ == "__main__":`, as with every pool of processes.
        limit: seconds that a session may take in a worker.
        engine: does the work in place of processes here, e.g. `batch.cluster.Cluster()`; it
            is not closed afterwards.
        index: a file in which results are remembered, so that files that have not changed are
            not read again; none by default.
        reader: a second reader of each summary: `claude`, `codex` or a command line, which
            gets half of `limit` for a session; its answers are stored in this project.

    Raises:
        UsageError: there is no file at all, or an option names what does not exist."""
    asked = None
    if reader:
        home = Path(load_here().settings.home).absolute()
        asked = ReaderOptions(reader, str(home), limit=limit / 2)
    wanted = BatchOptions(
        what, tuple(only), tuple(extractors), tuple(redactors), format=format, reader=asked
    )
    several = paths_given(paths)
    chosen: Engine = engine or (Pool(workers, limit) if workers else InProcess())
    run = Run(several, wanted, chosen, os.fspath(index) if index else ":memory:", os.environ)
    return _each(run, nullcontext() if engine else closing(chosen))


def _each(run: Run, engine: AbstractContextManager[object]) -> Iterator[Summarized]:
    with closing(run), engine:
        for tables in run.results():
            yield from _sessions_of(tables)


async def summarize_all_async(paths: Paths = (), **options: Any) -> AsyncIterator[Summarized]:
    """`summarize_all`, with its options, for `async for`; waiting for a session does not block
    the event loop."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    # One thread for all calls: an SQLite connection belongs to the thread that opened it.
    with ThreadPoolExecutor(1) as thread:
        loop = asyncio.get_running_loop()
        sessions = await loop.run_in_executor(thread, lambda: summarize_all(paths, **options))
        try:
            while True:
                one = await loop.run_in_executor(thread, next, sessions, None)
                if one is None:
                    return
                yield one
        finally:
            closing: Any = sessions
            await loop.run_in_executor(thread, closing.close)


def _sessions_of(tables: Sequence[bytes]) -> Iterator[Summarized]:
    others: dict[str, dict[str, list[Any]]] = {}
    for name, data in zip(list(TABLES)[1:], tables[1:], strict=True):
        by_key = others[name] = {}
        for row in decode_rows[name](data):
            by_key.setdefault(row.key, []).append(row)
    for row in decode_rows["sessions"](tables[0]):
        yield Summarized(
            replace(row, document=None),
            **{name: tuple(of_key.get(row.key, ())) for name, of_key in others.items()},
            document=bytes(row.document),
        )


def to_dataframe(sessions: object, table: str = "sessions", *, library: str = "") -> Any:
    """One of the tables as a data frame, without the column `document`.

    Args:
        sessions: paths, which `summarize_all` reads; what it gives; summaries, of which the
            price is not known; or rows of the table. One of them or many, not mixed.
        table: sessions | decisions | milestones | files | entries.
        library: pandas | polars; the one that is installed, pandas first.

    Raises:
        UsageError: no such table, neither library is installed, or `sessions` is something
            else."""
    from leftoff.batch.outputs import data_frame

    if table not in TABLES:
        raise UsageError(f"no table {table!r}: there are {', '.join(TABLES)}")
    return data_frame(_rows(sessions, table), table, library)


def _rows(given: Any, table: str) -> Iterator[Struct]:
    one = isinstance(given, (str, bytes, PathLike, Struct))
    several = [given] if one else list(given)
    if several and all(isinstance(each, (str, PathLike)) for each in several):
        several = list(summarize_all(several))
    of_path: Counter[str] = Counter()
    for each in several:
        if isinstance(each, TABLES[table]):
            yield each
            continue
        if isinstance(each, ContextSummary):
            rows = Rows()
            safe = safe_summary(each)
            plain, path = codec.to_builtins(safe), each.session.path
            number, of_path[path] = of_path[path], of_path[path] + 1
            key = session_key(path, number)
            rows.session(key, number, safe, plain, None, BatchOptions().builtin, Cost())
            (each,) = _sessions_of(rows.to_json_lines())
        if not isinstance(each, Summarized):
            raise UsageError(
                "to_dataframe takes paths, what summarize_all gives, summaries, or rows of the "
                f"table {table}, not {type(each).__name__}"
            )
        if table == "sessions":
            yield each.row
        else:
            yield from getattr(each, table)
