"""A small file of one typed value that several processes change: locked, replaced whole.

    file = LockedFile(folder / "counts.json", dict[str, int])
    with file.locked() as held:
        counts = held.load() or {}
        held.save({**counts, "a": counts.get("a", 0) + 1})

Readers take no lock: they see the old value or the new one."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from leftoff import codec
from leftoff.errors import Damaged, StateError, Unsure
from leftoff.redaction.redactor import Redactor
from leftoff.stores import atomic

T = TypeVar("T")


@contextmanager
def state_errors(where: str | Path) -> Iterator[None]:
    """Raises errors of the operating system as `StateError` that names a file; those that name
    another file name that."""
    try:
        yield
    except TimeoutError as error:
        raise StateError(f"{where}: held by another process; try again") from error
    except atomic.NotSynced as error:
        why = f"written, but not certain to stay ({error.strerror})"
        raise Unsure(f"{where}: {why}") from error
    except OSError as error:
        place = error.filename if Path(str(error.filename)).is_absolute() else where
        why = f"{atomic.error_text(error)}; the saved state stays"
        raise StateError(f"{place}: {why}") from error


@contextmanager
def lock_file(path: Path, *, planted: bool = False) -> Iterator[atomic.Directory]:
    """The folder of a lock file, opened and created where it is missing, while the lock is
    held. Where it is `planted`, it may have come with a repository, and must not be a link.
    `StateError` where another process held it for `LOCK_TIMEOUT` seconds, or the folder cannot
    be used."""
    with state_errors(path):
        atomic.make_directories(path.parent.parent if planted else path.parent)
        opened = atomic.create_and_open if planted else atomic.Directory.open
        with opened(path.parent) as folder, folder.lock(path.name):
            yield folder


class LockedFile(Generic[T]):
    """A JSON file that holds one value.

    Each process sees the changes of the others: the value is loaded again where the file
    changed, and is the same object as before where it did not. What is saved is redacted.

    Args:
        path: the file; its folder is created when it is first locked.
        type: what it holds, for `msgspec`. A field `schema` that is a `Literal` refuses files
            of another kind.
        planted: see `lock_file`."""

    def __init__(self, path: Path, type: object, *, planted: bool = False) -> None:
        self.path, self.type, self._planted = path, type, planted
        self._lock = path.with_name(f"{path.name}.lock")
        self.stamp: tuple[int, ...] | None = None
        self.value: T | None = None

    def load(self) -> T | None:
        """The value; None if there is no file. `Damaged` where the file holds something else;
        `StateError` where it cannot be read."""
        atomic.remove_stale_temporaries(self.path)
        if not self.path.parent.is_dir():
            return None
        with state_errors(self.path), atomic.Directory.open(self.path.parent) as folder:
            return HeldFile(self, folder).load()

    @contextmanager
    def locked(self) -> "Iterator[HeldFile[T]]":
        """Holds the lock until the block ends; errors of files in the block are raised as
        `StateError`, too. `StateError` where another process held it for `LOCK_TIMEOUT`
        seconds, or the file cannot be read or written."""
        with lock_file(self._lock, planted=self._planted) as folder, state_errors(self.path):
            with suppress(OSError):
                folder.remove_stale_temporaries(self.path.name)
            yield HeldFile(self, folder)


class HeldFile(Generic[T]):
    """A `LockedFile` of which this process holds the lock."""

    def __init__(self, file: LockedFile[T], folder: atomic.Directory) -> None:
        self._file, self._folder = file, folder

    def load(self) -> T | None:
        """The value, as `LockedFile.load` gives it; `Damaged` where the file holds something
        else."""
        file, name = self._file, self._file.path.name
        try:
            stamp = atomic.stamp_of(self._folder.stat(name))
            if stamp != file.stamp:
                # The stamp was taken before: a change in between is loaded again.
                data = self._folder.read(name, codec.MAX_DOCUMENT)
                file.value, file.stamp = msgspec.json.decode(data, type=file.type), stamp
        except FileNotFoundError:
            file.value = file.stamp = None
        except ValueError as error:
            what = f"damaged ({error}); remove the file to begin anew"
            raise Damaged(f"{file.path}: {what}") from error
        return file.value

    def save(self, value: T) -> None:
        """Replaces the file, atomically and durably. `StateError` where it cannot be written;
        the old content stays. `Unsure`: it is written, but a power cut may undo that."""
        file, folder = self._file, self._folder
        data = codec.dumps(Redactor().value(codec.to_builtins(value)))
        with state_errors(file.path):
            folder.replace(file.path.name, data)
            file.stamp, file.value = atomic.stamp_of(folder.stat(file.path.name)), value
            folder.fsync()
