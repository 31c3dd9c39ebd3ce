"""Where a file was read to, saved so that only what was added has to be read the next time.

A state is worth its place only for a large file, and is kept only where it holds nothing that
must not leave: a state with secrets in it is thrown away, and its file read again.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.errors import StateError
from leftoff.extraction.collector import State
from leftoff.redaction.redactor import Redactor


class SavedPosition(Struct, frozen=True):
    """The saved state of a file that was read up to `offset`, and how to know it again.

    Attributes:
        place: see `File`.
        first, last: digests of the first 4 KiB and of the 4 KiB before `offset`.
        state: frozen `collector.State`, packed.
    """

    place: str
    offset: int
    first: bytes
    last: bytes
    state: bytes


FROM = 1 << 20
"""Bytes from which on a file's state is kept; a smaller one is read in a moment."""

_ENDS = 4096


def keep(reading: Pass, path: str) -> SavedPosition | None:
    """The state of a pass that has taken in `path` up to its last whole line; None if it
    cannot be taken up again, or must not be kept."""
    if reading.offset < FROM or reading.format is None or reading.format.shape != "lines":
        return None
    if len(reading.sessions) > 1:
        return None  # only the last of them would be in it
    reading.cursor.raw = b""  # the last record: nobody reads it again
    try:
        state = reading.save()
    except StateError:
        return None
    if _tells(state):
        return None
    ends = _ends_of(path, reading.offset)
    if ends is None:
        return None
    packed = zlib.compress(codec.freeze(state), 1)
    return SavedPosition(ends[0], reading.offset, ends[1], ends[2], packed)


def revive(
    kept: SavedPosition, path: str, extra: tuple[str, ...], builtin: tuple[str, ...]
) -> Pass:
    """The pass that was saved, to be fed from `kept.offset` on.

    Raises:
        StateError: the file is another one, was written anew, or the state is damaged.
    """
    ends = _ends_of(path, kept.offset)
    if ends != (kept.place, kept.first, kept.last):
        raise StateError(f"{path}: not the file that was read")
    try:
        state: State = codec.thaw(zlib.decompress(kept.state), State)
    except (ValueError, zlib.error) as error:
        raise StateError(f"{path}: the saved state is damaged ({error})") from error
    return Pass.load(state, path, extra, builtin)


def _ends_of(path: str, offset: int) -> tuple[str, bytes, bytes] | None:
    """Device and inode, and digests of the first 4 KiB and of those before `offset`; None if
    it cannot be read so far."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            told = os.fstat(file.fileno())
            if told.st_size < offset:
                return None
            first = file.read(min(_ENDS, offset))
            file.seek(max(0, offset - _ENDS))
            last = file.read(min(_ENDS, offset))
    except OSError:
        return None
    return f"{told.st_dev}:{told.st_ino}", _digest(first), _digest(last)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _tells(state: State) -> bool:
    """Whether a state holds anything that the gate would hide."""
    texts: list[Any] = []
    for section in (state.head, state.evidence):
        texts += _unpacked(codec.thaw(section, Any))
    gate = Redactor()
    gate.value(texts)
    return gate.total > 0


def _unpacked(value: Any) -> Iterator[Any]:
    """A value with what is packed inside it unpacked."""
    if isinstance(value, bytes):
        try:
            inner = codec.thaw(value, Any)
        except ValueError:
            yield value.decode(errors="replace")
        else:
            yield from _unpacked(inner)
    elif isinstance(value, dict):
        # Kept together: a name tells what its value is.
        yield {str(k): list(_unpacked(v)) if _deep(v) else v for k, v in value.items()}
    elif isinstance(value, list):
        for item in value:
            yield from _unpacked(item)
    else:
        yield value


def _deep(value: Any) -> bool:
    return isinstance(value, (bytes, dict, list))
