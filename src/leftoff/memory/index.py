"""The index of the memory: entries of all recorded sessions in one SQLite file with FTS5.

What lives here
---------------
The tables, and how a batch fills them. A batch of kind `memory` reads what has changed and
gives the entries of each session; `MemoryIndex` stores them in the transaction that also stores
that the files were read, so a killed run neither loses nor doubles anything. Everything is
redacted by the worker.

Of a session that was indexed before, only the entries that differ are written: one more turn of
a long session costs little.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from leftoff import codec
from leftoff.batch.index import Index, index_error, job_key, path_digest
from leftoff.batch.jobs import BatchOptions, Job, JobResult
from leftoff.batch.pool import Engine, InProcess
from leftoff.batch.rows import SessionRow
from leftoff.batch.run import ProgressListener, Report, Run
from leftoff.errors import SourceError, StateError
from leftoff.handover.entries import Entry, SessionEntries
from leftoff.handover.recall import terms_of
from leftoff.memory.lookup import NAME
from leftoff.stores.atomic import create_and_open

MEMORY_SCHEMA = "1"
"""Raised when the tables or `terms_of` change: the index is then built anew."""

LOCK_TIMEOUT = 0.1
"""Seconds to wait for another process that updates the index. Chosen by hand: that process does
the work that this one would do."""

_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE, session TEXT, path TEXT, project TEXT, branch TEXT,
    title TEXT, format TEXT, started TEXT, ended TEXT, failure TEXT, reason TEXT
);
CREATE INDEX IF NOT EXISTS by_project ON sessions (project);
CREATE TABLE IF NOT EXISTS session_files (
    path BLOB, session INTEGER, job BLOB, PRIMARY KEY (path, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, session INTEGER, kind TEXT, speaker TEXT, text TEXT, note TEXT,
    path TEXT, message INTEGER, until INTEGER
);
CREATE INDEX IF NOT EXISTS by_session ON entries (session);
CREATE TABLE IF NOT EXISTS edits (
    id INTEGER PRIMARY KEY, session INTEGER, path TEXT, message INTEGER, whole INTEGER,
    replaced BLOB, hunk TEXT
);
CREATE INDEX IF NOT EXISTS edits_by_path ON edits (path);
CREATE INDEX IF NOT EXISTS edits_by_session ON edits (session);
CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(
    words, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '._-/$'"
);
"""


def update(
    path: Path,
    paths: Iterable[str | PathLike[str]] = (),
    *,
    environ: Mapping[str, str],
    engine: Engine | None = None,
    watcher: ProgressListener | None = None,
) -> Report | None:
    """Reads what is new in the recordings at `paths`, those in the default places of all
    clients if none are given, into the index at `path`.

    Returns:
        What was read; None if another process is doing the same.

    Raises:
        UsageError: there is no recording.
        StateError: the index cannot be written or is damaged.
    """
    try:
        with create_and_open(path.parent) as folder, folder.lock(f"{NAME}.lock", LOCK_TIMEOUT):
            run = Run(
                paths,
                BatchOptions(what="memory"),
                engine or InProcess(),
                str(path),
                environ,
                watcher,
                MemoryIndex,
            )
            try:
                return run.update()
            finally:
                run.close(engine=False)
    except TimeoutError:
        return None
    except OSError as error:
        raise StateError(f"{path}: cannot be written ({error.strerror})") from error


