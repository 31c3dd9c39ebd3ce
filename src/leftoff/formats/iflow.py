"""iFlow CLI sessions, JSON lines much like Claude Code's: docs/formats/iflow.md.

What differs: session ids begin with "session-", a call is recorded again on the line that
follows it, and a tool's result is a Gemini function response.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.formats import claude_code as claude
from leftoff.formats import claude_code_records as records
from leftoff.formats.gemini_parts import response_texts, result_of
from leftoff.formats.lenient_json import dict_of, dicts_of, text_of
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Message, Part, Record, ToolCall, ToolResult


class Block(Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: Any = None


class Body(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    role: str | None = None
    content: str | list[Block] | None = None
    usage: records.Tokens | None = None


class Line(Struct, gc=False):
    type: str = ""
    uuid: str | None = None
    parentUuid: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    message: Body | None = None
    isMeta: bool | None = None
    isSidechain: bool | None = None
    isCompactSummary: bool | None = None
    agentId: str | None = None
    subtype: str | None = None
    toolUseResult: Any = None


_MAX_REMEMBERED = 64
_STATUS = {"success": "ok", "error": "error", "cancelled": "cancelled"}


class IflowReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    claude: claude.ClaudeReader = field(default_factory=claude.ClaudeReader)
    calls: list[str] = field(default_factory=list)
    """Ids of the last calls, to skip a call that is recorded again."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        body = line.message
        if body is not None and isinstance(body.content, list):
            content: Any = [_claude_block(b) for b in body.content]
        else:
            content = body.content if body else None
        claude_line = records.Line(
            type=line.type,
            uuid=line.uuid,
            parentUuid=line.parentUuid,
            timestamp=line.timestamp,
            sessionId=line.sessionId,
            cwd=line.cwd,
            gitBranch=line.gitBranch,
            version=line.version,
            isMeta=line.isMeta,
            isSidechain=line.isSidechain,
            isCompactSummary=line.isCompactSummary,
            agentId=line.agentId,
            subtype=line.subtype,
        )
        if body is not None:
            claude_line.message = records.Body(
                id=body.id, model=body.model, role=body.role, content=content, usage=body.usage
            )
        for found in self.claude.read(claude_line, cursor):
            if isinstance(found, Message):
                yield msgspec.structs.replace(found, parts=self._new_parts(found, line))
            else:
                yield found

    def _new_parts(self, message: Message, line: Line) -> tuple[Part, ...]:
        facts = dict_of(line.toolUseResult)
        parts: list[Part] = []
        for part in message.parts:
            if type(part) is ToolCall and part.id:
                if part.id in self.calls:
                    continue
                self.calls.append(part.id)
                del self.calls[:-_MAX_REMEMBERED]
            elif type(part) is ToolResult and part.status in ("ok", "error"):
                status = _STATUS.get(text_of(facts.get("status")), part.status)
                name = text_of(facts.get("toolName"))
                parts.append(result_of(part.call_id, name, part.text, status))
                continue
            parts.append(part)
        return tuple(parts)


def _claude_block(block: Block) -> records.Block:
    content = block.content
    failed = block.is_error
    if isinstance(content, dict):
        content, wrong = response_texts(content.get("responseParts"))
        failed = failed or wrong
    elif isinstance(content, list):
        content = "\n".join(text_of(b.get("text")) for b in dicts_of(content))
    return records.Block(
        type=block.type,
        text=block.text,
        thinking=block.thinking,
        id=block.id,
        name=block.name,
        input=block.input,
        tool_use_id=block.tool_use_id,
        is_error=failed,
        content=text_of(content),
    )


class Iflow(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "iflow"
    shape: str = "lines"
    reader: type[IflowReader] = IflowReader

    def detect(self, sample: Sample) -> bool:
        return any(
            "parentUuid" in line and str(line.get("sessionId")).startswith("session-")
            for line in sample.lines
        )


FORMAT = Iflow()
