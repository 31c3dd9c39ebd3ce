"""Documents in an SQLite database: one table, one row for each document.

The database has a rollback journal and `synchronous=EXTRA`: a save that was acknowledged is on
the disk, and readers never see half of one. Every call opens its own connection, so a store
may be used by any thread and after a fork.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from leftoff import codec
from leftoff.errors import Damaged, StateError, TooNew, Unsure, UsageError
from leftoff.stores.atomic import make_directories, open_private
from leftoff.stores.envelope import (
    RedactorFactory,
    read_header,
    read_header_or_none,
    redactor_for,
    reseal,
    sanitize,
    seal,
    unseal,
)
from leftoff.stores.naming import check_id, location_of
from leftoff.stores.protocol import Entry, StoredDocument

VERSION: Final = 1
"""Of the table; in the database as `user_version`."""

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


class SqliteStore:
    """Documents in one database file.

    Args:
        path: the file; made when something is saved. It must not be a link.
        gate: makes the redactor for a document of a kind.
        timeout: seconds to wait for another writer.
        patience: the former name of `timeout`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        gate: RedactorFactory = redactor_for,
        timeout: float = 10.0,
        patience: float | None = None,
    ) -> None:
        self.path = Path(path)
        self._gate = gate
        self._timeout = timeout if patience is None else patience

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        given = sanitize(kind, document, text, self._gate)
        where = self._where(kind, check_id(kind, id))
        with self._writing() as connection:
            pinned = False
            row = connection.execute(
                "SELECT document, pinned FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
            if row is not None:
                pinned = bool(row[1])
                read_header_or_none(kind, row[0], where)
            data = codec.dumps(seal(kind, id, given, pinned=pinned))
            connection.execute(_UPSERT, (kind, id, data, given.text, time.time(), pinned))
        return where

    def load(self, kind: str, id: str) -> StoredDocument | None:
        where = self._where(kind, check_id(kind, id))
        with self._reading() as connection:
            if connection is None:
                return None
            row: tuple[bytes, str] | None = connection.execute(
                "SELECT document, text FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
        if row is None:
            return None
        opened = unseal(kind, bytes(row[0]), where)
        return StoredDocument(opened.document, opened.issues, where, row[1])

    def list(self, kind: str) -> list[Entry]:
        location_of(kind)
        with self._reading() as connection:
            if connection is None:
                return []
            rows = connection.execute(
                f"SELECT id, saved, {_SIZE}, pinned, document FROM documents "  # noqa: S608
                "WHERE kind = ? ORDER BY saved DESC, id",
                (kind,),
            ).fetchall()
        return [
            Entry(
                name,
                self._where(kind, name),
                saved,
                size,
                bool(pinned),
                _readable(kind, document),
            )
            for name, saved, size, pinned, document in rows
        ]

    def delete(self, kind: str, id: str) -> bool:
        check_id(kind, id)
        if not self.path.exists():
            return False
        with self._writing() as connection:
            done = connection.execute(
                "DELETE FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).rowcount
        return done > 0

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Pins or unpins a document. False if there is none."""
        where = self._where(kind, check_id(kind, id))
        if not self.path.exists():
            return False
        with self._writing() as connection:
            row = connection.execute(
                "SELECT document FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
            if row is None:
                return False
            data = codec.dumps(reseal(unseal(kind, bytes(row[0]), where), pinned=pinned))
            connection.execute(
                "UPDATE documents SET document = ?, pinned = ? WHERE kind = ? AND id = ?",
                (data, pinned, kind, id),
            )
        return True

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        check_id(kind, entry.id)
        with self._writing() as connection:
            key = (kind, entry.id, entry.saved)
            row = connection.execute(
                "SELECT document FROM documents "
                "WHERE kind = ? AND id = ? AND saved = ? AND NOT pinned",
                key,
            ).fetchone()
            if row is None or not _readable(kind, row[0]):
                return False
            connection.execute(
                "DELETE FROM documents WHERE kind = ? AND id = ? AND saved = ?", key
            )
        return True

    def _where(self, kind: str, id: str) -> str:
        return f"{self.path}#{kind}/{id}"

    # -- the database ----------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """The database, None if there is none."""
        if not self.path.exists():
            yield None
            return
        with self._translate_errors("read"), closing(self._connect()) as connection:
            yield connection if self._version(connection) else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The database with its table, in a transaction that ends with the block."""
        with self._translate_errors("written"):
            self._create_file()
            with closing(self._connect()) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
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

    def _create_file(self) -> None:
        """Creates the file with mode 0600, before SQLite would create it readable by others."""
        make_directories(self.path.parent)
        os.close(open_private(self.path))

    def _connect(self) -> sqlite3.Connection:
        if self.path.is_symlink():
            raise StateError(f"{self.path}: is a link, which is not followed")
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
        """Raises errors of the database as errors of the store."""
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


def _readable(kind: str, data: bytes) -> bool:
    try:
        read_header(kind, data, "")
    except StateError:
        return False
    return True


def open_sqlite(where: str, **options: Any) -> SqliteStore:
    """The store at `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    scheme, _, path = where.partition("://")
    if scheme.lower() != "sqlite" or not path.startswith("/") or path == "/":
        raise UsageError(
            f"{where}: an SQLite store is sqlite:///relative.db or sqlite:////absolute.db"
        )
    return SqliteStore(path[1:], **options)
