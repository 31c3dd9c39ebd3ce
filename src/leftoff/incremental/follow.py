"""Follows a growing recording, also when its file is renamed, copied or replaced.

    follower = Follower("session.jsonl", folder)
    follower.look()        # reads what was added; call it at any interval
    follower.summary()     # as `summarize` of the same files, byte for byte

What was read is saved in the folder (see `saved_passes`), so a follower that was killed resumes
where it stopped, and each line counts once. A line without its line end is part of a summary,
but is read again.

A recording is identified by its file and by the bytes at both ends of what was read, not by its
name. So for the file at the path:

    it grew                         what was added is read
    it was renamed, or copied and   it is read to its end where it is now, in the same folder;
    then emptied or replaced        what is at the path is a new recording
    it was emptied, rewritten,      what is at the path is a new recording; the one before is
    removed or replaced             dropped, with what was read of it
    the path is a link that         the recording that it led to is followed where it is; what
    leads elsewhere now             the link leads to now is a new recording

Recordings that belong together (one session id, or records in common) are summarized as one, as
`summarize` does with several files; otherwise only the newest one that has a message. Data that
is written and destroyed between two calls of `look` is not seen. A recording that was
compressed is dropped. A recording that is one document is rewritten whenever it grows, so it is
whatever file is at its path, and is read whole each time."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

from msgspec import Struct
from msgspec.structs import replace

from leftoff import api
from leftoff.analysis.continuations import groups
from leftoff.analysis.session_pass import Pass
from leftoff.errors import Damaged, FormatError, InputError, SourceError
from leftoff.incremental.cursor import MAX_RETRIES, Cursor, FileReplaced, NotResumable
from leftoff.incremental.saved_passes import SavedPass, no_garbage_collection
from leftoff.sources.multi_file import is_multi_file
from leftoff.sources.open import STDIN, open_regular, session_paths
from leftoff.stores.locked_file import HeldFile, LockedFile
from leftoff.summary import ContextSummary

PARTS = "followed.json"
# Bytes that must have been read of a recording for a copy of it to be recognized. Chosen by
# hand; not measured.
MIN_COPY_BYTES = 1024


class FollowedFile(Struct, frozen=True):
    """A recording that was at the path.

    Attributes:
        number: name of the folder that holds its saved pass.
        path: where it is now.
        home: the folder of its file, links resolved; a moved file is searched there.
        whole: it is one document or compressed, and is read whole each time."""

    number: int
    path: str
    home: str
    mark: Cursor
    whole: bool = False


class _Followed(Struct, frozen=True):
    """What `followed.json` holds: parts in the order in which they were at the path.

    Attributes:
        last: the highest number in use.
        beside: bytes of its subagents' own files, which are read whole for each summary."""

    schema: Literal["leftoff.followed/1"] = "leftoff.followed/1"
    path: str = ""
    last: int = 0
    parts: tuple[FollowedFile, ...] = ()
    beside: int = 0


