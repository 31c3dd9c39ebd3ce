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
from leftoff.stores.atomic import make_folders, own
from leftoff.stores.envelope import (
    Gate,
    clean,
    gate_of,
    glance,
    glimpse,
    resealed,
    seal,
    unseal,
)
from leftoff.stores.naming import place_of, plain
from leftoff.stores.protocol import Entry, Kept

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
_KEEP = """
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
        patience: seconds to wait for another writer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        gate: Gate = gate_of,
        patience: float = 10.0,
    ) -> None:
        self.path = Path(path)
        self._gate = gate
        self._patience = patience

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        given = clean(kind, document, text, self._gate)
        where = self._where(kind, plain(kind, id))
        with self._writing() as base:
            pinned = False
            row = base.execute(
                "SELECT document, pinned FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
            if row is not None:
                pinned = bool(row[1])
                glimpse(kind, row[0], where)
            data = codec.dumps(seal(kind, id, given, pinned=pinned))
            base.execute(_KEEP, (kind, id, data, given.text, time.time(), pinned))
        return where

    def load(self, kind: str, id: str) -> Kept | None:
        where = self._where(kind, plain(kind, id))
        with self._reading() as base:
            if base is None:
                return None
            row: tuple[bytes, str] | None = base.execute(
                "SELECT document, text FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
        if row is None:
            return None
        opened = unseal(kind, bytes(row[0]), where)
        return Kept(opened.document, opened.issues, where, row[1])

    def list(self, kind: str) -> list[Entry]:
        place_of(kind)
        with self._reading() as base:
            if base is None:
                return []
            rows = base.execute(
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
        plain(kind, id)
        if not self.path.exists():
            return False
        with self._writing() as base:
            done = base.execute(
                "DELETE FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).rowcount
        return done > 0

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Protects a document from retention, or no longer. False if there is none."""
        where = self._where(kind, plain(kind, id))
        if not self.path.exists():
            return False
        with self._writing() as base:
            row = base.execute(
                "SELECT document FROM documents WHERE kind = ? AND id = ?", (kind, id)
            ).fetchone()
            if row is None:
                return False
            data = codec.dumps(resealed(unseal(kind, bytes(row[0]), where), pinned=pinned))
            base.execute(
                "UPDATE documents SET document = ?, pinned = ? WHERE kind = ? AND id = ?",
                (data, pinned, kind, id),
            )
        return True

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        plain(kind, entry.id)
        with self._writing() as base:
            key = (kind, entry.id, entry.saved)
            row = base.execute(
                "SELECT document FROM documents "
                "WHERE kind = ? AND id = ? AND saved = ? AND NOT pinned",
                key,
            ).fetchone()
            if row is None or not _readable(kind, row[0]):
                return False
            base.execute("DELETE FROM documents WHERE kind = ? AND id = ? AND saved = ?", key)
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
        with self._told("read"), closing(self._opened()) as base:
            yield base if self._version(base) else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The database with its table, in a transaction that ends with the block."""
        with self._told("written"):
            self._make()
            with closing(self._opened()) as base:
                base.execute("PRAGMA synchronous = EXTRA")
                base.execute("BEGIN IMMEDIATE")
                try:
                    if not self._version(base):
                        base.execute(_TABLE)
                        base.execute(f"PRAGMA user_version = {VERSION}")
                    yield base
                except BaseException:
                    base.rollback()
                    raise
                self._commit(base)

    def _commit(self, base: sqlite3.Connection) -> None:
        try:
            base.commit()
        except sqlite3.OperationalError as error:
            if "disk I/O" not in str(error):
                raise
            # Perhaps only what follows the commit failed.
            raise Unsure(
                f"{self.path}: perhaps changed, not certain to stay ({error})"
            ) from error

    def _make(self) -> None:
        """Makes the file, so that nobody else can ever read it."""
        make_folders(self.path.parent)
        os.close(own(self.path))

    def _opened(self) -> sqlite3.Connection:
        if self.path.is_symlink():
            raise StateError(f"{self.path}: is a link, which is not followed")
        return sqlite3.connect(self.path, timeout=self._patience, isolation_level=None)

    def _version(self, base: sqlite3.Connection) -> int:
        version: int = base.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise TooNew(
                f"{self.path}: made by a newer leftoff (table {version}); update leftoff"
            )
        return version

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Failures of the database as errors of the store."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StateError(
                    f"{self.path}: another process has been writing for "
                    f"{self._patience:g} s; try again"
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
        glance(kind, data, "")
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
