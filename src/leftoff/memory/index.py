"""The index of the memory: entries of all recorded sessions in one SQLite file with FTS5.

What lives here
---------------
The tables, and how a batch fills them. A batch of kind `memory` reads what has changed and
gives the entries of each session; `MemoryIndex` stores them in the transaction that also stores
that the files were read, so a killed run neither loses nor doubles anything. Everything is
redacted by the worker.

Of a session that was indexed before, only the entries that differ are written: one more turn of
a long session costs little."""

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from leftoff.batch.files import is_url
from leftoff.batch.index import Index, index_error, job_key, path_digest
from leftoff.batch.jobs import BatchOptions, Job, JobResult
from leftoff.batch.pool import Engine, InProcess
from leftoff.batch.rows import SessionRow, decode_rows
from leftoff.batch.run import ProgressListener, Report, Run
from leftoff.codec import JsonObject
from leftoff.errors import SourceError, StateError
from leftoff.handover.entries import SessionEntries
from leftoff.handover.recall import terms_of
from leftoff.memory.blocks import Stored, StoredEdit, entry_number, is_full, packed, unpacked
from leftoff.memory.lookup import NAME
from leftoff.shell.paths import is_within
from leftoff.stores.atomic import create_and_open

# Raised when the tables or `terms_of` change: the index is then built anew.
MEMORY_SCHEMA = "3"
# Recordings of which it is stored how to go on reading them, those that grew last. Chosen by
# hand.
MAX_STATES = 50
# Seconds to wait for another process that updates the index. Chosen by hand: that process does
# the work that this one would do.
LOCK_TIMEOUT = 0.1
# Recordings that an update has to read for the index to be compacted: it is stored in pieces
# while it is built, which takes up to 6 % more. Chosen by hand.
COMPACTED_FROM = 100

NOTHING = SessionEntries("", (), ())

_TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8")


# Of a session: those that its row in a batch has under the same name.
_COLUMNS = "key path branch title format started ended failure reason".split()


def update(
    path: Path,
    paths: Iterable[str | PathLike[str]] = (),
    *,
    environ: Mapping[str, str],
    engine: Engine | None = None,
    watcher: ProgressListener | None = None,
    timeout: float = LOCK_TIMEOUT,
) -> Report | None:
    """Reads what is new in the recordings at `paths`, those in the default places of all
    clients if none are given, into the index at `path`. `timeout`: seconds to wait for another
    process that is doing the same.

    Returns:
        What was read; None if another process is doing the same.

    Raises:
        UsageError: there is no recording.
        StateError: the index cannot be written or is damaged."""
    # The index outlives the working directory, in which a relative path could be found again.
    given = [os.fspath(p) for p in paths]
    named = [p if is_url(p) else os.path.abspath(os.path.expanduser(p)) for p in given]  # noqa: PTH100, PTH111
    options, own = BatchOptions(what="memory"), engine or InProcess()
    try:
        with create_and_open(path.parent) as folder, folder.lock(f"{NAME}.lock", timeout):
            run = Run(named, options, own, str(path), environ, watcher, MemoryIndex)
            with closing(run):
                report = run.write()
            if report.done >= COMPACTED_FROM and not report.interrupted:
                _compact(path)
            return report
    except TimeoutError:
        return None
    except OSError as error:
        raise StateError(f"{path}: cannot be written ({error.strerror})") from error


