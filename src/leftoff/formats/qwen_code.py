"""Qwen Code sessions, JSON lines: Claude Code's envelope around Gemini's parts.

docs/formats/qwen_code.md. Written from the recorder's open source.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff.formats.gemini_parts import GeminiParts, result_of
from leftoff.formats.lenient_json import count_of, dict_of, text_of
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Compaction,
    Link,
    Message,
    Part,
    Record,
    Role,
    SessionFacts,
    ToolResult,
    Typed,
    Unknown,
    Usage,
)


class Line(Struct, gc=False):
    type: str = ""
    subtype: Any = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: Any = None
    timestamp: str | None = None
    cwd: Any = None
    version: Any = None
    gitBranch: Any = None
    message: Any = None
    model: Any = None
    contextWindowSize: Any = None
    usageMetadata: Any = None
    toolCallResult: Any = None
    systemPayload: Any = None
    provenance: Any = None
    agentId: Any = None
    isSidechain: Any = None
    forkedFrom: Any = None


_TYPED_SUBTYPES = frozenset({"", "mid_turn_user_message", "user_text_elements"})
"""Subtypes of user records whose text a person typed; the recorder wrote all others."""
_STATUS = {"success": "ok", "error": "error", "cancelled": "cancelled"}


class QwenReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    parts: GeminiParts = field(default_factory=GeminiParts)
    session: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    window: int = 0

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        yield from self._facts(line)
        if line.type in ("user", "assistant", "tool_result"):
            yield self._message(line, cursor)
            return
        if line.uuid:
            yield Link(line.uuid, line.parentUuid or "")
        if line.type != "system":
            yield Unknown(line.type)
            return
        payload = dict_of(line.systemPayload)
        if line.subtype == "chat_compression":
            info = dict_of(payload.get("info"))
            yield Compaction(
                line=cursor.line,
                recorded=count_of(info.get("originalTokenCount")) or None,
                recorded_after=count_of(info.get("newTokenCount")) or None,
                raw=cursor.raw,
            )
        elif line.subtype == "custom_title":
            yield SessionFacts(title=text_of(payload.get("customTitle")))
        elif line.subtype == "parent_session":
            yield SessionFacts(parent_id=text_of(payload.get("parentSessionId")))

    def _facts(self, line: Line) -> Iterable[SessionFacts]:
        session, cwd = text_of(line.sessionId), text_of(line.cwd)
        branch, version = text_of(line.gitBranch), text_of(line.version)
        window = count_of(line.contextWindowSize)
        updated = (
            session or self.session,
            cwd or self.cwd,
            branch or self.branch,
            version or self.version,
            window or self.window,
        )
        if updated != (self.session, self.cwd, self.branch, self.version, self.window):
            self.session, self.cwd, self.branch, self.version, self.window = updated
            yield SessionFacts(
                id=self.session,
                cwd=self.cwd,
                branch=self.branch,
                agent_version=self.version,
                forked_from=text_of(dict_of(line.forkedFrom).get("sessionId")),
                window=self.window or None,
            )

    def _message(self, line: Line, cursor: Cursor) -> Message:
        agent = text_of(line.agentId) or ("sidechain" if line.isSidechain is True else "")
        person = (
            line.type == "user"
            and not agent
            and text_of(line.subtype) in _TYPED_SUBTYPES
            and line.provenance in (None, "real_user")
        )
        content = self.parts.content(dict_of(line.message).get("parts"), person)
        parts: tuple[Part, ...] = content.parts
        typed: tuple[Typed, ...] = ()
        role: Role = "user"
        response = ""
        index = cursor.take(agent)
        if line.type == "assistant":
            role, origin, response = "assistant", "agent", line.uuid or f"r{index}"
        elif line.type == "tool_result" or content.results:
            role, origin = "tool", "tool"
            parts = _with_status(parts, line.toolCallResult)
        else:
            typed = content.typed
            origin = "prompt" if typed else "injected"
        return Message(
            index=index,
            role=role,
            parts=parts,
            line=cursor.line,
            origin=origin,
            typed=typed,
            key=line.uuid or "",
            parent=line.parentUuid or "",
            response=response,
            time=line.timestamp or "",
            agent=agent,
            model=text_of(line.model) if response else "",
            cwd=text_of(line.cwd),
            usage=_usage(line.usageMetadata) if response else None,
            raw=cursor.raw,
        )


def _with_status(parts: tuple[Part, ...], facts: Any) -> tuple[Part, ...]:
    """The parts with the recorded status, if there is exactly one result."""
    status = _STATUS.get(text_of(dict_of(facts).get("status")))
    results = [p for p in parts if type(p) is ToolResult]
    if status is None or len(results) != 1:
        return parts
    name = text_of(dict_of(facts).get("name"))
    updated = result_of(results[0].call_id, name, results[0].text, status)
    if results[0].exit_code is not None:
        updated = msgspec.structs.replace(
            updated, exit_code=results[0].exit_code, status=results[0].status
        )
    return tuple(updated if p is results[0] else p for p in parts)


def _usage(value: Any) -> Usage | None:
    """Gemini's usage metadata; the prompt's count includes what came from the cache."""
    if not isinstance(value, dict):
        return None
    cached = count_of(value.get("cachedContentTokenCount"))
    thoughts = count_of(value.get("thoughtsTokenCount"))
    return Usage(
        input=max(0, count_of(value.get("promptTokenCount")) - cached)
        + count_of(value.get("toolUsePromptTokenCount")),
        output=count_of(value.get("candidatesTokenCount")) + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )


class QwenCode(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "qwen_code"
    shape: str = "lines"
    reader: type[QwenReader] = QwenReader

    def detect(self, sample: Sample) -> bool:
        return any(
            "sessionId" in line
            and "parentUuid" in line
            and ("parts" in dict_of(line.get("message")) or "systemPayload" in line)
            for line in sample.lines
        )


FORMAT = QwenCode()
