"""Atomic, durable file writes and lock files. Every file that leftoff writes is written here.

A write has five steps:

    1. create a temporary file `.NAME.<16 hex digits>.tmp` beside the target, with O_EXCL and
       mode 0600, and take an exclusive flock on it;
    2. write the data and fsync the file;
    3. rename it over the target;
    4. close it, which releases the lock;
    5. fsync the directory, so that the rename survives a power cut.

A reader therefore sees the old file or the new one, never a part. If a step before the rename
fails, the temporary file is removed and the old file stays. If only step 5 fails, `NotSynced`
is raised: the new file is in place, but a power cut may undo the rename.

A failed fsync is never retried on the same file: the kernel may have marked the unwritten
pages clean, and a second fsync would succeed without writing them. The new file is given up.

A killed writer leaves its temporary file behind. `remove_stale_temporaries` recognizes such
files by name and removes those that it can lock; a running writer still holds its lock.

File names are resolved relative to an open directory descriptor (`Directory`) and with
O_NOFOLLOW. So a symbolic link that another process puts in place of the directory or of a file
does not redirect a write. Windows has neither `dir_fd` nor `fcntl`: there paths are used,
`filelock` locks, and stale temporaries are simply removed, because an open file cannot be.

Only file-system mechanics belong here: formats, redaction and retention stand above."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from leftoff import lazy_re as re
from leftoff.errors import SourceError

fcntl: Any = None
with suppress(ImportError):  # Windows
    import fcntl

_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_HAS_DIR_FD: Final = {os.open, os.rename, os.link, os.unlink, os.mkdir} <= os.supports_dir_fd
# Seconds to wait for another process that holds a lock. Chosen by hand; not measured.
LOCK_TIMEOUT = 10.0
# Seconds between two attempts to take a lock. Chosen by hand; not measured.
_POLL_INTERVAL: Final = 0.005

_TEMPORARY: Final = re.compile(r"\.(.+)\.[0-9a-f]{16}\.tmp", re.DOTALL)


class NotSynced(OSError):
    """The file was replaced, but fsync of the directory failed: a power cut may undo it."""


class Directory:
    """An open directory. File names are resolved relative to its descriptor, or by path on
    systems without `dir_fd`; see the module's documentation."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._dir_fd = descriptor

    @classmethod
    @contextmanager
    def open(cls, path: Path, *below: str, create: bool = False) -> Iterator[Directory]:
        """The directory at `path`, or the one of these names `below` it, none of which may be a
        symbolic link, open until the block ends. `create`: they are created where they are
        missing. `OSError` where one does not exist, is a link, or cannot be opened."""
        with ExitStack() as stack:
            found = stack.enter_context(cls(path, None)._open(path, 0))
            for name in below:
                if create:
                    found.mkdir(name)
                found = stack.enter_context(found.subdirectory(name))
            yield found

    def subdirectory(self, name: str) -> AbstractContextManager[Directory]:
        """A directory in this one, as `open` opens it."""
        return self._open(self.path / name, _NOFOLLOW)

    @contextmanager
    def _open(self, path: Path, flags: int) -> Iterator[Directory]:
        if not _HAS_DIR_FD:
            if flags and path.is_symlink():
                raise NotADirectoryError(20, "is a link", str(path))
            if not path.is_dir():
                raise FileNotFoundError(2, "No such folder", str(path))
            yield Directory(path, None)
            return
        flags |= os.O_RDONLY | os.O_DIRECTORY | _CLOEXEC
        relative = self._dir_fd is not None
        descriptor = os.open(path.name if relative else path, flags, dir_fd=self._dir_fd)
        try:
            yield Directory(path, descriptor)
        finally:
            with suppress(OSError):  # nothing was written through this descriptor
                os.close(descriptor)

    def _name(self, name: str) -> str:
        return name if self._dir_fd is not None else str(self.path / name)

    def mkdir(self, name: str) -> None:
        """Creates a subdirectory with mode 0700, unless the name exists already."""
        try:
            os.mkdir(self._name(name), 0o700, dir_fd=self._dir_fd)
        except FileExistsError:
            return
        self.fsync()

    def listdir(self) -> list[str]:
        """The names of all entries, sorted."""
        return sorted(os.listdir(self.path if self._dir_fd is None else self._dir_fd))  # noqa: PTH208

    def stat(self, name: str) -> os.stat_result:
        """The status of an entry; links are not followed."""
        return os.stat(self._name(name), dir_fd=self._dir_fd, follow_symlinks=False)

    def read(self, name: str, max_bytes: int) -> bytes:
        """The content of a regular file; `FileNotFoundError` where it does not exist; `OSError`
        where it is a link, not a regular file, larger than `max_bytes`, or unreadable."""
        # O_NONBLOCK: to open a pipe in place of the file would wait for its writer.
        flags = os.O_RDONLY | _NOFOLLOW | _CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(self._name(name), flags, dir_fd=self._dir_fd)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - an open file
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(22, "not a regular file", name)
            if status.st_size > max_bytes:
                raise OSError(27, f"larger than {max_bytes:,} bytes", name)
            return file.read()

    def remove(self, name: str) -> bool:
        """Removes a file; False if it does not exist."""
        try:
            os.unlink(self._name(name), dir_fd=self._dir_fd)
        except FileNotFoundError:
            return False
        return True

    def rename(self, name: str, to: str) -> None:
        """Renames a file, replacing what has the new name; `OSError` where that failed."""
        dir_fd = self._dir_fd
        os.replace(self._name(name), self._name(to), src_dir_fd=dir_fd, dst_dir_fd=dir_fd)

    def open_private(self, name: str, access: int = os.O_RDWR) -> int:
        """A descriptor for writing a file in place; the file is created if it is missing, and
        has mode 0600 afterwards. `access`: flags of `os.open`. `OSError` where it cannot be
        opened, is not a regular file, or is a symbolic or hard link."""
        flags = access | os.O_CREAT | _NOFOLLOW | _CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(self._name(name), flags, 0o600, dir_fd=self._dir_fd)
        status = os.fstat(descriptor)
        # A hard link, which O_NOFOLLOW does not see, may lead to any file of the user.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(descriptor)
            raise OSError(22, "a link, or not a regular file", str(self.path / name))
        if status.st_mode & 0o077 and os.chmod in os.supports_fd:
            with suppress(PermissionError):  # the file belongs to another user
                os.fchmod(descriptor, 0o600)
        return descriptor

    def link_or_copy(self, name: str, to: str, data: bytes) -> None:
        """Gives the file `name`, whose content is `data`, a second name: by a hard link where
        that is possible, else by a copy."""
        # A link replaces no file.
        self.remove(to)
        try:
            if self.stat(name).st_mode & 0o077:  # other users may read it, but not the copy
                raise PermissionError
            os.link(
                self._name(name),
                self._name(to),
                src_dir_fd=self._dir_fd,
                dst_dir_fd=self._dir_fd,
                follow_symlinks=False,
            )
        except (OSError, NotImplementedError):  # a file system without links
            self.replace(to, data)

    @contextmanager
    def stage(
        self,
        name: str,
        data: bytes,
        mtime_ns: int | None = None,
        *,
        mode: int = 0o600,
        durable: bool = True,
    ) -> Iterator[TemporaryFile]:
        """A temporary file that holds `data` and replaces `name` when it is committed. Without
        a commit it is removed when the block ends. `OSError` where it cannot be written.

        Args:
            mtime_ns: modification time in nanoseconds since 1970; now if None.
            mode: permission bits.
            durable: False skips fsync, for files that a power cut may destroy."""
        staged = TemporaryFile(self, name)
        try:
            staged.write(data, mtime_ns, mode, durable=durable)
            yield staged
        finally:
            staged.close()

    def replace(self, name: str, data: bytes, **options: Any) -> None:
        """Replaces a file at once; `options` are those of `stage`."""
        with self.stage(name, data, **options) as staged:
            staged.commit()

    @contextmanager
    def replacement(self, name: str) -> Iterator[TemporaryFile]:
        """An empty temporary file, to be written by its `descriptor` or at its `path`, that
        replaces `name` when the block ends. If the block raises, it is removed. `OSError` where
        it cannot be written; the old file stays."""
        with self.stage(name, b"", durable=False) as staged:
            yield staged
            os.fsync(staged.descriptor)
            staged.commit()

    @contextmanager
    def lock(self, name: str, timeout: float | None = None) -> Iterator[None]:
        """Holds an exclusive lock on a lock file, which is created, until the block ends.
        `timeout`: seconds to wait for another process; `LOCK_TIMEOUT` by default.

        Raises:
            TimeoutError: another process held the lock for longer.
            OSError: the file cannot be created or locked, or is a link."""
        timeout = LOCK_TIMEOUT if timeout is None else timeout
        if fcntl is None or self._dir_fd is None:
            from filelock import FileLock

            lock = FileLock(self.path / name, timeout=timeout, mode=0o600)
            lock.acquire(poll_interval=_POLL_INTERVAL)
            try:
                yield
            finally:
                with suppress(OSError):  # filelock tries again when the object is deleted
                    lock.release()
            return
        flags = os.O_RDWR | os.O_CREAT | _NOFOLLOW | _CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(name, flags, 0o600, dir_fd=self._dir_fd)
        deadline = time.monotonic() + timeout
        try:
            while not _try_lock(descriptor):
                if time.monotonic() >= deadline:
                    raise TimeoutError("locked")
                time.sleep(_POLL_INTERVAL)
            yield
        finally:
            # A child that was forked meanwhile has inherited the descriptor, so closing ours
            # would not release the lock.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            with suppress(OSError):
                os.close(descriptor)

    def fsync(self) -> None:
        """Writes the entries of the directory, not its files, to the disk; `NotSynced` where
        fsync failed."""
        dir_fd = self._dir_fd
        if dir_fd is None and os.name != "posix":
            return
        try:
            if dir_fd is not None:
                os.fsync(dir_fd)
                return
            descriptor = os.open(self.path, os.O_RDONLY | _CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise NotSynced(error.errno, error.strerror, str(self.path)) from error

    def remove_stale_temporaries(self, target: str | None = None) -> int:
        """Removes the temporary files that killed writers left; returns how many. `target`:
        only those that were to replace this file."""
        removed = 0
        for name in self.listdir():
            match = _TEMPORARY.fullmatch(name)
            if match and target in {None, match[1]}:
                with suppress(OSError):
                    removed += self._remove_if_unlocked(name)
        return removed

    def _remove_if_unlocked(self, name: str) -> bool:
        if fcntl is None:
            return self.remove(name)
        flags = os.O_RDWR | _NOFOLLOW | _CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._name(name), flags, dir_fd=self._dir_fd)
        try:
            return _try_lock(descriptor) and self.remove(name)
        finally:
            os.close(descriptor)


