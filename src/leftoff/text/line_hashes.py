"""Lines as hashes, to recognise a line of a file without storing its text."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from zlib import crc32


def line_hashes(lines: Iterable[str]) -> bytes:
    """Four bytes for each line that is not blank, whatever its indentation."""
    found = array("I")
    found.extend(line_hash(line) for line in lines if line and not line.isspace())
    return found.tobytes()


def line_hash(line: str) -> int:
    """The hash of a line without the spaces at its ends, 32 bits."""
    return crc32(line.strip().encode("utf-8", "surrogatepass"))


def unpacked_hashes(data: bytes) -> array[int]:
    """The hashes that `line_hashes` packed."""
    found = array("I")
    found.frombytes(data)
    return found
