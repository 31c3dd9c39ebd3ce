"""Blocks: how the index stores entries and edits in little room.

The entries of one kind of a session are compressed together, some kilobytes at a time; a row
for each would take three times as much. The number of an entry is that of its block and its
place in it; where one is removed, the others keep their places.

A hook reads blocks: nothing of the engine may be imported here."""

import zlib
from collections.abc import Sequence
from typing import TypeAlias

from leftoff import codec
from leftoff.text.line_hashes import Replaced

# Code points of texts from which on a block is full: on collected sessions the texts take a
# third of their length, and with twice as much 5 % less, but a search reads a block for each
# result.
SIZE = 4_000
# Most entries of a block. More would make the numbers, and with them the full-text index,
# larger: 256 by about a tenth.
PLACES = 64
# Text, note, path, message and until of an `handover.entries.Entry`.
Stored: TypeAlias = tuple[str, str, str, int, int]
# Message, whole, replaced and hunk of a `handover.entries.FileEdit`.
StoredEdit: TypeAlias = tuple[int, bool, tuple[Replaced, ...], str]


def entry_number(block: int, place: int) -> int:
    """The number of an entry, its row in the full-text index."""
    return block * PLACES + place


def is_full(entries: Sequence[Stored | None]) -> bool:
    """Whether no further entry goes into a block."""
    size = sum(len(e[0]) + len(e[1]) for e in entries if e is not None)
    return size >= SIZE or len(entries) >= PLACES


def packed(values: object) -> bytes:
    """A block of entries, or the edits of a file, as it is stored."""
    return zlib.compress(codec.pack_state(values))


def unpacked(data: bytes) -> list[Stored | None]:
    """The entries of a block by place; None at places whose entry was removed."""
    found: list[Stored | None] = codec.unpack_state(zlib.decompress(data), list[Stored | None])
    return found


def unpacked_edits(data: bytes) -> list[StoredEdit]:
    """The edits of a file in a session."""
    found: list[StoredEdit] = codec.unpack_state(zlib.decompress(data), list[StoredEdit])
    return found
