"""The memory as programs use it: `leftoff.memory.open().search("retry webhook")`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from leftoff.batch.pool import Engine
from leftoff.batch.run import Report
from leftoff.memory.blame import Origin, blame
from leftoff.memory.fixes import Fix, fixes
from leftoff.memory.index import statistics, update
from leftoff.memory.ledger import Standing, ledger, never_taken_up
from leftoff.memory.lookup import memory_path
from leftoff.memory.search import ALL, Filters, Hit, search


class Memory:
    """The index over recorded sessions. Each call opens it, reads and closes it, so that it may
    be used from several threads, and while another process updates it.

    All methods but `update` raise `SourceError` if there is no index yet and `StateError` if it
    is damaged or of another version.

    Attributes:
        path: of the index, one SQLite file.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def update(
        self, paths: Iterable[str | PathLike[str]] = (), *, engine: Engine | None = None
    ) -> Report | None:
        """Reads what is new, see `index.update`; None if another process does it.

        Raises:
            UsageError: there is no recording.
        """
        return update(self.path, paths, environ=os.environ, engine=engine)

    def search(self, query: str, filters: Filters = ALL, *, limit: int = 10) -> list[Hit]:
        """The entries that fit the words of a query best, best first.

        Raises:
            UsageError: no word to look for; unknown kind or speaker.
        """
        return search(self.path, query, filters, limit=limit)

    def blame(
        self, file: str | PathLike[str], lines: tuple[int, int] | None = None
    ) -> list[Origin]:
        """Which session last wrote the lines of a file as it is now (from 1; all if None).

        Raises:
            SourceError: the file cannot be read.
            UsageError: it has no such line.
        """
        return blame(self.path, Path(file), lines)

    def fix(self, error: str, filters: Filters = ALL, *, limit: int = 5) -> list[Fix]:
        """Earlier failures like `error`, those that were mended first.

        Raises:
            UsageError: the error is empty.
        """
        return fixes(self.path, error, filters, limit=limit)

    def ledger(self, filters: Filters = ALL) -> list[Standing]:
        """The person's constraints and decisions that hold, the latest first, then those that
        ended."""
        return ledger(self.path, filters)

    def left_open(self, filters: Filters = ALL) -> list[Hit]:
        """What sessions left open and no later session of the project took up."""
        return never_taken_up(self.path, filters)

    def statistics(self) -> dict[str, int | str]:
        """What the index holds."""
        return statistics(self.path)


def open(path: str | PathLike[str] | None = None) -> Memory:  # noqa: A001 - as programs say it
    """The memory at `path`; by default that of this user (`LEFTOFF_MEMORY`, else in the user's
    state folder)."""
    return Memory(memory_path(os.environ) if path is None else path)
