"""Where a growing file was read to, and whether it still is the same file."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO, Self

from msgspec import Struct

EDGE = 4096
"""Bytes at both ends of what was read that are compared."""


class Mark(Struct, frozen=True):
    """How far a file was read, and how to know it again.

    Attributes:
        edges: digest of the first and last bytes before `offset`.
    """

    device: int
    inode: int
    offset: int
    edges: str

    @classmethod
    def of(cls, file: BinaryIO, offset: int) -> Self:
        """The mark at an offset of an open file, as it is now."""
        told = os.fstat(file.fileno())
        return cls(told.st_dev, told.st_ino, offset, _edges(file, offset))

    @classmethod
    def after(cls, file: BinaryIO, first: bytes) -> Self:
        """The mark after the first bytes of a file, which were read a moment ago."""
        told = os.fstat(file.fileno())
        size = len(first)
        edges = _digest(first[:EDGE], first[max(0, size - EDGE) :])
        return cls(told.st_dev, told.st_ino, size, edges)

    def fits(self, file: BinaryIO) -> bool:
        """Whether a file begins with what was read: the one that was read, or a copy of it."""
        grown = os.fstat(file.fileno()).st_size >= self.offset
        return grown and _edges(file, self.offset) == self.edges

    def holds(self, file: BinaryIO) -> bool:
        """Whether it is the file that was read, and still begins with what was read."""
        told = os.fstat(file.fileno())
        return (told.st_dev, told.st_ino) == (self.device, self.inode) and self.fits(file)


def _edges(file: BinaryIO, offset: int) -> str:
    file.seek(0)
    first = file.read(min(EDGE, offset))
    file.seek(max(0, offset - EDGE))
    return _digest(first, file.read(min(EDGE, offset)))


def _digest(first: bytes, last: bytes) -> str:
    return hashlib.blake2b(first + last, digest_size=16).hexdigest()