class TemporaryFile:
    """A locked file under a temporary name that will replace another file."""

    def __init__(self, directory: Directory, target: str) -> None:
        """Creates the file, empty and locked."""
        self._directory, self._target = directory, target
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOEXEC
        while True:
            self._temporary = f".{target}.{os.urandom(8).hex()}.tmp"
            self.descriptor = os.open(self._path, flags, 0o600, dir_fd=directory._dir_fd)
            if _lock_temporary(self.descriptor):
                return
            self.close()  # removed as stale between the two calls

    def write(self, data: bytes, mtime_ns: int | None, mode: int, *, durable: bool) -> None:
        """Writes the data, and calls fsync if `durable`."""
        descriptor = self.descriptor
        # The umask takes bits from the mode of `open`, not from that of `chmod`.
        if mode != 0o600:
            where = descriptor if os.chmod in os.supports_fd else self._path
            os.chmod(where, mode)  # noqa: PTH101 - an open file
        rest = memoryview(data)
        while rest:
            # A call may write only a part, such as at most 2 GiB on Linux.
            rest = rest[os.write(descriptor, rest) :]
        if mtime_ns is not None:
            where = descriptor if os.utime in os.supports_fd else self._path
            os.utime(where, ns=(mtime_ns, mtime_ns))
        if durable:
            os.fsync(descriptor)

    @property
    def path(self) -> Path:
        """The path under the temporary name."""
        return self._directory.path / self._temporary

    @property
    def _path(self) -> str:
        return self._directory._name(self._temporary)

    def commit(self) -> None:
        """Renames the file over its target; `OSError` where the rename failed; the old file
        stays."""
        if os.name == "nt":
            self._close_descriptor()  # an open file cannot be renamed there
        self._directory.rename(self._temporary, self._target)
        self._temporary = ""
        self._close_descriptor()

    def close(self) -> None:
        """Removes the file if it was not committed."""
        if self._temporary:
            with suppress(OSError):
                self._directory.remove(self._temporary)
        self._temporary = ""
        self._close_descriptor()

    def _close_descriptor(self) -> None:
        if self.descriptor >= 0:
            with suppress(OSError):  # the data is on the disk already
                os.close(self.descriptor)
            self.descriptor = -1


