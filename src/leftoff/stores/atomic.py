"""The one way to write a file: whole or not at all, readable by its owner only, and to stay.

A file is written under a name of its own beside the one that it will replace, brought to the
disk, and put in its place in one step; then the folder is brought to the disk. What a killed
writer leaves under such a name is known by it, and `sweep` removes it; a writer that is alive
holds its file locked, so nobody sweeps that away.

A failed `fsync` is never tried again on the same file: the system may have forgotten what it
could not write. The new file is given up, and the old one stays.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

fcntl: Any = None
with suppress(ImportError):  # Windows: an open file cannot be removed there, which does as well
    import fcntl

_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_CLOSED: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_INSIDE: Final = {os.open, os.rename, os.link, os.unlink, os.mkdir} <= os.supports_dir_fd
_GLANCE: Final = 0.005
"""Seconds between two looks at a lock that somebody else holds."""

_TEMPORARY: Final = re.compile(r"\.(.+)\.[0-9a-f]{16}\.tmp", re.DOTALL)


class NotSynced(OSError):
    """The file is in its place, but the folder could not be brought to the disk: the new file
    may be gone after a power cut."""


class Folder:
    """An open folder. Names are looked up in the folder itself, so a link that somebody puts
    in its place meanwhile leads nowhere. Where the system cannot do that, paths are used."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._at = descriptor

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[Folder]:
        """The folder at `path`, for as long as the block runs.

        Raises:
            OSError: there is none, or it cannot be opened.
        """
        yield from cls(path, None)._opened(path, 0)

    @contextmanager
    def inner(self, name: str) -> Iterator[Folder]:
        """A folder in this one, which must not be a link.

        Raises:
            OSError: there is none, it is a link, or it cannot be opened.
        """
        yield from self._opened(self.path / name, _NOFOLLOW)

    def _opened(self, path: Path, flags: int) -> Iterator[Folder]:
        if not _INSIDE:
            if flags and path.is_symlink():
                raise NotADirectoryError(20, "is a link", str(path))
            if not path.is_dir():
                raise FileNotFoundError(2, "No such folder", str(path))
            yield Folder(path, None)
            return
        flags |= os.O_RDONLY | os.O_DIRECTORY | _CLOSED
        inside = self._at is not None
        descriptor = os.open(path.name if inside else path, flags, dir_fd=self._at)
        try:
            yield Folder(path, descriptor)
        finally:
            with suppress(OSError):  # nothing was written through it
                os.close(descriptor)

    def _name(self, name: str) -> str:
        return name if self._at is not None else str(self.path / name)

    def make(self, name: str) -> None:
        """Makes a folder in this one, for its owner only, unless something of that name is
        there."""
        try:
            os.mkdir(self._name(name), 0o700, dir_fd=self._at)
        except FileExistsError:
            return
        self.sync()

    def names(self) -> list[str]:
        """The names of everything in it, sorted."""
        return sorted(os.listdir(self.path if self._at is None else self._at))  # noqa: PTH208

    def stat(self, name: str) -> os.stat_result:
        """What is known of a file; of a link itself, not of what it leads to."""
        return os.stat(self._name(name), dir_fd=self._at, follow_symlinks=False)

    def read(self, name: str, most: int) -> bytes:
        """A regular file, whole.

        Raises:
            FileNotFoundError: there is none.
            OSError: it is a link, no regular file, larger than `most` bytes, or unreadable.
        """
        flags = os.O_RDONLY | _NOFOLLOW | _CLOSED | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(self._name(name), flags, dir_fd=self._at)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - an open file
            known = os.fstat(descriptor)
            if not stat.S_ISREG(known.st_mode):
                raise OSError(22, "not a regular file", name)
            if known.st_size > most:
                raise OSError(27, f"larger than {most:,} bytes", name)
            return file.read()

    def remove(self, name: str) -> bool:
        """Removes a file; False if there is none."""
        try:
            os.unlink(self._name(name), dir_fd=self._at)
        except FileNotFoundError:
            return False
        return True

    def move(self, name: str, to: str) -> None:
        """Gives a file another name, in place of what has that name.

        Raises:
            OSError: it cannot be done.
        """
        os.replace(self._name(name), self._name(to), src_dir_fd=self._at, dst_dir_fd=self._at)

    def own(self, name: str, how: int = os.O_RDWR) -> int:
        """A file to write in place, open: made where it is missing, regular, with no other
        name elsewhere, and readable by its owner only.

        Args:
            how: flags of `os.open`.

        Raises:
            OSError: it cannot be opened, or is a link or no such file.
        """
        flags = how | os.O_CREAT | _NOFOLLOW | _CLOSED | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(self._name(name), flags, 0o600, dir_fd=self._at)
        told = os.fstat(descriptor)
        if not stat.S_ISREG(told.st_mode) or told.st_nlink > 1:
            os.close(descriptor)
            raise OSError(22, "a link, or not a regular file", str(self.path / name))
        if told.st_mode & 0o077 and os.chmod in os.supports_fd:
            with suppress(PermissionError):  # somebody else's
                os.fchmod(descriptor, 0o600)
        return descriptor

    def copy(self, name: str, to: str, data: bytes) -> None:
        """Keeps the file `name`, which holds `data`, under a second name as well."""
        self.remove(to)
        try:
            if self.stat(name).st_mode & 0o077:  # others may read it: they shall not the copy
                raise PermissionError
            os.link(
                self._name(name),
                self._name(to),
                src_dir_fd=self._at,
                dst_dir_fd=self._at,
                follow_symlinks=False,
            )
        except (OSError, NotImplementedError):  # a file system without links
            with self.stage(to, data) as staged:
                staged.commit()

    @contextmanager
    def stage(
        self,
        name: str,
        data: bytes,
        time: int | None = None,
        *,
        mode: int = 0o600,
        lasting: bool = True,
    ) -> Iterator[Staged]:
        """A file that waits, whole and on the disk, to take the place of `name`; removed if
        it is not committed.

        Args:
            time: of last change, in nanoseconds since 1970; now if None.
            mode: who may do what with it.
            lasting: False for what may be gone after a power cut, which costs no waiting.

        Raises:
            OSError: it cannot be written.
        """
        staged = Staged(self, name)
        try:
            staged.write(data, time, mode, lasting=lasting)
            yield staged
        finally:
            staged.close()

    @contextmanager
    def grow(self, name: str) -> Iterator[IO[bytes]]:
        """A file to write into piece by piece, which takes the place of `name` when the block
        has ended well; removed if it has not.

        Raises:
            OSError: it cannot be written; what was there stays.
        """
        with self._replacing(name) as staged, staged.opened() as file:
            yield file

    @contextmanager
    def replacement(self, name: str) -> Iterator[Path]:
        """The path of a file that others write into; else as `grow`."""
        with self._replacing(name) as staged:
            yield staged.path

    @contextmanager
    def _replacing(self, name: str) -> Iterator[Staged]:
        staged = Staged(self, name)
        try:
            descriptor = staged.create()
            yield staged
            os.fsync(descriptor)
            staged.commit()
        finally:
            staged.close()

    @contextmanager
    def locked(self, name: str, patience: float) -> Iterator[None]:
        """Holds the lock of a file in this folder, which is made, while the block runs.

        Raises:
            TimeoutError: somebody else has held it for `patience` seconds.
            OSError: it cannot be made, is a link, or cannot be locked.
        """
        if fcntl is None or self._at is None:
            from filelock import FileLock, Timeout

            lock = FileLock(self.path / name, timeout=patience, mode=0o600)
            try:
                lock.acquire(poll_interval=_GLANCE)
            except Timeout as error:
                raise TimeoutError(str(error)) from None
            try:
                yield
            finally:
                with suppress(OSError):  # tried once more when the lock object goes
                    lock.release()
            return
        flags = os.O_RDWR | os.O_CREAT | _NOFOLLOW | _CLOSED | os.O_NONBLOCK
        descriptor = os.open(name, flags, 0o600, dir_fd=self._at)
        try:
            _wait_for(descriptor, patience)
            yield
        finally:
            # A child that was forked meanwhile has the file open, too: closing is not enough.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            with suppress(OSError):
                os.close(descriptor)

    def sync(self) -> None:
        """Brings the folder to the disk: which names it holds, not the files.

        Raises:
            NotSynced: it could not be done.
        """
        if self._at is None and os.name != "posix":
            return
        try:
            here = os.open(self.path, os.O_RDONLY | _CLOSED) if self._at is None else self._at
            try:
                os.fsync(here)
            finally:
                if self._at is None:
                    os.close(here)
        except OSError as error:
            raise NotSynced(error.errno, error.strerror, str(self.path)) from error

    def sweep(self, of: str | None = None) -> int:
        """Removes the temporary files of writers that are no more; tells how many.

        Args:
            of: only those that were to become this file.
        """
        swept = 0
        for name in self.names():
            found = _TEMPORARY.fullmatch(name)
            if found and of in {None, found[1]}:
                with suppress(OSError):
                    swept += self._sweep(name)
        return swept

    def _sweep(self, name: str) -> bool:
        if fcntl is None:
            return self.remove(name)
        flags = os.O_RDWR | _NOFOLLOW | _CLOSED | os.O_NONBLOCK
        descriptor = os.open(self._name(name), flags, dir_fd=self._at)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return self.remove(name)
        finally:
            os.close(descriptor)


