"""Aider's chat history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leftoff.formats.aider import FORMAT, _answers, edits_in
from leftoff.formats.reader import Cursor
from leftoff.model import (
    Message,
    Record,
)

HEADER = "# aider chat started at 2026-01-02 03:04:05"
BLOCK = "src/a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```"


@pytest.mark.parametrize(
    "text,found",
    [
        (BLOCK, [("src/a.py", "x = 1\n", "x = 2\n")]),
        (BLOCK.removesuffix(">>>>>>> REPLACE\n```"), []),
        ("```\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n```", []),
        (f"**`src/a.py`**:\n{BLOCK[9:]}", [("src/a.py", "x = 1\n", "x = 2\n")]),
        (
            f"{BLOCK[:-4]}\n\n<<<<<<< SEARCH\n=======\ny\n>>>>>>> REPLACE\n```",
            [("src/a.py", "x = 1\n", "x = 2\n"), ("src/a.py", "", "y\n")],
        ),
    ],
)
def test_blocks(text: str, found: list[tuple[str, str, str]]) -> None:
    assert edits_in(text) == found


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
