"""How far each session had come when somebody last asked for it: `summarize --since last`."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import SourceError, StateError
from leftoff.stores.atomic import Folder, NotSynced, inside
from leftoff.stores.lookup import reason
from leftoff.summary import ContextSummary

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
        name = self.path.name
        try:
            with inside(self.path.parent) as folder, folder.locked(f"{name}.lock", PATIENCE):
                folder.sweep(name)
                return self._exchange(folder, summary)
        except TimeoutError as error:
            raise SourceError(f"{self.path}: held by another process; try again") from error
        except NotSynced as error:
            why = f"written, but not certain to stay ({error.strerror})"
            raise SourceError(f"{self.path}: {why}") from error
        except OSError as error:
            raise SourceError(f"{self.path}: {reason(error)}") from error

    def _exchange(self, folder: Folder, summary: ContextSummary) -> Asked | None:
        known = self._read(folder)
        name = summary.session.id or summary.session.path
        before = known.pop(name, None)
        stats = summary.stats
        known[name] = Asked(stats.lines.total, stats.message_count)
        while len(known) > SESSIONS:
            del known[next(iter(known))]
        with folder.stage(self.path.name, codec.dumps(known)) as staged:
            staged.commit()
        folder.sync()
        return before

    def _read(self, folder: Folder) -> dict[str, Asked]:
        try:
            data = folder.read(self.path.name, codec.MAX_DOCUMENT)
            return msgspec.json.decode(data, type=dict[str, Asked])
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise StateError(
                f"{self.path}: damaged ({error}); remove it to begin anew"
            ) from error
