"""What is known of the files and jobs of a batch, in one SQLite file beside its output.

Rows and states in it have passed the gate, and files are known by a digest of their path, so
that nothing in it says more than the output does.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from leftoff import codec
from leftoff.batch.jobs import Counts, File, Head, Job, Result
from leftoff.errors import StateError
from leftoff.incremental.saved_positions import SavedPosition
from leftoff.stores.atomic import own

SCHEMA = 1

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, place TEXT, head BLOB
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS jobs (
    files BLOB PRIMARY KEY, rules TEXT, counts BLOB, seconds REAL, final INTEGER, tables BLOB
);
CREATE TABLE IF NOT EXISTS states (
    path BLOB PRIMARY KEY, rules TEXT, kept BLOB
);
"""

_SETTLED = 2_000_000_000
"""Nanoseconds: a file that changed so short a time before it was looked at could change again
without its time telling, on file systems that count in seconds."""


def digest(path: str) -> bytes:
    """What a path is known by."""
    return hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def signature(job: Job) -> bytes:
    """What a job is known by: its files with their sizes and times; b"" if those do not tell
    whether a file has changed."""
    files = (*job.files, *job.beside)
    if not all(file.modified for file in files):
        return b""
    told = [
        (f.path.encode("utf-8", "surrogatepass"), f.size, f.modified, f.place) for f in files
    ]
    return hashlib.blake2b(codec.freeze(told), digest_size=16).digest()


class Index:
    """The index at `path`, made if there is none.

    Args:
        path: ":memory:" for one that is forgotten.
        rules: digest of all that decides a result besides the files (`Wanted.digest`).
        looked: nanoseconds since 1970 when the files were looked at.

    Raises:
        StateError: the file is something else, or cannot be written.
    """

    def __init__(self, path: str, rules: str, looked: int) -> None:
        self.path, self._rules, self._looked = path, rules, looked
        try:
            if path != ":memory:":
                os.close(own(Path(path)))
            self._db = sqlite3.connect(path, timeout=1)
            # One run at a time: two would each think that the other's work is their own.
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_TABLES)
            known = self.about("schema")
            if known not in {"", str(SCHEMA)}:
                raise StateError(f"{path}: an index of schema {known}, not {SCHEMA}; remove it")
            self.tell("schema", str(SCHEMA))
            self._db.commit()
        except (sqlite3.Error, OSError) as error:
            raise StateError(
                f"{path}: no index of a batch, or in use by another run ({error})"
            ) from error

    def close(self) -> None:
        """Commits and closes."""
        with suppress(sqlite3.Error):
            self._db.commit()
        self._db.close()

    def about(self, name: str) -> str:
        """What was told under a name, "" if nothing was."""
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def tell(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def commit(self) -> None:
        """Brings everything told so far to the file."""
        self._db.commit()

    # -- headers -----------------------------------------------------------------------------

    def heads(self, files: Iterable[File]) -> dict[str, Head]:
        """Headers of files that have not changed since, or have only grown, by path."""
        found: dict[str, Head] = {}
        for file in files:
            row = self._db.execute(
                "SELECT size, modified, place, head FROM files WHERE path = ?",
                (digest(file.path),),
            ).fetchone()
            if row is None or not file.modified or row[2] != file.place:
                continue
            # What was added to a file that had its first records does not change them.
            if (row[0], row[1]) == (file.size, file.modified) or 0 < row[0] < file.size:
                head = codec.thaw(row[3], Head)
                if head.keys or row[0] == file.size:
                    found[file.path] = head
        return found

    def learn(self, heads: Mapping[str, Head], files: Mapping[str, File]) -> None:
        """Remembers headers."""
        self._db.executemany(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
            (
                (digest(path), f.size, f.modified, f.place, codec.freeze(head))
                for path, head in heads.items()
                if (f := files[path]).modified and f.modified < self._looked - _SETTLED
            ),
        )

    # -- results -----------------------------------------------------------------------------

    def counts(self, job: Job) -> Counts | None:
        """What is known of a job whose files are as they were; None if it is to be done."""
        name = signature(job)
        row = (
            name
            and self._db.execute(
                "SELECT counts FROM jobs WHERE files = ? AND rules = ? AND final",
                (name, self._rules),
            ).fetchone()
        )
        return codec.thaw(row[0], Counts) if row else None

    def tables(self, job: Job) -> tuple[bytes, ...] | None:
        """The rows of a job, None if there are none of these files as they are."""
        row = self._db.execute(
            "SELECT tables FROM jobs WHERE files = ? AND rules = ?", (_name(job), self._rules)
        ).fetchone()
        if row is None:
            return None
        found: tuple[bytes, ...] = codec.thaw(zlib.decompress(row[0]), tuple[bytes, ...])
        return found

    def states(self, files: Iterable[File]) -> dict[str, SavedPosition]:
        """Saved states of files that have grown since, by path."""
        found: dict[str, SavedPosition] = {}
        for file in files:
            row = self._db.execute(
                "SELECT kept FROM states WHERE path = ? AND rules = ?",
                (digest(file.path), self._rules),
            ).fetchone()
            if row is not None:
                kept: SavedPosition = codec.thaw(row[0], SavedPosition)
                if kept.offset <= file.size and kept.place == file.place:
                    found[file.path] = kept
        return found

    def add(self, job: Job, result: Result) -> None:
        """Remembers what became of a job."""
        settled = all(f.modified < self._looked - _SETTLED for f in (*job.files, *job.beside))
        final = result.final and settled and bool(signature(job))
        tables = zlib.compress(codec.freeze(result.tables), 1)
        self._db.execute(
            "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?, ?)",
            (
                _name(job),
                self._rules,
                codec.freeze(result.counts),
                result.seconds,
                final,
                tables,
            ),
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO states VALUES (?, ?, ?)",
            (
                (digest(path), self._rules, codec.freeze(kept))
                for path, kept in result.states.items()
            ),
        )

    def forget_others(self, jobs: Sequence[Job]) -> None:
        """Drops results of jobs that are not among these: files that changed or are gone."""
        self._db.execute("CREATE TEMP TABLE mine (files BLOB PRIMARY KEY)")
        self._db.executemany(
            "INSERT OR IGNORE INTO mine VALUES (?)", ((_name(job),) for job in jobs)
        )
        self._db.execute("DELETE FROM jobs WHERE files NOT IN (SELECT files FROM mine)")
        self._db.execute("DROP TABLE mine")

    def rows(self, jobs: Iterable[Job]) -> Iterator[tuple[bytes, ...]]:
        """The rows of the jobs that are done, in the order given."""
        for job in jobs:
            found = self.tables(job)
            if found is not None:
                yield found


def _name(job: Job) -> bytes:
    """The job's signature; where that tells nothing, its paths."""
    known = signature(job)
    if known:
        return known
    told: list[Any] = [f.path.encode("utf-8", "surrogatepass") for f in job.files]
    return hashlib.blake2b(codec.freeze(told), digest_size=16).digest()
