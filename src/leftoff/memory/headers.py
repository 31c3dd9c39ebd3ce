"""Headers of recordings in the index: `leftoff list` and `leftoff` alone open only the files
that changed since they were listed. Without an index, every header is read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from leftoff import codec
from leftoff._version import __version__
from leftoff.errors import SourceError
from leftoff.memory.lookup import memory_path
from leftoff.redaction.redactor import Redactor
from leftoff.sources import discover
from leftoff.sources.discover import SessionFile, SessionInfo

if TYPE_CHECKING:
    import sqlite3

HEADERS = """
CREATE TABLE IF NOT EXISTS headers (
    path TEXT PRIMARY KEY, size INTEGER, modified REAL, version TEXT, header BLOB
) WITHOUT ROWID;
"""

_About: TypeAlias = tuple[str, int, float, str]
# Seconds in which a file may change without another modification time (FAT).
RESOLUTION = 2.0


class StoredHeaders:
    """Reads headers, those of unchanged files from the user's index where there is one."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        path = memory_path(environ)
        self._db: sqlite3.Connection | None = None
        self._fresh: list[tuple[_About, SessionInfo | None]] = []
        if not path.exists():
            return
        import sqlite3

        with suppress(sqlite3.Error):
            uri = f"{path.absolute().as_uri()}?mode=rw"
            db = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'headers'").fetchone():
                self._db = db
            else:
                db.close()

    def read(self, recorded: SessionFile) -> SessionInfo | None:
        """As `read_session_info`."""
        if self._db is None or recorded.place.root:  # a file beside it adds to the header
            return discover.read_session_info(recorded)
        about = (recorded.path, recorded.size, recorded.modified, __version__)
        import sqlite3

        with suppress(sqlite3.Error, ValueError):
            row = self._db.execute(
                "SELECT header FROM headers"
                " WHERE path = ? AND size = ? AND modified = ? AND version = ?",
                about,
            ).fetchone()
            if row is not None:
                stored: SessionInfo | None = codec.unpack_state(row[0], SessionInfo | None)
                return stored
        try:
            found = discover.session_in(recorded)
        except SourceError:  # this time: it may be readable the next
            return None
        if recorded.modified < time.time() - RESOLUTION:
            self._fresh.append((about, found))
        return found

    def close(self) -> None:
        """Stores what had to be read, but nothing with a secret, unless the index is in use."""
        if self._db is None:
            return
        import sqlite3

        with suppress(sqlite3.Error):
            rows = list(self._rows())  # before the index is locked: redaction takes time
            if rows:
                self._db.execute("BEGIN IMMEDIATE")
                self._db.executemany(
                    "INSERT OR REPLACE INTO headers VALUES (?, ?, ?, ?, ?)", rows
                )
                self._db.execute("COMMIT")
        self._db.close()

    def _rows(self) -> Iterator[tuple[object, ...]]:
        gate = Redactor()
        for about, found in self._fresh:
            shown = codec.to_valid_json(codec.to_builtins((about[0], found)))
            # A path that is no text cannot be stored.
            if shown[0] == about[0] and gate.value(shown) == shown:
                yield (*about, codec.pack_state(found))
