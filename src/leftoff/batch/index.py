"""The index of a batch: results of files and jobs, in one SQLite file beside the output.

Rows and states in it are redacted, and paths are stored as digests, so that the index reveals
no more than the output does."""

import errno
import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from leftoff import codec
from leftoff.batch.jobs import Counts, FileHeader, InputFile, Job, JobResult, SavedPosition
from leftoff.errors import SourceError, StateError
from leftoff.sources.open import open_regular
from leftoff.stores.atomic import open_private

SCHEMA = 1

_TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8")

# Nanoseconds. A file modified less than this before it was examined can change again with the
# same modification time, on file systems with a resolution of 1 s (FAT: 2 s).
_MTIME_RESOLUTION = 2_000_000_000


def _encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogatepass")


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def path_digest(path: str) -> bytes:
    """The key of a path."""
    return _digest(_encoded(path))


def job_signature(job: Job) -> bytes:
    """The key of a job: a digest of its files with their sizes and modification times; b"" if
    a file has no modification time."""
    files = (*job.files, *job.beside)
    if not all(file.modified for file in files):
        return b""
    known = [(_encoded(f.path), f.size, f.modified, f.place) for f in files]
    return _digest(codec.pack_state(known))


def index_error(
    path: str, error: sqlite3.Error | OSError, option: str = "--index"
) -> StateError:
    """What is wrong with an index and what to do, by the kind of the error; `option` names
    another index."""
    name = getattr(error, "sqlite_errorname", "")
    number = error.errno if isinstance(error, OSError) else None
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        what = f"in use by another run; wait for it, or name another index with {option}"
    elif name == "SQLITE_FULL" or number in {errno.ENOSPC, errno.EDQUOT}:
        what = f"the disk is full; make room, or name an index on another disk with {option}"
    elif name.startswith("SQLITE_READONLY") or number in {errno.EROFS, errno.EACCES}:
        what = f"cannot be written; name an index in a folder of yours with {option}"
    elif name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        what = f"no index, or damaged; remove it, or name another with {option}"
    else:
        what = "the index cannot be used"
    return StateError(f"{path}: {what} ({getattr(error, 'strerror', None) or error})")


