"""Factory Droid sessions, JSON lines: docs/formats/factory_droid.md.

The messages are Anthropic's, so Claude Code's reader reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.formats import claude_code as claude
from leftoff.formats import claude_code_records as records
from leftoff.formats.lenient_json import count_of, text_of
from leftoff.formats.reader import ChainLine, Cursor, Format, Sample
from leftoff.model import Message, Record, SessionFacts, Text, Unknown


class Body(Struct, gc=False):
    role: str = ""
    content: str | list[records.Block] | None = None
    visibility: object = None


class Line(ChainLine, gc=False):
    title: object = None
    sessionTitle: object = None
    cwd: object = None
    callingSessionId: object = None
    message: Body | None = None
    visibility: object = None
    summaryText: object = None
    summaryTokens: object = None


NO_MESSAGE = frozenset({"todo_state", "session_end", "session_settings", "agent_turn_outcome"})
_DEFAULT_TITLE = "New Session"


class DroidReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    claude: claude.ClaudeReader = field(default_factory=claude.ClaudeReader)
    cwd: str = ""
    child: bool = False
    """Another session started this one, so its prompts were not typed."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        kind = line.type
        if kind == "message":
            return self._messages(line, cursor)
        if kind == "session_start":
            self.cwd = text_of(line.cwd) or self.cwd
            parent = text_of(line.callingSessionId)
            self.child = bool(parent)
            named = text_of(line.sessionTitle)
            title = named if named and named != _DEFAULT_TITLE else text_of(line.title)
            return (
                SessionFacts(
                    id=line.id or "",
                    cwd=self.cwd,
                    title=title,
                    parent_id=parent,
                    started=line.timestamp or "",
                ),
            )
        if kind == "compaction_state":
            shown = (Text(text_of(line.summaryText)),)
            message = cursor.message(
                "user",
                shown,
                "compaction",
                key=line.id or "",
                parent=line.parentId or "",
                time=line.timestamp or "",
                cwd=self.cwd,
            )
            after = count_of(line.summaryTokens)
            return (cursor.compaction(recorded_after=after), message)
        link = line.link()
        return link if kind in NO_MESSAGE else (*link, Unknown(kind))

    def _messages(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        body = line.message or Body()
        if body.role not in ("user", "assistant"):
            yield Unknown(f"message/{body.role}")
            return
        claude_line = records.Line(
            type=body.role,
            uuid=line.id,
            parentUuid=line.parentId,
            timestamp=line.timestamp,
            cwd=self.cwd,
            message=records.Body(id=line.id, role=body.role, content=body.content),
        )
        for found in self.claude.read(claude_line, cursor):
            if not isinstance(found, Message):
                continue
            if "user_only" in (line.visibility, body.visibility):
                # Shown to the person only: neither typed nor sent to the model.
                yield msgspec.structs.replace(found, role="system", origin="meta", typed=())
            elif self.child and found.origin == "prompt":
                yield msgspec.structs.replace(found, origin="injected", typed=())
            else:
                yield found


def _detect(sample: Sample) -> bool:
    for line in sample.lines:
        kind, body = line.get("type"), line.get("message")
        if kind == "session_start":
            return "payload" not in line
        if kind == "message" and isinstance(body, dict) and "parentUuid" not in line:
            # Without its first line: Pi's messages carry a time of their own, or an api.
            return (
                body.get("role") in ("user", "assistant")
                and not {"api", "timestamp", "usage"} & body.keys()
                and isinstance(line.get("id"), str)
            )
    return False


FORMAT = Format("factory_droid", "lines", DroidReader, _detect)
