"""Documents in an SQLite database: one table, one row for each document.

The database has a rollback journal and `synchronous=EXTRA`: a save that was acknowledged is on
the disk, and readers never see half of one. Every call opens its own connection, so a store
may be used by any thread and after a fork."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from leftoff.errors import Damaged, StateError, TooNew, Unsure, UsageError
from leftoff.stores.atomic import LOCK_TIMEOUT, make_directories, open_private
from leftoff.stores.envelope import RedactorFactory, redactor_for
from leftoff.stores.sealed import Change, Row, SealedStore

# Of the table; in the database as `user_version`.
VERSION: Final = 1

_TABLE = """
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    document BLOB NOT NULL,
    text TEXT NOT NULL,
    saved REAL NOT NULL,
    pinned INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID
"""
_UPSERT = """
INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (kind, id) DO UPDATE SET
    document = excluded.document, text = excluded.text,
    saved = excluded.saved, pinned = excluded.pinned
"""
_SIZE = "length(document) + length(CAST(text AS BLOB))"


class SqliteStore(SealedStore):
    """Documents in one database file.

    Args:
        path: the file; made when something is saved. It must not be a link.
        gate: makes the redactor for a document of a kind.
        timeout: seconds to wait for another writer."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        gate: RedactorFactory = redactor_for,
        timeout: float = LOCK_TIMEOUT,
    ) -> None:
        super().__init__(gate)
        self.path = Path(path)
        self._timeout = timeout

    def _read(self, kind: str, id: str) -> Row | None:
        with self._reading() as connection:
            return None if connection is None else _row(connection, kind, id)

    def _rows(self, kind: str) -> Iterator[tuple[str, Row]]:
        with self._reading() as connection:
            rows = []
            if connection is not None:
                rows = connection.execute(
                    "SELECT id, document, saved, pinned, "  # noqa: S608
                    f"{_SIZE} FROM documents WHERE kind = ?",
                    (kind,),
                ).fetchall()
        for name, data, saved, pinned, size in rows:
            yield name, Row(bytes(data), None, saved, bool(pinned), size)

    def _change(self, kind: str, id: str, change: Change) -> Row | None:
        if not self._exists() and not isinstance(change(None), Row):
            return None  # without making a database
        with self._writing() as connection:
            row = change(before := _row(connection, kind, id))
            if row is None:
                connection.execute(
                    "DELETE FROM documents WHERE kind = ? AND id = ?", (kind, id)
                )
            elif isinstance(row, Row):
                values = row.data, row.text, row.saved, row.pinned
                connection.execute(_UPSERT, (kind, id, *values))
        return before

    def _where(self, kind: str, id: str) -> str:
        return f"{self.path}#{kind}/{id}"

    # -- the database ----------------------------------------------------------------------

    def _exists(self) -> bool:
        with self._translate_errors("read"):
            return self.path.exists()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        if not self._exists():
            yield None
            return
        with self._translate_errors("read"), closing(self._connect()) as connection:
            # 0: a writer was killed before it made the table.
            yield connection if self._version(connection) else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._translate_errors("written"):
            # Created with mode 0600, before SQLite would create it readable by others.
            make_directories(self.path.parent)
            os.close(open_private(self.path))
            with closing(self._connect()) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                # The lock is taken before the row is read: no other writer changes it in
                # between.
                connection.execute("BEGIN IMMEDIATE")
                try:
                    if not self._version(connection):
                        connection.execute(_TABLE)
                        connection.execute(f"PRAGMA user_version = {VERSION}")
                    yield connection
                except BaseException:
                    connection.rollback()
                    raise
                self._commit(connection)

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.commit()
        except sqlite3.OperationalError as error:
            if "disk I/O" not in str(error):
                raise
            # Perhaps the commit itself succeeded and only the cleanup after it failed.
            raise Unsure(
                f"{self.path}: perhaps changed, not certain to stay ({error})"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        if self.path.is_symlink():
            raise StateError(f"{self.path}: is a link, which is not followed")
        # Without transactions of the module's own: they begin where `_writing` says.
        return sqlite3.connect(self.path, timeout=self._timeout, isolation_level=None)

    def _version(self, connection: sqlite3.Connection) -> int:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise TooNew(
                f"{self.path}: made by a newer leftoff (table {version}); update leftoff"
            )
        return version

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StateError(
                    f"{self.path}: another process has been writing for "
                    f"{self._timeout:g} s; try again"
                ) from error
            raise StateError(
                f"{self.path}: cannot be {what} ({error}); what was there stays"
            ) from error
        except sqlite3.DatabaseError as error:
            raise Damaged(f"{self.path}: damaged, or no database ({error})") from error
        except OSError as error:
            raise StateError(f"{self.path}: cannot be {what} ({error.strerror})") from error


def _row(connection: sqlite3.Connection, kind: str, id: str) -> Row | None:
    found = connection.execute(
        "SELECT document, text, saved, pinned FROM documents WHERE kind = ? AND id = ?",
        (kind, id),
    ).fetchone()
    if found is None:
        return None
    data, text, saved, pinned = found
    return Row(bytes(data), text, saved, bool(pinned))


def open_sqlite(where: str, **options: Any) -> SqliteStore:
    """The store at `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    scheme, _, path = where.partition("://")
    if scheme.lower() != "sqlite" or not path.startswith("/") or path == "/":
        raise UsageError(
            f"{where}: an SQLite store is sqlite:///relative.db or sqlite:////absolute.db"
        )
    return SqliteStore(path[1:], **options)
