"""Saved read positions: the next run of a batch reads only what was added to a file.

A state is saved only for a large file and only if it contains no secrets; any other file is
read again."""

from __future__ import annotations

import zlib

from msgspec import Struct

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.errors import StateError
from leftoff.extraction.collector import State
from leftoff.incremental.cursor import Cursor, Tail
from leftoff.incremental.saved_passes import redacted_state
from leftoff.redaction.redactor import Redactor
from leftoff.sources.open import open_regular


class SavedPosition(Struct, frozen=True):
    """The saved state of a pass over a file.

    Attributes:
        cursor: how far it was read.
        state: `collector.State` as MessagePack, compressed."""

    cursor: Cursor
    state: bytes


# Bytes: the state of a smaller file is not saved. Chosen by hand; not measured.
MIN_SIZE = 1 << 20


def save_position(reading: Pass, cursor: Cursor, least: int = 0) -> SavedPosition | None:
    """The state of a pass that has read a file up to a cursor behind its last whole line; None
    if it is smaller than `least` (`MIN_SIZE` if 0), cannot be resumed or contains secrets."""
    if (
        cursor.offset < (least or MIN_SIZE)
        or reading.format is None
        or reading.format.shape != "lines"
    ):
        return None
    if len(reading.sessions) > 1:
        return None  # only the last of them would be in it
    reading.cursor.raw = b""  # the last record; not needed to resume
    gate = Redactor()
    try:
        state = reading.save()
    except StateError:
        return None
    if redacted_state(state, gate) is None or gate.total:
        return None
    return SavedPosition(cursor, zlib.compress(codec.pack_state(state), 1))


def resume_pass(
    saved: SavedPosition, path: str, extra: tuple[str, ...], builtin: tuple[str, ...]
) -> Pass:
    """The pass that was saved, to be fed from its cursor on.

    Raises:
        StateError: the state is damaged."""
    try:
        state: State = codec.unpack_state(zlib.decompress(saved.state), State)
    except (ValueError, zlib.error) as error:
        raise StateError(f"{path}: the saved state is damaged ({error})") from error
    return Pass.load(state, path, extra, builtin)


def feed_file(reading: Pass, path: str, start: Cursor | None) -> Cursor:
    """Feeds a pass what a file holds behind a cursor; the cursor behind its last whole line.

    Raises:
        StateError: it is not the file of the cursor.
        NotResumable: it is compressed or not in UTF-8.
        FileReplaced: it was replaced meanwhile.
        SourceError: it cannot be read."""
    with open_regular(path, any_encoding=True) as file:
        tail = Tail(file, path, start)
        if tail.is_new and start is not None:
            raise StateError(f"{path}: not the file that was read")
        for data in tail:
            reading.feed(data)
        return tail.cursor(reading.offset)
