"""The position up to which a growing file was read, and whether it is still the same file."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO, Self

from msgspec import Struct

EDGE_BYTES = 4096
"""Bytes at both ends of what was read that are compared. Chosen by hand; not measured."""


class FilePosition(Struct, frozen=True):
    """How far a file was read, and how to recognize the file.

    Attributes:
        offset: bytes read.
        edges: digest of the first and last `EDGE_BYTES` bytes before `offset`.
    """

    device: int
    inode: int
    offset: int
    edges: str

    @classmethod
    def of(cls, file: BinaryIO, offset: int) -> Self:
        """The position at an offset of an open file, as it is now."""
        status = os.fstat(file.fileno())
        return cls(status.st_dev, status.st_ino, offset, _digest_of_edges(file, offset))

    @classmethod
    def after(cls, file: BinaryIO, first: bytes) -> Self:
        """The position after the first bytes of a file, given the bytes."""
        status = os.fstat(file.fileno())
        size = len(first)
        edges = _digest(first[:EDGE_BYTES], first[max(0, size - EDGE_BYTES) :])
        return cls(status.st_dev, status.st_ino, size, edges)

    def fits(self, file: BinaryIO) -> bool:
        """Whether a file begins with what was read: the same file or a copy of it."""
        grown = os.fstat(file.fileno()).st_size >= self.offset
        return grown and _digest_of_edges(file, self.offset) == self.edges

    def holds(self, file: BinaryIO) -> bool:
        """Whether it is the file that was read, and still begins with what was read."""
        status = os.fstat(file.fileno())
        return (status.st_dev, status.st_ino) == (self.device, self.inode) and self.fits(file)


def _digest_of_edges(file: BinaryIO, offset: int) -> str:
    file.seek(0)
    first = file.read(min(EDGE_BYTES, offset))
    file.seek(max(0, offset - EDGE_BYTES))
    return _digest(first, file.read(min(EDGE_BYTES, offset)))


def _digest(first: bytes, last: bytes) -> str:
    return hashlib.blake2b(first + last, digest_size=16).hexdigest()
