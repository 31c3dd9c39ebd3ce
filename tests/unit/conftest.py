"""What the tests of the formats share: reading a recording record by record."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from leftoff import codec
from leftoff.formats.reader import Cursor, Sample, formats
from leftoff.model import Message, Record

Read = Callable[[str, Any], list[Record]]


@pytest.fixture
def read() -> Read:
    """Reads lines (a list) or a document (bytes, or a value) with the named format.

    Asserts on the way that the format knows its own, that every index is given once, and that
    a reader put aside between two lines and taken up again reads the same.
    """

    def read_as(name: str, given: Any) -> list[Record]:
        format_ = formats.get(name)
        if format_.shape == "document":
            data = given if isinstance(given, bytes) else json.dumps(given).encode()
            pieces = [data]
        else:
            pieces = [g if isinstance(g, bytes) else json.dumps(g).encode() for g in given]
            data = b"\n".join(pieces)
        assert format_.detect(Sample(data, complete=True))
        whole = _records(name, pieces, resumed=False)
        assert _records(name, pieces, resumed=True) == whole
        taken: dict[str, list[int]] = {}
        for record in whole:
            if isinstance(record, Message):
                taken.setdefault(record.agent, []).append(record.index)
        assert all(found == list(range(len(found))) for found in taken.values())
        return whole

    return read_as


def _records(name: str, pieces: Iterable[bytes], *, resumed: bool) -> list[Record]:
    format_ = formats.get(name)
    reader: Any = format_.reader()
    cursor = Cursor()
    found: list[Record] = []
    for number, piece in enumerate(pieces):
        cursor.raw = piece
        records = [piece]
        if format_.shape == "lines":
            cursor.line = number + 1
            records = codec.LineDecoder(reader.record).decode(piece)[0]
        for record in records:
            found += reader.read(record, cursor)
        if resumed:
            reader = codec.unpack_state(codec.pack_state(reader), type(reader))
    return found


@pytest.fixture
def messages(read: Read) -> Callable[[str, Any], list[Message]]:
    """As `read`, but the messages only."""

    def read_messages(name: str, given: Any) -> list[Message]:
        return [r for r in read(name, given) if isinstance(r, Message)]

    return read_messages
