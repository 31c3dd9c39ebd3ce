"""How far a growing file was read, whether it is still that file, and what was added to it.

    with open_regular(path) as file:
        tail = Tail(file, path, cursor)     # `cursor`: of the last read, or None
        if tail.is_new: ...                 # replaced or rewritten: the tail is all of it
        for data in tail: ...               # the bytes that were added
        cursor = tail.cursor(offset)        # to be saved; raises `FileReplaced`

Everything here that reads a growing recording stands on these two, so that one rule says what
"the same file" is: the same device and inode, not shorter than what was read, and the same
first and last bytes of what was read. Its size and times alone say nothing: a file that is
replaced may have those of the one before.

Bytes of a compressed file or of one in UTF-16 are not what is parsed, so there is no place in
them to go on from: `NotResumable`."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, Self, TypeVar

from msgspec import Struct

from leftoff.errors import SourceError
from leftoff.sources.encodings import is_plain

T = TypeVar("T")
# Bytes at both ends of what was read that are compared. Chosen by hand; not measured.
EDGE_BYTES = 4096
# Bytes that are read at once.
# Chosen by hand; not measured. After each, a reader may be asked whether to stop.
BLOCK = 1 << 20
# Retries of a read during which the recording is replaced. Chosen by hand; not measured.
MAX_RETRIES = 3


class NotResumable(SourceError):
    """The recording is compressed or one document and has to be read whole each time."""


class FileReplaced(SourceError):
    """The recording was replaced or rewritten while it was read."""


def retried(read: Callable[[], T]) -> T:
    """What `read` gives, which is called again where the recording is replaced meanwhile."""
    for _ in range(MAX_RETRIES):
        with suppress(FileReplaced):
            return read()
    return read()


class Cursor(Struct, frozen=True):
    """How far a file was read, in bytes, and how to recognize the file: `edges` is a digest of
    the first and last `EDGE_BYTES` bytes before `offset`."""

    device: int
    inode: int
    offset: int
    edges: str

    @classmethod
    def at(cls, file: BinaryIO, offset: int) -> Self:
        """The cursor at an offset of an open file, as it is now."""
        status = os.fstat(file.fileno())
        return cls(status.st_dev, status.st_ino, offset, _digest_of_edges(file, offset))

    @classmethod
    def after(cls, file: BinaryIO, first: bytes) -> Self:
        """The cursor after the first bytes of a file, given the bytes."""
        status = os.fstat(file.fileno())
        size = len(first)
        edges = _digest(first[:EDGE_BYTES], first[max(0, size - EDGE_BYTES) :])
        return cls(status.st_dev, status.st_ino, size, edges)

    def is_copied_in(self, file: BinaryIO) -> bool:
        """Whether a file begins with what was read: the same file or a copy of it."""
        grown = os.fstat(file.fileno()).st_size >= self.offset
        return grown and _digest_of_edges(file, self.offset) == self.edges

    def is_in(self, file: BinaryIO) -> bool:
        """Whether it is the file that was read, and still begins with what was read."""
        status = os.fstat(file.fileno())
        same = (status.st_dev, status.st_ino) == (self.device, self.inode)
        return same and self.is_copied_in(file)


class Tail:
    """What was added to an open file since a cursor; all of it, if it is another file.

    Attributes:
        is_new: the file is not the one of the cursor, or there is none.
        offset: bytes of the file read so far."""

    def __init__(self, file: BinaryIO, path: str, cursor: Cursor | None = None) -> None:
        self._file, self._path = file, path
        self.is_new = cursor is None or not cursor.is_in(file)
        # While it matches, the file was not replaced, so everything is read from one recording.
        self._snapshot = Cursor.at(file, 0) if cursor is None or self.is_new else cursor
        self.offset = self._snapshot.offset

    def __iter__(self) -> Iterator[bytes]:
        """Blocks of bytes up to the present end; `NotResumable` where the file is compressed or
        not in UTF-8."""
        while True:
            self._file.seek(self.offset)
            data = self._file.read(BLOCK)
            if not data:
                return
            # Nothing of the file is known yet: its first block identifies it from here on.
            if not self._snapshot.offset:
                if not is_plain(data[:EDGE_BYTES]):
                    what = "is compressed or not in UTF-8 and cannot be read on"
                    raise NotResumable(f"{self._path}: {what}")
                self._snapshot = Cursor.after(self._file, data)
            self.offset += len(data)
            yield data

    def cursor(self, offset: int | None = None) -> Cursor:
        """The cursor at an offset up to which was read, by default at the end of that;
        `FileReplaced` where the file was replaced or rewritten since it was opened."""
        # Taken before the comparison, so that a file rewritten in between is noticed.
        found = Cursor.at(self._file, self.offset if offset is None else offset)
        if not self._snapshot.is_in(self._file):
            raise FileReplaced(f"{self._path}: was written anew while it was read")
        return found


def _digest_of_edges(file: BinaryIO, offset: int) -> str:
    file.seek(0)
    first = file.read(min(EDGE_BYTES, offset))
    file.seek(max(0, offset - EDGE_BYTES))
    return _digest(first, file.read(min(EDGE_BYTES, offset)))


def _digest(first: bytes, last: bytes) -> str:
    return hashlib.blake2b(first + last, digest_size=16).hexdigest()
