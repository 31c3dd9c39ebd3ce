"""The memory as programs use it: `leftoff.memory.open().search("retry webhook")`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from leftoff.batch.pool import Engine
from leftoff.batch.run import Report
from leftoff.memory import blame, fixes, index, ledger, search
from leftoff.memory.lookup import memory_path

P = ParamSpec("P")
T = TypeVar("T")


def _asks(question: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Memory, P], T]:
    """A function of an index's path as a method of the memory."""

    @wraps(question)
    def method(self: Memory, /, *args: P.args, **given: P.kwargs) -> T:
        return question(self.path, *args, **given)

    return method


class Memory:
    """The index over recorded sessions, one SQLite file. Each call opens it, reads and closes
    it, so that it may be used from several threads, and while another process updates it.

    All methods but `update` raise `SourceError` if there is no index yet and `StateError` if it
    is damaged or of another version."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def update(
        self, paths: Iterable[str | PathLike[str]] = (), *, engine: Engine | None = None
    ) -> Report | None:
        """Reads what is new, see `index.update`; None if another process does it. `UsageError`
        where there is no recording."""
        return index.update(self.path, paths, environ=os.environ, engine=engine)

    search = _asks(search.search)
    blame = _asks(blame.blame)
    fix = _asks(fixes.fixes)
    left_open = _asks(ledger.never_taken_up)
    ledger = _asks(ledger.ledger)
    statistics = _asks(index.statistics)


def open(path: str | PathLike[str] | None = None) -> Memory:  # noqa: A001 - as programs say it
    """The memory at `path`; by default that of this user (`LEFTOFF_MEMORY`, else in the user's
    state folder)."""
    return Memory(memory_path(os.environ) if path is None else path)
