"""Lines as hashes, to recognise a line of a file without storing its text."""

from array import array
from collections.abc import Iterable, Sequence
from zlib import crc32

from msgspec import Struct


class Replaced(Struct, frozen=True, gc=False, array_like=True):
    """One replacement in a file: the lines `old` gave way to `new`, as packed hashes.

    Attributes:
        before: hash of the line before them, 0 where it is not known."""

    before: int
    old: bytes
    new: bytes


def line_hashes(lines: Iterable[str]) -> bytes:
    """Four bytes for each line that is not blank, whatever its indentation."""
    found = array("I")
    found.extend(line_hash(line) for line in lines if line and not line.isspace())
    return found.tobytes()


def line_hash(line: str) -> int:
    """The hash of a line without the spaces at its ends, 32 bits; never 0."""
    return crc32(line.strip().encode("utf-8", "surrogatepass")) or 1


def unpacked_hashes(data: bytes) -> Sequence[int]:
    """The hashes that `line_hashes` packed."""
    found = array("I")
    found.frombytes(data[: len(data) // 4 * 4])
    return found
