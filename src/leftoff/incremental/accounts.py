"""The account of a recording's tokens, of a whole file or while it grows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from leftoff.analysis.assemble import story_of
from leftoff.analysis.session_pass import Pass
from leftoff.api import Gathered, open_pass
from leftoff.budget.account import Account, account
from leftoff.budget.thresholds import Preset
from leftoff.budget.windows import ModelRow
from leftoff.errors import FormatError, SourceError
from leftoff.extraction.session_state import Recording
from leftoff.incremental.cursor import Mark
from leftoff.sources.multi_file import in_pieces
from leftoff.sources.open import STDIN, opened, parts_of

_BLOCK = 1 << 20
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class Accounted(Struct, frozen=True):
    """A session's account with the session it is of.

    Attributes:
        models: of the main thread, in the order in which they first spoke.
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
) -> Accounted:
    """The account of the session recorded at `path`, with its subagents' files.

    Args:
        path: a file, a session's directory, or "-" for standard input.
        session: which one, where a file holds several; the last by default.
        windows: rows that come before the built-in table of models.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format.
    """
    main, beside = parts_of(path)
    reading = open_pass(main, format=format)
    return _accounted(reading, main, _children(beside), preset, session, windows)


def _children(beside: Sequence[tuple[str, str]]) -> dict[str, Recording]:
    """The subagents that have files of their own."""
    found: dict[str, Recording] = {}
    for name, side in beside:
        try:
            reading = open_pass(side)
        except FormatError:
            continue  # the empty file of an agent that never spoke
        found[name] = next(r for r in reading.sessions[-1].values() if len(r.thread))
    return found


def _accounted(
    reading: Pass,
    path: str,
    beside: dict[str, Recording],
    preset: Preset,
    session: int,
    windows: Sequence[ModelRow],
) -> Accounted:
    # A subagent's own file stands before the copies in the main one.
    _, main = story_of({**reading.sessions[session], **beside}, {})
    name = reading.format.name if reading.format else ""
    header = main.recording.header
    return Accounted(
        id=main.recording.agent or header.id,
        format=name,
        path=path,
        models=tuple(header.models),
        preset=preset.name,
        account=account(main, main.children, preset, name, windows=windows),
    )


def account_of_gathered(
    gathered: Gathered,
    preset: Preset,
    *,
    agent: str = "",
    windows: Sequence[ModelRow] = (),
) -> Account:
    """The account of what was read for a summary, of all of it or of one subagent.

    Args:
        windows: rows that come before the built-in table of models.
    """
    _, main = story_of(*gathered.recordings(agent))
    return account(main, main.children, preset, gathered.formats[0], windows=windows)


class Following:
    """The account of a file that grows: what is new is read, the rest is remembered.

    What is at the path counts: a file that was written anew, or that another has taken the
    place of, is read from its beginning; so is a recording that is one document whenever it
    changes, one in pieces, and a compressed one.

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
    ) -> None:
        if path == STDIN:
            raise SourceError("standard input cannot be followed; name a file")
        self._path, self._preset = path, preset
        self._format, self._windows = format, windows
        self._reading: Pass | None = None
        self._mark: Mark | None = None
        self._seen: tuple[int, ...] | None = None
        self._latest: Accounted | None = None

    def changed(self) -> Accounted | None:
        """The account now, or None if nothing was written since the last call.

        Raises:
            SourceError: the file cannot be read.
            FormatError: it is surely no recording in a known format.
        """
        if in_pieces(self._path):
            latest = account_of(self._path, self._preset, windows=self._windows)
            if latest == self._latest:
                return None
            self._latest = latest
            return latest
        main, beside = parts_of(self._path)
        try:
            state = Path(main).stat()
        except OSError as error:
            raise SourceError(f"{main}: {error.strerror}") from error
        seen = (state.st_ino, state.st_size, state.st_mtime_ns)
        if seen == self._seen:
            return None
        self._seen = seen
        with opened(main) as file:
            if file.read(4).startswith(_PACKED):
                return account_of(self._path, self._preset, windows=self._windows)
            self._read_on(file, main)
        if self._reading is None:
            return None
        twin = self._reading.fork()
        try:
            twin.close()
        except FormatError:
            return None  # there is no message in it yet
        if twin.format is not None and twin.format.shape == "document":
            self._reading, self._mark = None, None
        return _accounted(twin, main, _children(beside), self._preset, -1, self._windows)

    def _read_on(self, file: BinaryIO, path: str) -> None:
        """Feeds what is new; everything, if the file is not the one that was read before."""
        before = self._mark
        if self._reading is None or before is None or not before.holds(file):
            self._reading, before = None, Mark.of(file, 0)
        offset = before.offset
        file.seek(offset)
        while data := file.read(_BLOCK):
            if self._reading is None:
                self._reading = Pass(path, self._format)
                before = Mark.after(file, data)
            self._reading.feed(data)
            offset += len(data)
        self._mark = Mark.of(file, offset)
        if not before.holds(file):  # written anew meanwhile: the next look begins again
            self._reading, self._mark, self._seen = None, None, None