class MemoryIndex(Index):
    """The index of a batch that stores entries in place of rows."""

    locking = "NORMAL"

    def __init__(self, path: str, rules: str, looked: int) -> None:
        super().__init__(path, rules, looked)
        with self.failures_explained():
            if self.about("memory") not in {"", MEMORY_SCHEMA}:
                self._empty()
            self._db.executescript(_TABLES)
            self.set_about("memory", MEMORY_SCHEMA)
            self._db.commit()

    def _empty(self) -> None:
        names = ("sessions", "session_files", "entries", "edits", "terms")
        self._db.executescript("".join(f"DROP TABLE IF EXISTS {name};" for name in names))
        self._db.execute("DELETE FROM jobs")

    def add(self, job: Job, result: JobResult) -> None:
        """Stores the entries of a job's sessions in place of those that its files had."""
        files = [path_digest(f.path) for f in job.files]
        known = self._sessions_of(files)
        mine = job_key(job)
        entries = {one.key: one for one in result.memory}
        rows = msgspec.json.Decoder(SessionRow).decode_lines(result.tables[0])
        current = set()
        for row in rows:
            session = self._session(row)
            current.add(session)
            self._replace(session, entries.get(row.key))
            self._db.executemany(
                "INSERT OR REPLACE INTO session_files VALUES (?, ?, ?)",
                ((file, session, mine) for file in files),
            )
        for session in set(known) - current:
            self._remove(session)
        # What these files were when they were read before is of no use any more.
        self._db.executemany(
            "DELETE FROM jobs WHERE files = ?", ((old,) for old in {*known.values()} - {mine})
        )
        super().add(job, replace(result, tables=(), memory=()))

    def _sessions_of(self, files: Sequence[bytes]) -> dict[int, bytes]:
        """The sessions that were read from any of the files, each with the key of its job."""
        marks = ", ".join("?" * len(files))
        query = f"SELECT session, job FROM session_files WHERE path IN ({marks})"  # noqa: S608
        return dict(self._db.execute(query, files).fetchall())

    def _session(self, row: SessionRow) -> int:
        values = (
            row.id, row.path, row.project or _project_of(row.path), row.branch, row.title,
            row.format, row.started, row.ended, row.failure, row.reason,
        )  # fmt: skip
        self._db.execute(
            "INSERT INTO sessions (session, path, project, branch, title, format, started,"
            " ended, failure, reason, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET session = excluded.session, path = excluded.path,"
            " project = excluded.project, branch = excluded.branch, title = excluded.title,"
            " format = excluded.format, started = excluded.started, ended = excluded.ended,"
            " failure = excluded.failure, reason = excluded.reason",
            (*values, row.key),
        )
        found = self._db.execute("SELECT id FROM sessions WHERE key = ?", (row.key,))
        session: int = found.fetchone()[0]
        return session

    def _replace(self, session: int, given: SessionEntries | None) -> None:
        """Writes what differs from the entries and edits that the session has."""
        wanted = {_values(e): e for e in given.entries} if given is not None else {}
        for number, *values in self._db.execute(
            "SELECT id, kind, speaker, text, note, path, message, until FROM entries"
            " WHERE session = ?",
            (session,),
        ).fetchall():
            if wanted.pop(tuple(values), None) is None:
                self._remove_entry(number, values)
        for entry in wanted.values():
            cursor = self._db.execute(
                "INSERT INTO entries (session, kind, speaker, text, note, path, message, until)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (session, *_values(entry)),
            )
            self._db.execute(
                "INSERT INTO terms (rowid, words) VALUES (?, ?)",
                (cursor.lastrowid, indexed_words(entry.text, entry.note, entry.path)),
            )
        edits = list(given.edits) if given is not None else []
        count = self._db.execute("SELECT count(*) FROM edits WHERE session = ?", (session,))
        done: int = count.fetchone()[0]
        if done > len(edits) or not edits:
            self._db.execute("DELETE FROM edits WHERE session = ?", (session,))
            done = 0
        # Evidence is append-only: the edits that are stored are the first ones.
        self._db.executemany(
            "INSERT INTO edits (session, path, message, whole, replaced, hunk)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                (session, e.path, e.message, e.whole, codec.pack_state(e.replaced), e.hunk)
                for e in edits[done:]
            ),
        )

    def _remove_entry(self, number: int, values: Sequence[Any]) -> None:
        self._db.execute(
            "INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?, ?)",
            (number, indexed_words(values[2], values[3], values[4])),
        )
        self._db.execute("DELETE FROM entries WHERE id = ?", (number,))

    def _remove(self, session: int) -> None:
        self._replace(session, None)
        self._db.execute("DELETE FROM session_files WHERE session = ?", (session,))
        self._db.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def forget_missing(self) -> int:
        """Removes the sessions whose recordings do not exist any more; returns how many."""
        missing = [
            (number, path)
            for number, path in self._db.execute("SELECT id, path FROM sessions")
            if "://" not in path and not os.path.exists(_file_of(path))  # noqa: PTH110
        ]
        for number, path in missing:
            self._remove(number)
            self._db.execute("DELETE FROM states WHERE path = ?", (path_digest(path),))
        return len(missing)

    def count(self) -> int:
        """How many sessions it holds."""
        count: int = self._db.execute("SELECT count(*) FROM sessions").fetchone()[0]
        return count


def _project_of(path: str) -> str | None:
    """The project of a recording that does not name one but lies in it, as clients that record
    into the working tree leave it."""
    head, inside, _ = path.replace("\\", "/").rpartition("/.specstory/")
    if not inside:
        head, inside, _ = path.replace("\\", "/").rpartition("/.aider.chat.history.md")
    return head if inside else None


def _file_of(path: str) -> str:
    """The file of a recording: a conversation in a database is named `FILE.sqlite3:ID`."""
    head, ending, _ = path.partition(".sqlite3:")
    return f"{head}.sqlite3" if ending else path


def _values(entry: Entry) -> tuple[Any, ...]:
    return tuple(getattr(entry, name) for name in entry.__struct_fields__)


def indexed_words(*texts: str) -> str:
    """The terms under which an entry is found, as FTS5 is given them."""
    return " ".join(terms_of(" ".join(texts)))


def forget(path: Path, *, missing_only: bool) -> int:
    """Removes the sessions of deleted recordings from the index, or the whole index; returns
    the number of sessions removed."""
    if not path.exists():
        return 0
    with create_and_open(path.parent) as folder, folder.lock(f"{NAME}.lock", 10.0):
        index = MemoryIndex(str(path), "", 0)
        with index.failures_explained():
            count = index.forget_missing() if missing_only else index.count()
            index.commit()
        index.close()
        if not missing_only:
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    path.with_name(path.name + ending).unlink()
    return count


@contextmanager
def opened(path: Path) -> Any:
    """A connection that only reads the index.

    Raises:
        SourceError: there is none.
        StateError: it is damaged, or of another version.
    """
    if not path.exists():
        raise SourceError(f"{path}: there is no index yet; `leftoff memory update` builds it")
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            row = db.execute("SELECT value FROM about WHERE name = 'memory'").fetchone()
            if row is None or row[0] != MEMORY_SCHEMA:
                raise StateError(f"{path}: of another version; run `leftoff memory update`")
            yield db
        finally:
            db.close()
    except sqlite3.Error as error:
        raise index_error(str(path), error) from error


def statistics(path: Path) -> dict[str, Any]:
    """What the index at `path` holds: its place, size in bytes, sessions, entries by kind."""
    with opened(path) as db:
        sessions, failed, projects = db.execute(
            "SELECT count(*), count(failure), count(DISTINCT project) FROM sessions"
        ).fetchone()
        kinds = db.execute("SELECT kind, count(*) FROM entries GROUP BY kind ORDER BY kind")
        return {
            "index": str(path),
            "bytes": path.stat().st_size,
            "sessions": sessions - failed,
            "not read": failed,
            "projects": projects,
            **dict(kinds.fetchall()),
        }