def _compact(path: Path) -> None:
    """Merges the pieces of the full-text index; without room for a copy all stays as it is."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT)) as db:
        db.execute("INSERT INTO terms (terms) VALUES ('optimize')")
        db.commit()
        db.execute("VACUUM")


class MemoryIndex(Index):
    """The index of a batch that stores entries in place of rows."""

    locking = "NORMAL"
    option = "LEFTOFF_MEMORY"

    def __init__(self, path: str, rules: str, looked: int) -> None:
        super().__init__(path, rules, looked)
        with self.failures_explained():
            if self.about("memory") not in {"", MEMORY_SCHEMA}:
                names = "sessions session_files entries blocks edits renames terms headers"
                drops = (f"DROP TABLE IF EXISTS {name};" for name in names.split())
                self._db.executescript("".join(drops))
                self._db.execute("DELETE FROM jobs")
            self._db.executescript(_TABLES)
            self.set_about("memory", MEMORY_SCHEMA)
            self._db.commit()

    def add(self, job: Job, result: JobResult) -> None:
        """Stores the entries of a job's sessions in place of those that its files had. Files
        that were read before and cannot be read this time keep theirs until the next update."""
        files = [path_digest(f.path) for f in job.files]
        # The sessions that were read from any of the files, each with the key of its job.
        marks = ", ".join("?" * len(files))
        query = f"SELECT session, job FROM session_files WHERE path IN ({marks})"  # noqa: S608
        known: dict[int, bytes] = dict(self._db.execute(query, files).fetchall())
        mine = job_key(job)
        entries = {one.key: one for one in result.memory}
        rows = decode_rows["sessions"](result.tables[0])
        if known and {row.failure for row in rows} == {"unreadable"}:
            return
        current = set()
        for row in rows:
            session = self._session(row)
            current.add(session)
            self._replace(session, entries.get(row.key, NOTHING))
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
        self._db.execute(
            "DELETE FROM states WHERE rowid <= (SELECT max(rowid) FROM states) - ?",
            (MAX_STATES,),
        )

    def _session(self, row: SessionRow) -> int:
        values = {name: getattr(row, name) for name in _COLUMNS}
        values |= {"session": row.id, "project": row.project or _project_of(row.path)}
        columns = [*values]
        self._db.execute(
            f"INSERT INTO sessions ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"  # noqa: S608 - our own names
            " ON CONFLICT (key) DO UPDATE SET "
            + ", ".join(f"{name} = excluded.{name}" for name in columns),
            values,
        )
        found = self._db.execute("SELECT id FROM sessions WHERE key = ?", (row.key,))
        session: int = found.fetchone()[0]
        return session

    def _replace(self, session: int, given: SessionEntries) -> None:
        """Writes what differs from the entries and edits that the session has."""
        wanted: dict[tuple[str, str], dict[Stored, None]] = {}
        for e in given.entries:
            value = (e.text, e.note, e.path, e.message, e.until)
            wanted.setdefault((e.kind, e.speaker), {})[value] = None
        last: dict[tuple[str, str], tuple[int, list[Stored | None]]] = {}
        for block, kind, speaker, data in self._db.execute(
            "SELECT id, kind, speaker, data FROM blocks WHERE session = ? ORDER BY id",
            (session,),
        ).fetchall():
            stored, new = unpacked(data), wanted.get((kind, speaker), {})
            kept = [e if e in new else None for e in stored]
            for place, (old, entry) in enumerate(zip(stored, kept, strict=True)):
                if entry is not None:
                    del new[entry]
                elif old is not None:
                    self._index_words("'delete', ", block, place, old)
            if kept != stored:
                self._write_block(block, kept, len(kept), (session, kind, speaker))
            if any(kept):
                last[kind, speaker] = block, kept
        for about, new in wanted.items():
            block, entries = last.get(about, (0, [])) if new else (0, [])
            first = len(entries)
            for entry in new:
                if is_full(entries):
                    self._write_block(block, entries, first, (session, *about))
                    block, entries, first = 0, [], 0
                entries.append(entry)
            self._write_block(block, entries, first, (session, *about))
        self._replace_edits(session, given)

    def _index_words(self, command: str, block: int, place: int, entry: Stored) -> None:
        """Adds the words of an entry, or with the command `delete` removes them."""
        column = "terms, " if command else ""
        self._db.execute(
            f"INSERT INTO terms ({column}rowid, words) VALUES ({command}?, ?)",  # noqa: S608
            (entry_number(block, place), " ".join(terms_of(" ".join(entry[:3])))),
        )

    def _write_block(
        self,
        block: int,
        entries: Sequence[Stored | None],
        first: int,
        about: tuple[object, ...],
    ) -> None:
        """Writes a block, a new one if its number is 0; the words of its entries from the place
        `first` on are new."""
        count = sum(e is not None for e in entries)
        if count:
            cursor = self._db.execute(
                "INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?, ?)",
                (block or None, *about, count, packed(entries)),
            )
            block = cursor.lastrowid or 0
        else:
            self._db.execute("DELETE FROM blocks WHERE id = ?", (block,))
        for place, entry in enumerate(entries[first:], first):
            if entry is not None:
                self._index_words("", block, place, entry)

    def _replace_edits(self, session: int, given: SessionEntries) -> None:
        by_path: dict[str, list[StoredEdit]] = {}
        for e in given.edits:
            by_path.setdefault(e.path, []).append((e.message, e.whole, e.replaced, e.hunk))
        for row, path, count in self._db.execute(
            "SELECT id, path, count FROM edits WHERE session = ?", (session,)
        ).fetchall():
            if len(by_path.get(path, ())) == count:  # evidence is append-only
                by_path.pop(path)
            else:
                self._db.execute("DELETE FROM edits WHERE id = ?", (row,))
        self._db.executemany(
            "INSERT INTO edits (session, path, count, data) VALUES (?, ?, ?, ?)",
            ((session, path, len(edits), packed(edits)) for path, edits in by_path.items()),
        )
        self._db.execute("DELETE FROM renames WHERE session = ?", (session,))
        self._db.executemany(
            "INSERT OR IGNORE INTO renames VALUES (?, ?, ?)",
            ((session, *pair) for pair in given.renames),
        )

    def _remove(self, session: int) -> None:
        self._replace(session, NOTHING)
        self._db.execute("DELETE FROM session_files WHERE session = ?", (session,))
        self._db.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def forget_missing(self) -> int:
        """Removes the sessions whose recordings do not exist any more; returns how many."""
        sessions = self._db.execute("SELECT id, path FROM sessions").fetchall()
        missing = [(n, p) for n, p in sessions if "://" not in p and not _file_exists(p)]
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


def _file_exists(path: str) -> bool:
    """Whether a recording is there: a conversation in a database is named `FILE.sqlite3:ID`."""
    head, ending, _ = path.partition(".sqlite3:")
    return os.path.exists(f"{head}.sqlite3" if ending else path)  # noqa: PTH110


def forget(path: Path, *, missing_only: bool) -> int:
    """Removes the sessions of deleted recordings from the index, or the whole index; returns
    the number of sessions removed. `StateError` where the index cannot be written or is
    damaged."""
    if not path.exists():
        return 0
    try:
        with create_and_open(path.parent) as folder, folder.lock(f"{NAME}.lock", 10.0):
            index = MemoryIndex(str(path), "", 0)
            with index.failures_explained():
                count = index.forget_missing() if missing_only else index.count()
                index.commit()
            index.close()
            if not missing_only:
                for ending in ("", "-wal", "-shm"):
                    path.with_name(path.name + ending).unlink(missing_ok=True)
    except OSError as error:
        raise StateError(f"{path}: cannot be written ({error.strerror or error})") from error
    return count


@contextmanager
def opened(path: Path) -> Any:
    """A connection that only reads the index; `SourceError` where there is none; `StateError`
    where it is damaged, or of another version."""
    if not path.exists():
        raise SourceError(f"{path}: there is no index yet; `leftoff memory update` builds it")
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as db:
            row = db.execute("SELECT value FROM about WHERE name = 'memory'").fetchone()
            if row is None or row[0] != MEMORY_SCHEMA:
                raise StateError(f"{path}: of another version; run `leftoff memory update`")
            db.create_function("is_within", 2, is_within)
            yield db
    except sqlite3.Error as error:
        raise index_error(str(path), error, MemoryIndex.option) from error


def statistics(path: Path) -> JsonObject:
    """What the index at `path` holds: its place, size in bytes, sessions, entries by kind."""
    with opened(path) as db:
        sessions, failed, projects = db.execute(
            "SELECT count(*), count(failure), count(DISTINCT project) FROM sessions"
        ).fetchone()
        kinds = db.execute("SELECT kind, sum(count) FROM blocks GROUP BY kind ORDER BY kind")
        return {
            "index": str(path),
            "bytes": path.stat().st_size,
            "sessions": sessions - failed,
            "not read": failed,
            "projects": projects,
            **dict(kinds.fetchall()),
        }
