"""What the readers of text recordings share: lines that gather until the next block begins.

A block is a turn, a prompt or a piece of output; its messages bear the line on which it begins
and the bytes of all its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.formats.injected import sent_by
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Message, Part, Record, Role, Text

_BLANK = frozenset({b""})

# The code of the issue: turns of a quoted export cannot be told from the export's own.
QUOTED_EXPORT = "uncertain_turn"


def begins_with(pattern: re.Pattern[str]) -> Callable[[Sample], bool]:
    """Detects texts whose beginning fits a pattern."""
    return lambda sample: pattern.match(sample.text.lstrip()) is not None


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


class ExportReader(TextReader):
    """Reads an export whose turns begin with a rule, a blank line and a heading."""

    who: str = ""  # user | assistant; "" before the first turn
    rule: int = 0  # 1 after a rule, 2 after a rule and a blank line: here a turn may begin

    def _line(self, line: bytes, text: str, cursor: Cursor) -> Iterable[Record]:
        speaker = self._speaker(text) if self.rule == 2 else ""
        if speaker:
            found = tuple(self._flush(cursor))
            self.who, self.first, self.lines, self.rule = speaker, cursor.line, [line], 0
            self._begin(text)
            return found
        self.rule = 1 if text == "---" else 2 if self.rule == 1 and not text else 0
        if not self.who:
            return self._facts(text)
        self.lines.append(line)
        return self._inside(text, cursor)

    def _speaker(self, text: str) -> str:
        raise NotImplementedError

    def _begin(self, text: str) -> None:
        """Takes up what the heading of a new turn says."""

    def _facts(self, text: str) -> Iterable[Record]:
        raise NotImplementedError

    def _inside(self, text: str, cursor: Cursor) -> Iterable[Record]:
        """What a line in a turn gives before the turn is complete."""
        return ()

    def _prompt(self, texts: list[str], cursor: Cursor) -> Iterator[Message]:
        body = "\n".join(texts).strip("\n")
        if body:
            yield cursor.message("user", (Text(body),), *sent_by(body))
