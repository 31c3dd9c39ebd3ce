"""Cursor's markdown export of a chat ("Export Chat"): docs/formats/cursor_markdown.md.

A turn begins with a rule, a blank line and `**User**` or `**Cursor**`. The export holds words
only: tool calls, their results and thoughts are left out by the recorder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from leftoff.formats.injected import typed_spans
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Message, Record, SessionFacts, Text, Uncertain

_EXPORTED = re.compile(r"_Exported on [^\n_]*? from Cursor(?: \(([^()\n]*)\))?_$")
_DETECT = re.compile(r"# [^\n]*\n_Exported on [^\n_]*? from Cursor(?: \([^()\n]*\))?_\r?\n")
_SPEAKERS = {"**User**": "user", "**Cursor**": "assistant"}

QUOTED_EXPORT = "uncertain_turn"
"""The code of the issue: turns of a quoted export cannot be told from the export's own."""


class CursorMarkdownReader(Struct):
    """Reads the lines of one export. Fields are its state between lines."""

    record: ClassVar[Any] = bytes

    who: str = ""
    """user | assistant; "" before the first turn."""
    first: int = 0
    lines: list[bytes] = []
    rule: int = 0
    """1 after a rule, 2 after a rule and a blank line: here a turn may begin."""
    turns: int = 0

    def read(self, line: bytes, cursor: Cursor) -> Iterable[Record]:
        if not line and cursor.ended:
            return tuple(self._flush(cursor))
        text = line.decode(errors="replace").rstrip("\r\n")
        speaker = _SPEAKERS.get(text) if self.rule == 2 else None
        if speaker is not None:
            found = tuple(self._flush(cursor))
            self.who, self.first, self.lines, self.rule = speaker, cursor.line, [line], 0
            return found
        self.rule = 1 if text == "---" else 2 if self.rule == 1 and not text else 0
        if self.who:
            self.lines.append(line)
            return (Uncertain(QUOTED_EXPORT, cursor.line),) if _EXPORTED.match(text) else ()
        exported = _EXPORTED.match(text)
        if exported is not None and exported[1]:
            return (SessionFacts(agent_version=exported[1]),)
        return (SessionFacts(title=text[2:].strip()),) if text.startswith("# ") else ()

    def _flush(self, cursor: Cursor) -> Iterator[Record]:
        """The message of the turn that ended."""
        lines, who = self.lines, self.who
        self.lines = []
        while lines and not lines[-1].strip():
            lines.pop()
        if lines and lines[-1].strip() == b"---":
            lines.pop()
        if not lines or not who:
            return
        raw = b"".join(lines)
        body = b"".join(lines[1:]).decode(errors="replace").replace("\r\n", "\n").strip("\n")
        if not body.strip():
            return
        if who == "assistant":
            self.turns += 1
            yield Message(
                cursor.take(),
                "assistant",
                (Text(body),),
                self.first,
                response=f"r{self.turns}",
                raw=raw,
            )
            return
        typed = typed_spans(0, body)
        origin = "prompt" if typed else "injected"
        yield Message(
            cursor.take(), "user", (Text(body),), self.first, None, origin, typed, raw=raw
        )


class CursorMarkdown(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "cursor_markdown"
    shape: str = "text"
    reader: type[CursorMarkdownReader] = CursorMarkdownReader

    def detect(self, sample: Sample) -> bool:
        return _DETECT.match(sample.text.lstrip()) is not None


FORMAT = CursorMarkdown()
