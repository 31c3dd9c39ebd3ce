"""What the readers of text recordings share: lines that gather until the next block begins.

A block is a turn, a prompt or a piece of output; its messages bear the line on which it begins
and the bytes of all its lines."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from leftoff.formats.reader import Cursor
from leftoff.model import Message, Part, Record, Role

_BLANK = frozenset({b""})


def text_line(line: bytes) -> str:
    """A line as text, without its end."""
    return line.decode(errors="replace").rstrip("\r\n")


def text_lines(raw: bytes) -> list[str]:
    """The lines of a block as text, without their ends."""
    lines = raw.decode(errors="replace").removesuffix("\n").split("\n")
    return [line.rstrip("\r") for line in lines] if b"\r" in raw else lines


class TextReader(Struct):
    """Gathers the lines of a block. Fields are its state between lines."""

    record: ClassVar[type] = bytes

    first: int = 0  # the line on which the block begins
    lines: list[bytes] = []
    model: str = ""
    turns: int = 0
    calls: int = 0

    def read(self, line: bytes, cursor: Cursor) -> Iterable[Record]:
        """The records that a line, or the end of the recording, completes."""
        if not line and cursor.ended:
            return tuple(self._flush(cursor))
        return self._line(line, text_line(line), cursor)

    def _line(self, line: bytes, text: str, cursor: Cursor) -> Iterable[Record]:
        raise NotImplementedError

    def _flush(self, cursor: Cursor) -> Iterator[Record]:
        raise NotImplementedError

    def _block(
        self, cursor: Cursor, ends: frozenset[bytes] = _BLANK, *, rule: bool = False
    ) -> Cursor:
        """Ends the block: a cursor on it, whose `raw` is b"" if it has no lines.

        Args:
            cursor: numbers the messages.
            ends: what does not belong to the block at its end.
            rule: one `---` above such an end does not belong to it either."""
        lines, self.lines = self.lines, []
        while lines and lines[-1].strip() in ends:
            lines.pop()
        if rule and lines and lines[-1].strip() == b"---":
            lines.pop()
        return cursor.at(self.first, b"".join(lines))

    def _said(
        self, parts: Iterable[Part], cursor: Cursor, role: Role = "assistant", **more: Any
    ) -> Message:
        """A message of the agent's turn; `more` as for `Cursor.message`."""
        return cursor.message(role, tuple(parts), response=f"r{self.turns}", **more)
