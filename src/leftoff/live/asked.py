"""How far each session had come when somebody last asked for it: `summarize --since last`."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import SourceError, StateError
from leftoff.findings import ContextSummary
from leftoff.stores.writing import NotSynced, make_inner, write_whole

SESSIONS = 1000
"""Sessions that are remembered; the ones asked for longest ago are forgotten."""


PATIENCE = 5.0
"""Seconds to wait for another process that is writing."""


class Asked(Struct, frozen=True):
    """How far a session had come: its last line, and its number of messages."""

    line: int
    messages: int


class LastAsked:
    """The memory of a folder.

    Args:
        path: the file that keeps it; absent until the first session is remembered.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exchange(self, summary: ContextSummary) -> Asked | None:
        """Remembers how far the session has come; tells how far it had come the last time,
        None if it was never asked for. Two processes that ask at once do not lose each other.

        Raises:
            StateError: the file is damaged.
            SourceError: it cannot be read or written, or somebody else holds it.
        """
        from filelock import FileLock, Timeout

        try:
            make_inner(self.path.parent)
            with FileLock(f"{self.path}.lock", timeout=PATIENCE, mode=0o600):
                return self._exchange(summary)
        except Timeout as error:
            raise SourceError(f"{self.path}: held by another process; try again") from error
        except NotSynced as error:
            why = f"written, but not certain to stay ({error.strerror})"
            raise SourceError(f"{self.path}: {why}") from error
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error

    def _exchange(self, summary: ContextSummary) -> Asked | None:
        known = self._read()
        name = summary.session.id or summary.session.path
        before = known.pop(name, None)
        stats = summary.stats
        known[name] = Asked(stats.lines.total, stats.message_count)
        while len(known) > SESSIONS:
            del known[next(iter(known))]
        write_whole(self.path, codec.dumps(known))
        return before

    def _read(self) -> dict[str, Asked]:
        if not self.path.exists():
            return {}
        if not self.path.is_file():
            raise StateError(f"{self.path}: is no regular file; remove it to begin anew")
        data = self.path.read_bytes()
        try:
            return msgspec.json.decode(data, type=dict[str, Asked])
        except ValueError as error:
            raise StateError(
                f"{self.path}: damaged ({error}); remove it to begin anew"
            ) from error
