"""What a running session has to remember, and where: in memory or in one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from leftoff import codec
from leftoff.budget.tasks import DEFAULT_MODEL, TaskDocument
from leftoff.budget.thresholds import Armed
from leftoff.errors import StateError
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor
from leftoff.stores.atomic import make_folders, sweep, write_whole

SCHEMA = "leftoff.session/1"

RECENT = 256
"""API responses whose usage is remembered, to know a repeated one from a new one."""


PATIENCE = 5.0
"""Seconds to wait for another process that is changing the same session."""


class SessionState(Struct):
    """A running session.

    Attributes:
        basis: "sum", "occupancy", or "" before the first call, which decides.
        used: tokens used on that basis.
        spent: over distinct API calls.
        calls: usage by id of the latest responses, as far as they have one.
        counts: occupancy at each call since the last compaction, the latest ones.
        logged_for: reasons for which a resume log was written since the last compaction.
        unlogged: something was used since the last resume log.
    """

    session_id: str
    schema: str = SCHEMA
    basis: str = ""
    used: int = 0
    spent: Usage = Usage()
    stop_reason: str = ""
    model: str = DEFAULT_MODEL
    started: str = ""
    updated: str = ""
    status: str = "active"
    armed: Armed = Armed()
    calls: dict[str, Usage] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    logged_for: tuple[str, ...] = ()
    unlogged: bool = False
    tasks: dict[str, TaskDocument] = field(default_factory=dict)


def load(path: Path) -> SessionState | None:
    """The session that was saved at `path`, None if there is none. What a killed writer left
    beside it is removed.

    Raises:
        StateError: the file is damaged, or of another kind.
    """
    sweep(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        value: Any = codec.parse(data)
        state = msgspec.convert(value, SessionState)
    except ValueError as error:
        raise StateError(
            f"{path}: no saved session ({error}); remove the file to begin anew"
        ) from error
    if state.schema != SCHEMA:
        raise StateError(f"{path}: schema {state.schema!r}, not {SCHEMA!r}; remove the file")
    return state


def save(path: Path, state: SessionState) -> None:
    """Writes a session over the one at `path`, whole or not at all.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    write_whole(path, codec.dumps(Redactor().value(codec.plain(state))))


class StateFile:
    """The file of a session that several processes may change: one at a time, and each sees
    what the others did.

    Raises:
        StateError: as for `load`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: Any = None
        self._seen: tuple[int, ...] | None = None
        self.found: SessionState | None = None
        """The session that was in the file when it was last looked at."""
        self._look()

    def _look(self) -> bool:
        """Loads what is in the file, if it is not what was last seen; whether it was not."""
        seen = self._now()
        if seen == self._seen:
            return False
        self.found, self._seen = load(self.path), seen  # no older than what is loaded
        return True

    def _now(self) -> tuple[int, ...] | None:
        try:
            told = os.stat(self.path)  # noqa: PTH116
        except OSError:
            return None
        return told.st_ino, told.st_mtime_ns, told.st_size

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Keeps other processes from changing the session; whether one has changed it since
        it was last looked at: then `found` is the session now.

        Raises:
            OSError: it cannot be locked, or another process holds it for too long.
            StateError: what another process wrote is no session.
        """
        from filelock import FileLock, Timeout

        if self._lock is None:
            make_folders(self.path.parent)
            self._lock = FileLock(f"{self.path}.lock", timeout=PATIENCE, mode=0o600)
        try:
            self._lock.acquire(poll_interval=0.005)
        except Timeout:
            raise TimeoutError(110, "held by another process", str(self.path)) from None
        try:
            yield self._look() and self.found is not None
        finally:
            self._lock.release()

    def save(self, state: SessionState) -> None:
        """Writes the session; to be called while it is held.

        Raises:
            OSError: as for `save`.
        """
        save(self.path, state)
        self._seen = self._now()