class Staged:
    """A file under a temporary name, written for one that it will replace."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._final = folder, name
        self._temporary = ""
        self._descriptor: int | None = None

    def write(self, data: bytes, time: int | None, mode: int, *, lasting: bool) -> None:
        """Writes all of it and brings it to the disk, if it is to last."""
        descriptor = self.create()
        if mode != 0o600:
            where = descriptor if os.chmod in os.supports_fd else self._path
            os.chmod(where, mode)  # noqa: PTH101 - an open file
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if time is not None:
            where = descriptor if os.utime in os.supports_fd else self._path
            os.utime(where, ns=(time, time))
        if lasting:
            os.fsync(descriptor)

    def create(self) -> int:
        """Makes the file, empty; its descriptor."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOSED
        while True:
            self._temporary = f".{self._final}.{os.urandom(8).hex()}.tmp"
            self._descriptor = os.open(self._path, flags, 0o600, dir_fd=self._folder._at)
            if _held(self._descriptor):
                return self._descriptor
            self.close()  # swept between the two calls

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The file to write into; what is buffered is written when the block ends."""
        assert self._descriptor is not None
        with open(self._descriptor, "wb", closefd=False) as file:
            yield file

    @property
    def path(self) -> Path:
        """Where it waits."""
        return self._folder.path / self._temporary

    @property
    def _path(self) -> str:
        return self._folder._name(self._temporary)

    def commit(self) -> None:
        """Puts the file in its place.

        Raises:
            OSError: it cannot be put there; what was there stays.
        """
        if os.name == "nt":
            self._let_go()  # an open file cannot be renamed there
        at = self._folder._at
        os.replace(self._path, self._folder._name(self._final), src_dir_fd=at, dst_dir_fd=at)
        self._temporary = ""
        self._let_go()

    def close(self) -> None:
        """Removes the file if it was not committed."""
        if self._temporary and self._descriptor is not None:
            with suppress(OSError):
                self._folder.remove(self._temporary)
        self._temporary = ""
        self._let_go()

    def _let_go(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):  # after a successful fsync there is nothing left to fail
                os.close(self._descriptor)
            self._descriptor = None


def _wait_for(descriptor: int, patience: float) -> None:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise TimeoutError("locked") from None
            time.sleep(_GLANCE)
        else:
            return


def _held(descriptor: int) -> bool:
    """Locks a new temporary file for as long as it is open; False if it is being swept."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this file system: nobody can sweep there either
        return True
    return os.fstat(descriptor).st_nlink > 0


