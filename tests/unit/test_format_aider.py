"""Aider's chat history."""

from collections.abc import Callable

import pytest

from leftoff.formats.aider import FORMAT, _answers
from leftoff.formats.reader import Cursor
from leftoff.model import Message, Record

HEADER = "# aider chat started at 2026-01-02 03:04:05"


def test_odd_bytes() -> None:
    text = f"{HEADER}\r\n\r\n#### go  \r\n\r\n".encode() + b"\xff\x00 reply"
    reader, cursor = FORMAT.reader(), Cursor()
    found: list[Record] = []
    for line in text.splitlines(keepends=True):
        cursor.line += 1
        found += reader.read(line, cursor)
    cursor.ended = True
    found += reader.read(b"", cursor)
    assert [m.role for m in found if isinstance(m, Message)] == ["user", "assistant"]


@pytest.mark.parametrize("piece", ["?", "? (Y)es/(N)o ", "? (Y)es/(N)o [a]: ", "? y"])
def test_questions_in_hostile_numbers(piece: str, assert_linear: Callable[..., None]) -> None:
    assert_linear(lambda size: lambda: _answers(0, [piece * (size // len(piece))]), 200_000)
