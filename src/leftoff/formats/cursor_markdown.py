"""Cursor's markdown export of a chat ("Export Chat"): docs/formats/cursor_markdown.md.

A turn begins with a rule, a blank line and `**User**` or `**Cursor**`. The export holds words
only: tool calls, their results and thoughts are left out by the recorder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leftoff import lazy_re as re
from leftoff.formats.injected import typed_spans
from leftoff.formats.reader import Cursor, Format
from leftoff.formats.text_reader import QUOTED_EXPORT, ExportReader, begins_with, text_lines
from leftoff.model import Record, SessionFacts, Text, Uncertain

_EXPORTED = re.compile(r"_Exported on [^\n_]*? from Cursor(?: \(([^()\n]*)\))?_$")
_DETECT = re.compile(r"# [^\n]*\n_Exported on [^\n_]*? from Cursor(?: \([^()\n]*\))?_\r?\n")
_SPEAKERS = {"**User**": "user", "**Cursor**": "assistant"}


class CursorMarkdownReader(ExportReader):
    """Reads the lines of one export. Fields are its state between lines."""

    def _speaker(self, text: str) -> str:
        return _SPEAKERS.get(text, "")

    def _facts(self, text: str) -> Iterable[Record]:
        exported = _EXPORTED.match(text)
        if exported is not None and exported[1]:
            return (SessionFacts(agent_version=exported[1]),)
        return (SessionFacts(title=text[2:].strip()),) if text.startswith("# ") else ()

    def _inside(self, text: str, cursor: Cursor) -> Iterable[Record]:
        return (Uncertain(QUOTED_EXPORT, cursor.line),) if _EXPORTED.match(text) else ()

    def _flush(self, cursor: Cursor) -> Iterator[Record]:
        cursor = self._block(cursor, rule=True)
        body = "\n".join(text_lines(cursor.raw)[1:]).strip("\n")
        if not self.who or not body.strip():
            return
        if self.who == "assistant":
            self.turns += 1
            yield self._said((Text(body),), cursor)
        else:
            yield cursor.message("user", (Text(body),), typed=typed_spans(0, body))


FORMAT = Format("cursor_markdown", "text", CursorMarkdownReader, begins_with(_DETECT))