class Index:
    """The index at `path` (":memory:" for a temporary one), made if there is none. `StateError`
    where the file is something else, or cannot be written.

    Args:
        rules: digest of everything that a result depends on besides the files
            (`BatchOptions.digest`).
        looked: when the files were examined, in nanoseconds since 1970."""

    locking = "EXCLUSIVE"
    """One run at a time: concurrent runs would overwrite each other's results."""

    option = "--index"
    """What names another index."""

    def __init__(self, path: str, rules: str, looked: int) -> None:
        self.path, self._rules, self._looked = path, rules, looked
        try:
            if path != ":memory:":
                os.close(open_private(Path(path)))
            self._db = sqlite3.connect(path, timeout=1)
            self._db.execute(f"PRAGMA locking_mode = {self.locking}")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_TABLES)
            known = self.about("schema")
            if known not in {"", str(SCHEMA)}:
                raise StateError(f"{path}: an index of schema {known}, not {SCHEMA}; remove it")
            self.set_about("schema", str(SCHEMA))
            self._db.commit()
        except (sqlite3.Error, OSError) as error:
            raise index_error(path, error, self.option) from error

    def close(self) -> None:
        """Commits and closes."""
        with suppress(sqlite3.Error):
            self._db.commit()
        with suppress(sqlite3.Error):
            self._db.close()

    @contextmanager
    def failures_explained(self) -> Iterator[None]:
        """Raises errors of the database as `StateError` that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise index_error(self.path, error, self.option) from error

    def about(self, name: str) -> str:
        """The value of a name in the table `about`, "" if there is none."""
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def set_about(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def commit(self) -> None:
        """Commits the transaction."""
        self._db.commit()

    # -- headers -----------------------------------------------------------------------------

    def heads(self, files: Iterable[InputFile]) -> dict[str, FileHeader]:
        """Headers of files that have not changed since, or have only grown, by path."""
        found: dict[str, FileHeader] = {}
        for file in files:
            row = self._db.execute(
                "SELECT size, modified, place, head FROM files WHERE path = ?",
                (path_digest(file.path),),
            ).fetchone()
            if row is None or not file.modified or row[2] != file.place:
                continue
            head = codec.unpack_state(row[3], FileHeader)
            if (row[0], row[1]) == (file.size, file.modified) or _has_grown(file, head):
                found[file.path] = head
        return found

    def learn(self, heads: Mapping[str, FileHeader], files: Mapping[str, InputFile]) -> None:
        """Stores headers."""
        self._db.executemany(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
            (
                (path_digest(path), f.size, f.modified, f.place, codec.pack_state(head))
                for path, head in heads.items()
                if self._is_settled(f := files[path])
            ),
        )

    def _is_settled(self, file: InputFile) -> bool:
        """Whether another change would give a file another modification time."""
        return bool(file.modified) and file.modified < self._looked - _MTIME_RESOLUTION

    # -- results -----------------------------------------------------------------------------

    def counts(self, job: Job) -> Counts | None:
        """The stored counts of a job with unchanged files; None if it has to be done."""
        row = self._db.execute(
            "SELECT counts FROM jobs WHERE files = ? AND rules = ? AND final",
            (job_signature(job), self._rules),
        ).fetchone()
        return codec.unpack_state(row[0], Counts) if row else None

    def tables(self, job: Job) -> tuple[bytes, ...] | None:
        """The stored rows of a job, None if there are none for its files as they are now."""
        row = self._db.execute(
            "SELECT tables FROM jobs WHERE files = ? AND rules = ?", (job_key(job), self._rules)
        ).fetchone()
        if row is None:
            return None
        found: tuple[bytes, ...] = codec.unpack_state(
            zlib.decompress(row[0]), tuple[bytes, ...]
        )
        return found

    def states(self, files: Iterable[InputFile]) -> dict[str, SavedPosition]:
        """Saved states of files that have grown since, by path."""
        found: dict[str, SavedPosition] = {}
        for file in files:
            row = self._db.execute(
                "SELECT kept FROM states WHERE path = ? AND rules = ?",
                (path_digest(file.path), self._rules),
            ).fetchone()
            if row is not None:
                with suppress(ValueError):  # as another version saved it: it is read whole
                    saved: SavedPosition = codec.unpack_state(row[0], SavedPosition)
                    if saved.cursor.offset <= file.size:  # else it was replaced
                        found[file.path] = saved
        return found

    def add(self, job: Job, result: JobResult) -> None:
        """Stores the result of a job."""
        final = result.final and all(map(self._is_settled, (*job.files, *job.beside)))
        counts = codec.pack_state(result.counts)
        tables = zlib.compress(codec.pack_state(result.tables), 1)
        row = job_key(job), self._rules, counts, result.seconds, final, tables
        self._db.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?, ?)", row)
        self._db.executemany(
            "INSERT OR REPLACE INTO states VALUES (?, ?, ?)",
            (
                (path_digest(path), self._rules, codec.pack_state(saved))
                for path, saved in result.states.items()
            ),
        )

    def forget_others(self, jobs: Sequence[Job]) -> None:
        """Deletes results of all other jobs: their files changed or no longer exist."""
        self._db.execute("CREATE TEMP TABLE mine (files BLOB PRIMARY KEY)")
        self._db.executemany(
            "INSERT OR IGNORE INTO mine VALUES (?)", ((job_key(job),) for job in jobs)
        )
        self._db.execute("DELETE FROM jobs WHERE files NOT IN (SELECT files FROM mine)")
        self._db.execute("DROP TABLE mine")


def _has_grown(file: InputFile, head: FileHeader) -> bool:
    """Whether a file still begins with the records of a header: what was added to it does not
    change them."""
    if not head.keys or head.start is None:
        return False
    with suppress(SourceError), open_regular(file.path) as opened:
        return head.start.is_in(opened)
    return False


def job_key(job: Job) -> bytes:
    """The job's signature; a digest of its paths if it has none."""
    paths = [_encoded(f.path) for f in job.files]
    return job_signature(job) or _digest(codec.pack_state(paths))
