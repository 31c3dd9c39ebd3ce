"""A recording that is followed while it grows, wherever it goes.

    follower = Follower("session.jsonl", folder)
    follower.look()        # reads what is new; as often as wanted
    follower.summary()     # as `summarize` of the same files, byte for byte

What was read is kept in the folder (see `kept_passes`), so a follower that is killed goes on
where it was; each line counts once. A line counts when its end is there: one that is not ended
is told in a summary and read again.

A recording is known by its file and by the bytes at both ends of what was read, not by its
name. So for what stands at the path:

    it grew                         what is new is read
    it was renamed, or copied and   it is read to its end where it is now, in the same folder;
    then emptied or replaced        what is at the path is a new recording
    it was emptied, rewritten,      what is at the path is a new recording; the one before is
    removed or replaced             gone, and so is what was read of it
    the path is a link that         the recording that it led to is followed where it is; what
    leads elsewhere now             the link leads to now is a new recording

Recordings that belong together (one session id, or records in common) are told as one, as
`summarize` tells several files; of others only the newest is told, which is the one before
while no message stands in what is at the path. Nobody can read what was written and destroyed
between two looks, or stood at the path only between them. A compressed copy is gone. A
recording that is one document is written anew whenever it grows, so it is whatever stands at
its path, and is read whole each time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from leftoff import api, codec
from leftoff.analysis.continuations import groups
from leftoff.analysis.session_pass import Pass
from leftoff.errors import FormatError, InputError, SourceError, StateError
from leftoff.incremental.cursor import Mark
from leftoff.incremental.saved_passes import ANEW, KeptPass, NotReadOn, WrittenAnew
from leftoff.redaction.redactor import Redactor
from leftoff.sources.multi_file import in_pieces
from leftoff.sources.open import STDIN, opened, parts_of
from leftoff.stores.atomic import Folder, make_folders, sweep, write_whole
from leftoff.summary import ContextSummary

SCHEMA = "leftoff.followed/1"
PARTS, LOCK = "followed.json", "followed.lock"

PATIENCE = 5.0
"""Seconds to wait for another process that follows with the same folder."""

COPY = 1024
"""Bytes that must have been read of a recording for a copy of it to be known."""


class Part(Struct, frozen=True):
    """A recording that was at the path.

    Attributes:
        number: names the folder of what was read of it.
        path: where it is now.
        home: the folder that holds its file, links resolved; it is looked for there.
        whole: it is one document, or compressed: what is at its path is read whole each time.
    """

    number: int
    path: str
    home: str
    mark: Mark
    whole: bool = False


class _Followed(Struct):
    """What `followed.json` holds: parts in the order in which they were at the path.

    Attributes:
        last: the number of the last part that began.
        beside: bytes of its subagents' own files; these are read whole for each summary.
    """

    schema: str = SCHEMA
    path: str = ""
    last: int = 0
    parts: list[Part] = []
    beside: int = 0


class Look(Struct, frozen=True):
    """What a look found.

    Attributes:
        read: bytes that were new.
        complete: False if a recording was on the move: the next look finds it.
        began: a new recording is at the path.
        gone: recordings that are nowhere any more, by the path where they were.
    """

    read: int = 0
    complete: bool = True
    began: bool = False
    gone: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a summary may now say something else."""
        return bool(self.read or self.began or self.gone)