class Look(Struct, frozen=True):
    """The result of `Follower.look`.

    Attributes:
        read: bytes that were added.
        complete: False if a recording was being moved; the next call finds it.
        began: whether a new recording is at the path.
        deleted: the last known paths of recordings that no longer exist."""

    read: int = 0
    complete: bool = True
    began: bool = False
    deleted: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the summary may have changed."""
        return bool(self.read or self.began or self.deleted)


class Follower:
    """Follows the recording at a path.

    Args:
        path: a file, or a session's directory.
        folder: for saved state, for this path only; created when needed. One process at a time
            uses it; others wait.

    Raises:
        SourceError: the path is standard input or a session of several files."""

    def __init__(self, path: str | os.PathLike[str], folder: Path) -> None:
        self.path = str(path)
        self.folder = folder
        self._file: LockedFile[_Followed] = LockedFile(folder / PARTS, _Followed)
        if self.path == STDIN or is_multi_file(self.path):
            raise SourceError(f"{self.path}: cannot be followed; name a file that grows")

    def look(self) -> Look:
        """Reads what was added.

        Raises:
            SourceError: the path never existed, or cannot be read.
            FormatError: it is no recording in a known format.
            StateError: the saved state cannot be read or written, or another process uses the
                folder; the old state stays."""
        with self._file.locked() as held:
            return self._read_all(held)[0]

    def summary(self) -> ContextSummary:
        """The summary of the recording at the path together with the earlier ones that belong
        to it, as `summarize` gives it for these files. Calls `look` first.

        Raises:
            FormatError: there is no message in them in a known format.
            SourceError, StateError: as for `look`."""
        with self._file.locked() as held:
            for last in (*[False] * MAX_RETRIES, True):
                parts = self._read_all(held)[1]
                try:
                    found = self._summary(parts)
                    if last or all(_is_at(part, part.path) for part in parts):
                        return found
                except SourceError:  # one may have been rotated in between
                    if last:
                        raise
            raise AssertionError

    @property
    def parts(self) -> tuple[FollowedFile, ...]:
        """The followed recordings, in the order in which they were at the path."""
        return self._load(self._file).parts

    def _read_all(self, held: HeldFile[_Followed]) -> tuple[Look, Sequence[FollowedFile]]:
        saved = self._load(held)
        # In this order: a recording that was renamed still has, in the saved state, the path at
        # which another one is now.
        there, missing = _found_again(saved)
        followed, began = self._with_current(there)
        if followed != saved:  # saved before it is read, because the process may be killed
            self._save(held, followed)
        parts = [*followed.parts]
        read, complete = 0, True
        refused: InputError | None = None
        for index, part in enumerate(parts):
            try:
                news, all_of_it, parts[index] = self._read(part)
            except InputError as error:  # the others are read all the same
                refused = error
                continue
            read += news
            complete = complete and all_of_it
        beside = self._beside()
        read += abs(beside - followed.beside)
        now = replace(followed, parts=tuple(parts), beside=beside)
        if now != followed:
            self._save(held, now)
        if refused is not None:
            raise refused
        return Look(read, complete, began, tuple(missing)), parts

    def _summary(self, parts: Sequence[FollowedFile]) -> ContextSummary:
        read: dict[str, Pass] = {}
        refused: InputError | None = None
        for part in parts:
            try:
                read[part.path] = self._saved_pass(part).complete(part.path)
            except FormatError as error:  # it has no message yet
                refused = error
            except SourceError as error:
                if not _is_absence(error):
                    raise
                refused = error  # removed since the look, as rotation does
        if not read:
            raise refused or SourceError(f"{self.path}: nothing is there any more")
        mains = [reading.sessions[-1][""] for reading in read.values()]
        related = next(group for group in groups(mains) if len(mains) - 1 in group)
        paths = list(read)

        def open_pass(path: str, **options: object) -> Pass:
            return read[path] if path in read else api.open_pass(path)

        gathered = api.SessionReading(open_pass)
        for index in sorted(related):
            gathered.add(paths[index], None, (), -1)
        with no_garbage_collection():
            return gathered.summary("")

    def _with_current(self, followed: _Followed) -> tuple[_Followed, bool]:
        """The file at the path as the last part, and whether it was not before."""
        main, _ = session_paths(self.path)
        parts = followed.parts
        for part in parts:
            if _same_file(part.path, main):
                others = tuple(other for other in parts if other is not part)
                now = replace(followed, parts=(*others, replace(part, path=main)))
                return now, part is not parts[-1]
        try:
            with open_regular(main) as file:
                mark = Cursor.at(file, 0)
        except SourceError:
            if followed.last:
                return followed, False  # renamed, and the next file is not there yet
            raise
        number = followed.last + 1
        home = os.path.dirname(os.path.realpath(main))  # noqa: PTH120
        parts = (*parts, FollowedFile(number, main, home, mark))
        return replace(followed, path=self.path, last=number, parts=parts), True

    def _beside(self) -> int:
        size = 0
        for _, side in session_paths(self.path)[1]:
            with suppress(OSError):
                size += os.stat(side).st_size  # noqa: PTH116
        return size

    # -- reading ---------------------------------------------------------------------------

    def _saved_pass(self, part: FollowedFile) -> SavedPass:
        return SavedPass(self.folder / str(part.number))

    def _read(self, part: FollowedFile) -> tuple[int, bool, FollowedFile]:
        """Reads what was added to a part: number of bytes, whether that is all, and the updated
        part. A part that was moved meanwhile is left for the next call."""
        before, whole = part.mark, part.whole
        try:
            with open_regular(part.path) as file:
                mark = Cursor.at(file, os.fstat(file.fileno()).st_size)
                if not _fits(part, file):
                    if not whole:
                        return 0, False, part
                    return mark.offset, True, replace(part, mark=mark)  # it was rewritten
                if mark.offset != before.offset:
                    try:
                        self._saved_pass(part).read_file(file, part.path)
                        whole = False
                    except NotResumable:
                        whole = True
                    # Once more: it may have been rewritten while it was read.
                    if not _fits(part, file):
                        return 0, False, part
        except SourceError as error:
            if isinstance(error, FileReplaced) or _is_absence(error):
                return 0, False, part
            raise
        news = mark.offset - before.offset
        return news, True, replace(part, mark=mark, whole=whole)

    # -- saved state -----------------------------------------------------------------------

    def _load(self, file: LockedFile[_Followed] | HeldFile[_Followed]) -> _Followed:
        """The saved state; an empty one if none is valid, and then everything is read again.

        Raises:
            StateError: it cannot be read. An empty state would lose files that were renamed."""
        with suppress(Damaged):
            followed = file.load()
            # A path that redaction changes or that is not valid UTF-8 does not match.
            if followed is not None and followed.path == self.path:
                return followed
        return _Followed()

    def _save(self, held: HeldFile[_Followed], followed: _Followed) -> None:
        held.save(followed)
        # After the save: a kill in between leaves a folder too many, not a part without one.
        known = {str(part.number) for part in followed.parts}
        for entry in os.scandir(self.folder):
            if entry.name.isdecimal() and entry.name not in known:
                shutil.rmtree(entry.path, ignore_errors=True)


# -- where recordings are ------------------------------------------------------------------


def _found_again(followed: _Followed) -> tuple[_Followed, list[str]]:
    """Each part with its path as it is now, and the last paths of those that no longer exist,
    which are dropped."""
    missing: list[str] = []
    parts: list[FollowedFile] = []
    there = [p for p in followed.parts if p.whole or _is_at(p, p.path)]
    taken = [part.path for part in there]
    for part in followed.parts:
        where = part.path if part in there else _find_moved(part, taken)
        if where is None:
            missing.append(part.path)
            continue
        taken.append(where)
        parts.append(replace(part, path=where))
    return replace(followed, parts=tuple(parts)), missing


def _find_moved(part: FollowedFile, taken: list[str]) -> str | None:
    """The new path of a moved recording in its folder; the file itself comes before a copy."""
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
            others = entry.inode() != part.mark.inode  # perhaps the file of another user
            if not (others and isinstance(error.__cause__, PermissionError)):
                raise
    return None


def _is_at(part: FollowedFile, path: str) -> bool:
    """Whether the recording, or a copy of it, is the file at a path.

    Raises:
        SourceError: reading failed."""
    try:
        with open_regular(path) as file:
            return _fits(part, file)
    except SourceError as error:
        if _is_absence(error):
            return False
        raise


def _is_absence(error: SourceError) -> bool:
    return isinstance(error.__cause__, FileNotFoundError | NotADirectoryError | None)


def _fits(part: FollowedFile, file: BinaryIO) -> bool:
    mark = part.mark
    by_words = part.whole or mark.offset >= MIN_COPY_BYTES
    return mark.is_copied_in(file) if by_words else mark.is_in(file)


def _same_file(one: str, other: str) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)  # noqa: PTH121
    return False
