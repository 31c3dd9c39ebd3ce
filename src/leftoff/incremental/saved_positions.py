"""Saved read positions: the next run of a batch reads only what was added to a file.

A state is saved only for a large file and only if it contains no secrets; any other file is
read again.
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
from leftoff.sources.encodings import wide_encoding


class SavedPosition(Struct, frozen=True):
    """The saved state of a file that was read up to `offset`, and how to recognize the file.

    Attributes:
        place: see `File`.
        first, last: digests of the first 4 KiB and of the 4 KiB before `offset`.
        state: `collector.State` as MessagePack, compressed.
    """

    place: str
    offset: int
    first: bytes
    last: bytes
    state: bytes


MIN_SIZE = 1 << 20
"""Bytes: the state of a smaller file is not saved. Chosen by hand; not measured."""

_END_BYTES = 4096


def save_position(reading: Pass, path: str) -> SavedPosition | None:
    """The state of a pass that has read `path` up to its last whole line; None if it cannot be
    resumed or contains secrets."""
    if reading.offset < MIN_SIZE or reading.format is None or reading.format.shape != "lines":
        return None
    if len(reading.sessions) > 1:
        return None  # only the last of them would be in it
    reading.cursor.raw = b""  # the last record; not needed to resume
    try:
        state = reading.save()
    except StateError:
        return None
    if _contains_secrets(state):
        return None
    ends = _identity(path, reading.offset)
    if ends is None:
        return None
    packed = zlib.compress(codec.pack_state(state), 1)
    return SavedPosition(ends[0], reading.offset, ends[1], ends[2], packed)


def resume_pass(
    saved: SavedPosition, path: str, extra: tuple[str, ...], builtin: tuple[str, ...]
) -> Pass:
    """The pass that was saved, to be fed from `saved.offset` on.

    Raises:
        StateError: the file was replaced or rewritten, or the state is damaged.
    """
    ends = _identity(path, saved.offset)
    if ends != (saved.place, saved.first, saved.last):
        raise StateError(f"{path}: not the file that was read")
    try:
        state: State = codec.unpack_state(zlib.decompress(saved.state), State)
    except (ValueError, zlib.error) as error:
        raise StateError(f"{path}: the saved state is damaged ({error})") from error
    return Pass.load(state, path, extra, builtin)


def _identity(path: str, offset: int) -> tuple[str, bytes, bytes] | None:
    """Device and inode, and digests of the first 4 KiB and of those before `offset`; None if
    it cannot be read so far, or its bytes are not those that were read (UTF-16)."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if status.st_size < offset:
                return None
            first = file.read(min(_END_BYTES, offset))
            if wide_encoding(first):
                return None  # what was read is UTF-8, and its length another than the file's
            file.seek(max(0, offset - _END_BYTES))
            last = file.read(min(_END_BYTES, offset))
    except OSError:
        return None
    return f"{status.st_dev}:{status.st_ino}", _digest(first), _digest(last)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _contains_secrets(state: State) -> bool:
    """Whether a state contains anything that redaction would hide."""
    texts: list[Any] = []
    for section in (state.head, state.evidence):
        texts += _decoded(codec.unpack_state(section, Any))
    gate = Redactor()
    gate.value(texts)
    return gate.total > 0


def _decoded(value: Any) -> Iterator[Any]:
    """A value with the MessagePack values inside it decoded."""
    if isinstance(value, bytes):
        try:
            inner = codec.unpack_state(value, Any)
        except ValueError:
            yield value.decode(errors="replace")
        else:
            yield from _decoded(inner)
    elif isinstance(value, dict):
        # In one dict: redaction rules look at the key of a value.
        yield {str(k): list(_decoded(v)) if _is_container(v) else v for k, v in value.items()}
    elif isinstance(value, list):
        for item in value:
            yield from _decoded(item)
    else:
        yield value


def _is_container(value: Any) -> bool:
    return isinstance(value, (bytes, dict, list))