class Follower:
    """Follows what stands at a path.

    Args:
        path: a file, or a session's directory.
        folder: where it keeps what it read, for this path alone; made when it is needed. One
            process at a time uses it, others wait.

    Raises:
        SourceError: standard input, or a session that is kept in pieces.
    """

    def __init__(self, path: str | os.PathLike[str], folder: Path) -> None:
        self.path = str(path)
        self.folder = folder
        self._saved: tuple[bytes, _Followed] | None = None
        if self.path == STDIN or in_pieces(self.path):
            raise SourceError(f"{self.path}: cannot be followed; name a file that grows")

    def look(self) -> Look:
        """Reads what is new.

        Raises:
            SourceError: there is nothing at the path, and never was; or it cannot be read.
            FormatError: it is no recording in a known format.
            StateError: what is kept cannot be read or written now, or another process follows
                with this folder; what was kept stays.
        """
        with self._held():
            return self._look()[0]

    def summary(self) -> ContextSummary:
        """The summary of what stands at the path, together with the recordings before it that
        belong to it, as `summarize` gives it for these files. Looks before it tells.

        Raises:
            FormatError: there is no message in them in a known format.
            SourceError, StateError: as for `look`.
        """
        with self._held():
            for last in (*[False] * ANEW, True):
                parts = self._look()[1]
                try:
                    found = self._summary(parts)
                    if last or all(_is_at(part, part.path) for part in parts):
                        return found
                except SourceError:  # one may have been rotated in between
                    if last:
                        raise
            raise AssertionError

    @property
    def parts(self) -> tuple[Part, ...]:
        """The recordings that are followed, in the order in which they were at the path."""
        return tuple(self._load().parts)

    def _look(self) -> tuple[Look, list[Part]]:
        followed = self._load()
        kept = _copy_of(followed)
        gone = _settle(followed)
        began = self._arrive(followed)
        if followed != kept:  # known before it is read: we may be killed
            self._save(followed)
            kept = _copy_of(followed)
        read, complete = 0, True
        refused: InputError | None = None
        for index, part in enumerate(followed.parts):
            try:
                news, all_of_it, followed.parts[index] = self._read(part)
            except InputError as error:  # the others are read all the same
                refused = error
                continue
            read += news
            complete = complete and all_of_it
        beside = self._beside()
        read += abs(beside - followed.beside)
        followed.beside = beside
        if followed != kept:
            self._save(followed)
        if refused is not None:
            raise refused
        return Look(read, complete, began, tuple(gone)), followed.parts

    def _summary(self, parts: list[Part]) -> ContextSummary:
        read: dict[str, Pass] = {}
        refused: FormatError | None = None
        for part in parts:
            try:
                read[part.path] = self._kept(part).complete(part.path)
            except FormatError as error:  # nothing was said in it yet
                refused = error
        if not read:
            raise refused or SourceError(f"{self.path}: nothing is there any more")
        mains = [reading.sessions[-1][""] for reading in read.values()]
        told = next(group for group in groups(mains) if len(mains) - 1 in group)
        paths = list(read)

        def open_pass(path: str, **options: object) -> Pass:
            return read[path] if path in read else api.open_pass(path)

        gathered = api.Gathered(open_pass)
        for index in sorted(told):
            gathered.add(paths[index], None, (), -1)
        return gathered.summary("")

    def _arrive(self, followed: _Followed) -> bool:
        """Makes what is at the path the last part; whether it was not."""
        main, _ = parts_of(self.path)
        for index, part in enumerate(followed.parts):
            if _same_file(part.path, main):
                del followed.parts[index]
                followed.parts.append(msgspec.structs.replace(part, path=main))
                return index != len(followed.parts) - 1
        try:
            with opened(main) as file:
                mark = Mark.of(file, 0)
        except SourceError:
            if followed.last:
                return False  # between a rename and the next beginning
            raise
        followed.path = self.path
        followed.last += 1
        home = os.path.dirname(os.path.realpath(main))  # noqa: PTH120
        followed.parts.append(Part(followed.last, main, home, mark))
        return True

    def _beside(self) -> int:
        size = 0
        for _, side in parts_of(self.path)[1]:
            with suppress(OSError):
                size += os.stat(side).st_size  # noqa: PTH116
        return size

    # -- reading ---------------------------------------------------------------------------

    def _kept(self, part: Part) -> KeptPass:
        return KeptPass(self.folder / str(part.number))

    def _read(self, part: Part) -> tuple[int, bool, Part]:
        """Reads what is new in a part: bytes, whether that is all, and the part as it is.

        One that is not where it was a moment ago is left for the next look.
        """
        before = part.mark
        try:
            with opened(part.path) as file:
                told = os.fstat(file.fileno())
                if not _fits(part, file):
                    if not part.whole:
                        return 0, False, part
                    mark = Mark.of(file, told.st_size)  # it was written anew
                    return told.st_size, True, msgspec.structs.replace(part, mark=mark)
                mark = Mark(told.st_dev, told.st_ino, before.offset, before.edges)
                whole = part.whole
                if told.st_size != before.offset:
                    mark = Mark.of(file, told.st_size)
                    try:
                        self._kept(part).read_file(file, part.path)
                        whole = False
                    except NotReadOn:
                        whole = True
                    if not _fits(part, file):
                        return 0, False, part
        except WrittenAnew:
            return 0, False, part
        except SourceError as error:
            if _is_absence(error):
                return 0, False, part
            raise
        news = mark.offset - before.offset
        return news, True, msgspec.structs.replace(part, mark=mark, whole=whole)

    # -- what is kept ----------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        try:
            make_folders(self.folder)
            with FileLock(self.folder / LOCK, timeout=PATIENCE, mode=0o600):
                yield
        except Timeout as error:
            what = "another process follows with this folder; try again or name another"
            raise StateError(f"{self.folder}: {what}") from error
        except OSError as error:
            where, why = error.filename or self.folder, error.strerror or error
            raise StateError(f"{where}: {why}; what was kept stays") from error

    def _load(self) -> _Followed:
        """What is followed; nothing where nothing valid is kept: all is read again.

        Raises:
            OSError: it cannot be read now: parts that have moved would be forgotten.
        """
        sweep(self.folder / PARTS)
        with suppress(FileNotFoundError, ValueError), Folder.opened(self.folder) as folder:
            data = folder.read(PARTS, codec.MAX_DOCUMENT)
            if self._saved is not None and data == self._saved[0]:
                return _copy_of(self._saved[1])
            followed = msgspec.json.decode(data, type=_Followed)
            if followed.schema == SCHEMA and followed.path == self.path:
                return followed
        return _Followed()

    def _save(self, followed: _Followed) -> None:
        """Keeps what is followed, and nothing of what is not."""
        # A path with a secret, or that is no text, is not kept: the next one reads all again.
        data = codec.dumps(Redactor().value(codec.plain(followed)))
        write_whole(self.folder / PARTS, data)
        self._saved = data, _copy_of(followed)
        known = {str(part.number) for part in followed.parts}
        for entry in os.scandir(self.folder):
            if entry.name.isdecimal() and entry.name not in known:
                shutil.rmtree(entry.path, ignore_errors=True)


