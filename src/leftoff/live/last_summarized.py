"""The position up to which each session was last summarized, for `summarize --since last`."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import SourceError, StateError
from leftoff.stores.atomic import Directory, NotSynced, create_and_open
from leftoff.stores.lookup import error_text
from leftoff.summary import ContextSummary

MAX_SESSIONS = 1000
"""Maximum number of sessions in the file; the least recently summarized are dropped first."""

LOCK_TIMEOUT = 5.0
"""Seconds to wait for the lock of the file."""


class Position(Struct, frozen=True):
    """The position in a session: number of lines and number of messages."""

    line: int
    messages: int


class LastSummarized:
    """The positions of the last summaries, in a JSON file.

    Args:
        path: the file; created by the first `exchange`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exchange(self, summary: ContextSummary) -> Position | None:
        """Saves the session's present position and returns the one saved before, None if there
        is none. Runs under a lock, so concurrent calls lose no update.

        Raises:
            StateError: the file is damaged.
            SourceError: it cannot be read or written, or another process holds its lock.
        """
        name = self.path.name
        try:
            with (
                create_and_open(self.path.parent) as folder,
                folder.lock(f"{name}.lock", LOCK_TIMEOUT),
            ):
                folder.remove_stale_temporaries(name)
                return self._exchange(folder, summary)
        except TimeoutError as error:
            raise SourceError(f"{self.path}: held by another process; try again") from error
        except NotSynced as error:
            why = f"written, but not certain to stay ({error.strerror})"
            raise SourceError(f"{self.path}: {why}") from error
        except OSError as error:
            raise SourceError(f"{self.path}: {error_text(error)}") from error

    def _exchange(self, folder: Directory, summary: ContextSummary) -> Position | None:
        known = self._read(folder)
        name = summary.session.id or summary.session.path
        before = known.pop(name, None)
        stats = summary.stats
        known[name] = Position(stats.lines.total, stats.message_count)
        while len(known) > MAX_SESSIONS:
            del known[next(iter(known))]
        with folder.stage(self.path.name, codec.dumps(known)) as staged:
            staged.commit()
        folder.fsync()
        return before

    def _read(self, folder: Directory) -> dict[str, Position]:
        try:
            data = folder.read(self.path.name, codec.MAX_DOCUMENT)
            return msgspec.json.decode(data, type=dict[str, Position])
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise StateError(
                f"{self.path}: damaged ({error}); remove it to begin anew"
            ) from error
