"""The state of a running session, and the locked file that holds it."""

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
from leftoff.budget.thresholds import FiredThresholds
from leftoff.errors import StateError
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor
from leftoff.stores.atomic import make_directories, remove_stale_temporaries, write_atomic

SCHEMA = "leftoff.session/1"

RECENT = 256
"""Number of API responses whose usage is saved, to recognise repeated reports."""

LOCK_TIMEOUT = 5.0
"""Seconds to wait for another process that holds the lock of the session's file."""


class SessionState(Struct):
    """The saved state of a running session.

    Attributes:
        basis: "sum" or "occupancy", decided by the first call; "" before it.
        used: tokens used on that basis.
        spent: tokens over distinct API calls.
        armed: the session's thresholds that have fired since the last compaction.
        calls: usage by response id of the latest `RECENT` responses that have an id.
        counts: `used` after each of the latest calls since the last compaction.
        logged_for: reasons for which a resume log was written since the last compaction.
        unlogged: tokens were used since the last resume log.
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
    armed: FiredThresholds = FiredThresholds()
    calls: dict[str, Usage] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    logged_for: tuple[str, ...] = ()
    unlogged: bool = False
    tasks: dict[str, TaskDocument] = field(default_factory=dict)


def load(path: Path) -> SessionState | None:
    """Loads the session saved at `path`; None if there is none. Removes temporary files that
    killed writers left beside it.

    Raises:
        StateError: the file cannot be read, is damaged, or is of another kind.
    """
    remove_stale_temporaries(path)
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
    """Replaces the session at `path` atomically; redacted.

    Raises:
        OSError: it cannot be written; the old content stays.
    """
    write_atomic(path, codec.dumps(Redactor().value(codec.to_builtins(state))))


class StateFile:
    """The file of a session that several processes may share. A lock serialises their changes,
    and each process loads the changes of the others before its own.

    Raises:
        StateError: as for `load`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: Any = None
        self._seen: tuple[int, ...] | None = None
        self.found: SessionState | None = None
        """The session that was last loaded from the file; None if there was none."""
        self._reload()

    def _reload(self) -> bool:
        """Loads the file if it has changed since the last load; returns whether it has."""
        seen = self._identity()
        if seen == self._seen:
            return False
        # The identity is taken before loading: a change in between is loaded again later.
        self.found, self._seen = load(self.path), seen
        return True

    def _identity(self) -> tuple[int, ...] | None:
        try:
            status = os.stat(self.path)  # noqa: PTH116
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Holds the lock of the file. Yields whether another process has changed the session
        since the last load; `found` is then the changed session.

        Raises:
            OSError: the lock cannot be taken; `TimeoutError` after `LOCK_TIMEOUT` seconds.
            StateError: the file does not hold a session.
        """
        from filelock import FileLock, Timeout

        if self._lock is None:
            make_directories(self.path.parent)
            self._lock = FileLock(f"{self.path}.lock", timeout=LOCK_TIMEOUT, mode=0o600)
        try:
            self._lock.acquire(poll_interval=0.005)
        except Timeout:
            raise TimeoutError(110, "held by another process", str(self.path)) from None
        try:
            yield self._reload() and self.found is not None
        finally:
            self._lock.release()

    def save(self, state: SessionState) -> None:
        """Writes the session. The caller holds the lock.

        Raises:
            OSError: as for `save`.
        """
        save(self.path, state)
        self._seen = self._identity()