def make_folders(path: Path) -> None:
    """Makes a folder, and those above it that are missing, for their owner only.

    Raises:
        OSError: one cannot be made.
    """
    missing: list[Path] = []
    while not path.is_dir():
        missing.append(path)
        if path.parent == path:
            break
        path = path.parent
    for folder in reversed(missing):
        with Folder.opened(folder.parent) as above:
            above.make(folder.name)


@contextmanager
def inside(path: Path) -> Iterator[Folder]:
    """A folder, made where it is missing with those above it. The one that it is in may be a
    link; the folder may not.

    Raises:
        OSError: one cannot be made or opened, or the folder is a link.
    """
    make_folders(path.parent)
    with Folder.opened(path.parent) as above:
        above.make(path.name)
        with above.inner(path.name) as folder:
            yield folder


def own(path: Path) -> int:
    """As `Folder.own`, in the folder that the file is in."""
    with Folder.opened(path.parent) as folder:
        return folder.own(path.name)


def write_whole(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Writes a file whole or not at all, readable by its owner only unless told otherwise.
    What killed writers of it left is removed.

    Raises:
        OSError: it cannot be written; what was there stays. `NotSynced`: it is written, but
            may be gone after a power cut.
    """
    make_folders(path.parent)
    with Folder.opened(path.parent) as folder:
        with suppress(OSError):
            folder.sweep(path.name)
        with folder.stage(path.name, data, mode=mode) as staged:
            staged.commit()
        folder.sync()


def sweep(path: Path) -> None:
    """Removes what killed writers of one file left beside it."""
    with suppress(OSError), Folder.opened(path.parent) as folder:
        folder.sweep(path.name)
