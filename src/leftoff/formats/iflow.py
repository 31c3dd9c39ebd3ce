"""iFlow CLI sessions, JSON lines much like Claude Code's: docs/formats/iflow.md.

What differs: session ids begin with "session-", a call is recorded again on the line that
follows it, and a tool's result is a Gemini function response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.formats import claude_code as claude
from leftoff.formats.claude_code_records import Block, Line, Piece, Result
from leftoff.formats.gemini_parts import STATUS, response_texts, result_of
from leftoff.formats.lenient_json import text_of
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.model import Message, Part, Record, ToolCall, ToolResult

# Last calls that are remembered; a call is repeated on the very next line. Chosen by hand.
_MAX_REMEMBERED = 64


class IflowReader(Struct):
    record: ClassVar[type] = Line

    claude: claude.ClaudeReader = field(default_factory=claude.ClaudeReader)
    calls: list[str] = field(default_factory=list)
    """Ids of the last calls, to skip a call that is recorded again."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        # The client's own object, which Claude Code's reader would take for its own.
        facts, line.toolUseResult = line.toolUseResult, None
        known = facts if isinstance(facts, Result) else Result()
        for block in line.message.content or () if line.message else ():
            # A result's content is a Gemini function response.
            if isinstance(block, Block) and isinstance(block.content, Piece):
                block.content, failed = response_texts(block.content.responseParts)
                block.is_error = block.is_error or failed
        for found in self.claude.read(line, cursor):
            if isinstance(found, Message):
                yield msgspec.structs.replace(found, parts=self._new_parts(found, known))
            else:
                yield found

    def _new_parts(self, message: Message, facts: Result) -> tuple[Part, ...]:
        parts: list[Part] = []
        for part in message.parts:
            if type(part) is ToolCall and part.id:
                if part.id in self.calls:
                    continue
                self.calls.append(part.id)
                del self.calls[:-_MAX_REMEMBERED]
            elif type(part) is ToolResult and part.status in ("ok", "error"):
                # The client's object tells apart what the block only calls an error.
                status = STATUS.get(text_of(facts.status), part.status)
                name = text_of(facts.toolName)
                parts.append(result_of(part.call_id, name, part.text, status))
                continue
            parts.append(part)
        return tuple(parts)


def _detect(sample: Sample) -> bool:
    return b'"session-' in sample.data and any(
        "parentUuid" in line and str(line.get("sessionId")).startswith("session-")
        for line in sample.lines
    )


FORMAT = Format("iflow", "lines", IflowReader, _detect)
