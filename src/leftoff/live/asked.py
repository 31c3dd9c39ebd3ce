"""How far each session had come when somebody last asked for it: `summarize --since last`."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import SourceError, StateError
from leftoff.findings import ContextSummary
from leftoff.live.state import write_whole

SESSIONS = 1000
"""Sessions that are remembered; the ones asked for longest ago are forgotten."""


class Asked(Struct, frozen=True):
    """How far a session had come: its last line, and its number of messages."""

    line: int
    messages: int


class LastAsked:
    """The memory of a folder.

    Args:
        path: the file that keeps it; absent until the first session is remembered.

    Raises:
        StateError: the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Asked] = {}
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}") from error
        try:
            self._known = msgspec.json.decode(data, type=dict[str, Asked])
        except ValueError as error:
            raise StateError(f"{path}: damaged ({error}); remove it to begin anew") from error

    def of(self, summary: ContextSummary) -> Asked | None:
        """How far the session had come when it was last asked for; None if it never was."""
        return self._known.get(_name(summary))

    def remember(self, summary: ContextSummary) -> None:
        """Keeps how far the session has come now.

        Raises:
            SourceError: the file cannot be written.
        """
        name = _name(summary)
        self._known.pop(name, None)
        stats = summary.stats
        self._known[name] = Asked(stats.lines.total, stats.message_count)
        while len(self._known) > SESSIONS:
            del self._known[next(iter(self._known))]
        try:
            write_whole(self.path, codec.dumps(self._known))
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be written ({error.strerror})") from error


def _name(summary: ContextSummary) -> str:
    return summary.session.id or summary.session.path