def _try_lock(descriptor: int) -> bool:
    """Takes an exclusive lock on a file; False if another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_temporary(descriptor: int) -> bool:
    """Locks a new temporary file until it is closed; False if another process is removing it
    as stale."""
    if fcntl is None:
        return True
    try:
        # No link where it was removed as stale before it was locked.
        return _try_lock(descriptor) and os.fstat(descriptor).st_nlink > 0
    except OSError:  # no locks on this file system: no process can remove it as stale either
        return True


def error_text(error: OSError) -> str:
    """The message of an operating system error."""
    if error.errno == errno.ELOOP:  # from O_NOFOLLOW
        return "is a link, which is not followed"
    return error.strerror or str(error)


def make_directories(path: Path) -> None:
    """Creates a directory and its missing parents, with mode 0700; `OSError` where one cannot
    be created."""
    missing: list[Path] = []
    while not path.is_dir():
        missing.append(path)
        # The root is no directory: a drive that does not exist.
        if path.parent == path:
            break
        path = path.parent
    for directory in reversed(missing):
        with Directory.open(directory.parent) as parent:
            parent.mkdir(directory.name)


def file_stamp(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """What changes whenever a file is written or replaced; None if there is none. Equal stamps
    mean an unchanged file, different ones may: `incremental.cursor` looks at the content."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a path as its user spells it
    except OSError:
        return None
    return stamp_of(status)


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """The stamp of a file from its status."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


@contextmanager
def create_and_open(path: Path) -> Iterator[Directory]:
    """A directory, created with its missing parents, open until the block ends. Its parent may
    be a symbolic link; the directory itself may not. `OSError` where one cannot be created or
    opened, or the directory is a link."""
    make_directories(path.parent)
    with Directory.open(path.parent, path.name, create=True) as directory:
        yield directory


def open_private(path: Path) -> int:
    """`Directory.open_private` for a path."""
    with Directory.open(path.parent) as directory:
        return directory.open_private(path.name)


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replaces a file atomically and durably, and removes stale temporary files for it.
    `OSError` where it cannot be written; the old file stays. `NotSynced`: it is written, but a
    power cut may undo that."""
    make_directories(path.parent)
    with Directory.open(path.parent) as directory:
        with suppress(OSError):
            directory.remove_stale_temporaries(path.name)
        directory.replace(path.name, data, mode=mode)
        directory.fsync()


def remove_stale_temporaries(path: Path) -> None:
    """Removes what killed writers of one file left beside it; errors are ignored."""
    with suppress(OSError), Directory.open(path.parent) as directory:
        directory.remove_stale_temporaries(path.name)


@contextmanager
def source_errors(where: object, *errors: type[Exception]) -> Iterator[None]:
    """Raises these errors as `SourceError` that names what could not be written."""
    try:
        yield
    except NotSynced as error:
        why = f"written, but not certain to stay ({error.strerror})"
        raise SourceError(f"{where}: {why}") from error
    except errors as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"{where}: cannot be written ({why})") from error