def _copy_of(followed: _Followed) -> _Followed:
    return msgspec.structs.replace(followed, parts=[*followed.parts])


# -- where recordings are ------------------------------------------------------------------


def _settle(followed: _Followed) -> list[str]:
    """Finds out where each part is now; those that are nowhere are let go: their paths."""
    gone: list[str] = []
    parts: list[Part] = []
    at = [part.whole or _is_at(part, part.path) for part in followed.parts]
    taken = [part.path for part, there in zip(followed.parts, at, strict=True) if there]
    for part, there in zip(followed.parts, at, strict=True):
        where = part.path if there else _search(part, taken)
        if where is None:
            gone.append(part.path)
            continue
        taken.append(where)
        parts.append(msgspec.structs.replace(part, path=where))
    followed.parts = parts
    return gone


def _search(part: Part, taken: list[str]) -> str | None:
    """Where in its folder a recording is that is not at its path any more: the file itself
    before a copy."""
    try:
        entries = list(os.scandir(part.home))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"{part.home}: {error.strerror}") from error
    entries.sort(key=lambda entry: (entry.inode() != part.mark.inode, entry.name))
    for entry in entries:
        try:
            if entry.is_file(follow_symlinks=False) and _is_at(part, entry.path):
                if not any(_same_file(entry.path, other) for other in taken):
                    return entry.path
        except SourceError as error:
            others = entry.inode() != part.mark.inode  # somebody else's file, it may be
            if not (others and isinstance(error.__cause__, PermissionError)):
                raise
    return None


def _is_at(part: Part, path: str) -> bool:
    """Whether the recording, or a copy of it, is the file at a path.

    Raises:
        SourceError: it cannot be told, because reading fails.
    """
    try:
        with opened(path) as file:
            return _fits(part, file)
    except SourceError as error:
        if _is_absence(error):
            return False
        raise


def _is_absence(error: SourceError) -> bool:
    """Whether a recording is not there, rather than not to be read now."""
    return isinstance(error.__cause__, FileNotFoundError | NotADirectoryError | None)


def _fits(part: Part, file: BinaryIO) -> bool:
    mark = part.mark
    by_words = part.whole or mark.offset >= COPY
    return mark.fits(file) if by_words else mark.holds(file)


def _same_file(one: str, other: str) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)  # noqa: PTH121
    return False
