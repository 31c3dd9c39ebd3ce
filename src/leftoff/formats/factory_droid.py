"""Factory Droid sessions, JSON lines: docs/formats/factory_droid.md.

The messages inside are Anthropic's, so the reader of Claude Code reads them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.formats import claude_code as claude
from leftoff.formats.lenient_json import count_of, text_of
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Compaction, Link, Message, Record, SessionFacts, Text, Unknown


class Body(Struct, gc=False):
    role: str = ""
    content: str | list[claude.Block] | None = None
    visibility: Any = None


class Line(Struct, gc=False):
    type: str = ""
    id: str | None = None
    parentId: str | None = None
    timestamp: str | None = None
    title: Any = None
    sessionTitle: Any = None
    cwd: Any = None
    callingSessionId: Any = None
    message: Body | None = None
    visibility: Any = None
    summaryText: Any = None
    summaryTokens: Any = None


QUIET = frozenset({"todo_state", "session_end", "session_settings", "agent_turn_outcome"})
_UNNAMED = "New Session"


class DroidReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    claude: claude.ClaudeReader = field(default_factory=claude.ClaudeReader)
    cwd: str = ""
    child: bool = False
    """Another session ran this one: nobody typed its prompts."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        kind = line.type
        if kind == "message":
            return self._said(line, cursor)
        if kind == "session_start":
            self.cwd = text_of(line.cwd) or self.cwd
            parent = text_of(line.callingSessionId)
            self.child = bool(parent)
            named = text_of(line.sessionTitle)
            title = named if named and named != _UNNAMED else text_of(line.title)
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
            mark = Compaction(
                line=cursor.line,
                recorded_after=count_of(line.summaryTokens) or None,
                raw=cursor.raw,
            )
            message = Message(
                index=cursor.take(),
                role="user",
                parts=(Text(text_of(line.summaryText)),),
                line=cursor.line,
                origin="compaction",
                key=line.id or "",
                parent=line.parentId or "",
                time=line.timestamp or "",
                cwd=self.cwd,
                raw=cursor.raw,
            )
            return (mark, message)
        link = (Link(line.id, line.parentId or ""),) if line.id else ()
        return link if kind in QUIET else (*link, Unknown(kind))

    def _said(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        body = line.message or Body()
        if body.role not in ("user", "assistant"):
            yield Unknown(f"message/{body.role}")
            return
        twin = claude.Line(
            type=body.role,
            uuid=line.id,
            parentUuid=line.parentId,
            timestamp=line.timestamp,
            cwd=self.cwd,
            message=claude.Body(id=line.id, role=body.role, content=body.content),
        )
        for found in self.claude.read(twin, cursor):
            if not isinstance(found, Message):
                continue
            if "user_only" in (line.visibility, body.visibility):
                # Shown to the person, never sent to the model, typed by nobody.
                yield msgspec.structs.replace(found, role="system", origin="meta", typed=())
            elif self.child and found.origin == "prompt":
                yield msgspec.structs.replace(found, origin="injected", typed=())
            else:
                yield found


class FactoryDroid(Struct, frozen=True):
    """The format object: how to know such a file and how to read it."""

    name: str = "factory_droid"
    shape: str = "lines"
    reader: type[DroidReader] = DroidReader

    def detect(self, sample: Sample) -> bool:
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


FORMAT = FactoryDroid()
