"""Token accounts of recordings: of a whole file, or of a growing one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from leftoff._moved import moved_name
from leftoff.analysis.assemble import view_of
from leftoff.analysis.session_pass import Pass
from leftoff.api import SessionReading, open_pass
from leftoff.budget.account import Account, account
from leftoff.budget.prices import PriceRow
from leftoff.budget.thresholds import Preset
from leftoff.budget.windows import ModelRow
from leftoff.errors import FormatError, SourceError
from leftoff.extraction.session_state import SessionState
from leftoff.incremental.cursor import FilePosition
from leftoff.sources.multi_file import is_multi_file
from leftoff.sources.open import STDIN, open_regular, session_paths

_BLOCK = 1 << 20
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class SessionAccount(Struct, frozen=True):
    """The token account of one session.

    Attributes:
        models: of the main thread, in order of first use.
    """

    id: str
    format: str
    path: str
    models: tuple[str, ...]
    preset: str
    account: Account


def account_of(
    path: str,
    preset: Preset,
    *,
    format: str | None = None,
    session: int = -1,
    windows: Sequence[ModelRow] = (),
    prices: Sequence[PriceRow] = (),
) -> SessionAccount:
    """The account of the session recorded at `path`, with its subagents' files.

    Args:
        path: a file, a session's directory, or "-" for standard input.
        session: which one, where a file holds several; the last by default.
        windows, prices: rows that come before those of the built-in tables.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format.
    """
    main, beside = session_paths(path)
    reading = open_pass(main, format=format)
    return _accounted(reading, main, _children(beside), preset, session, windows, prices)


def _children(beside: Sequence[tuple[str, str]]) -> dict[str, SessionState]:
    """The subagents that have files of their own."""
    found: dict[str, SessionState] = {}
    for name, side in beside:
        try:
            reading = open_pass(side)
        except FormatError:
            continue  # the empty file of a subagent that wrote nothing
        found[name] = next(r for r in reading.sessions[-1].values() if len(r.thread))
    return found


def _accounted(
    reading: Pass,
    path: str,
    beside: dict[str, SessionState],
    preset: Preset,
    session: int,
    windows: Sequence[ModelRow],
    prices: Sequence[PriceRow],
) -> SessionAccount:
    # A subagent's own file takes precedence over the copies in the main one.
    _, main = view_of({**reading.sessions[session], **beside}, {})
    name = reading.format.name if reading.format else ""
    header = main.state.header
    return SessionAccount(
        id=main.state.agent or header.id,
        format=name,
        path=path,
        models=tuple(header.models),
        preset=preset.name,
        account=account(main, main.children, preset, name, windows=windows, prices=prices),
    )


def account_of_reading(
    gathered: SessionReading,
    preset: Preset,
    *,
    agent: str = "",
    windows: Sequence[ModelRow] = (),
    prices: Sequence[PriceRow] = (),
) -> Account:
    """The account of recordings that were read for a summary, or of one subagent in them.

    Args:
        windows, prices: rows that come before those of the built-in tables.
    """
    _, main = view_of(*gathered.recordings(agent))
    return account(
        main, main.children, preset, gathered.formats[0], windows=windows, prices=prices
    )


class AccountFollower:
    """Keeps the account of a growing file up to date and reads only what was added.

    A file that was rewritten or replaced is read from its beginning. A recording that is one
    document, compressed, or made of several files is read whole whenever it changes.

    Args:
        path: a file or a session's directory.

    Raises:
        SourceError: standard input cannot be followed.
    """

    def __init__(
        self,
        path: str,
        preset: Preset,
        *,
        format: str | None = None,
        windows: Sequence[ModelRow] = (),
        prices: Sequence[PriceRow] = (),
    ) -> None:
        if path == STDIN:
            raise SourceError("standard input cannot be followed; name a file")
        self._path, self._preset = path, preset
        self._format, self._windows, self._prices = format, windows, prices
        self._reading: Pass | None = None
        self._mark: FilePosition | None = None
        self._seen: tuple[int, ...] | None = None
        self._latest: SessionAccount | None = None

    def changed(self) -> SessionAccount | None:
        """The account now, or None if nothing was written since the last call.

        Raises:
            SourceError: the file cannot be read.
            FormatError: it is surely no recording in a known format.
        """
        if is_multi_file(self._path):
            latest = account_of(
                self._path, self._preset, windows=self._windows, prices=self._prices
            )
            if latest == self._latest:
                return None
            self._latest = latest
            return latest
        main, beside = session_paths(self._path)
        try:
            state = Path(main).stat()
        except OSError as error:
            raise SourceError(f"{main}: {error.strerror}") from error
        seen = (state.st_ino, state.st_size, state.st_mtime_ns)
        if seen == self._seen:
            return None
        self._seen = seen
        with open_regular(main) as file:
            if file.read(4).startswith(_COMPRESSED):
                return account_of(
                    self._path, self._preset, windows=self._windows, prices=self._prices
                )
            self._read_new(file, main)
        if self._reading is None:
            return None
        fork = self._reading.fork()
        try:
            fork.close()
        except FormatError:
            return None  # there is no message in it yet
        if fork.format is not None and fork.format.shape == "document":
            self._reading, self._mark = None, None
        return _accounted(
            fork, main, _children(beside), self._preset, -1, self._windows, self._prices
        )

    def _read_new(self, file: BinaryIO, path: str) -> None:
        """Feeds what was added; everything, if it is not the file that was read before."""
        before = self._mark
        if self._reading is None or before is None or not before.holds(file):
            self._reading, before = None, FilePosition.of(file, 0)
        offset = before.offset
        file.seek(offset)
        while data := file.read(_BLOCK):
            if self._reading is None:
                self._reading = Pass(path, self._format)
                before = FilePosition.after(file, data)
            self._reading.feed(data)
            offset += len(data)
        self._mark = FilePosition.of(file, offset)
        if not before.holds(file):  # replaced meanwhile: the next call starts over
            self._reading, self._mark, self._seen = None, None, None


def __getattr__(name: str) -> object:
    """Former names of this module."""
    return moved_name("incremental.accounts", name)
