"""Qwen Code sessions, JSON lines: Claude Code's envelope around Gemini's parts.

docs/formats/qwen_code.md. Written from the recorder's open source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff import model as rec
from leftoff.formats.gemini_parts import STATUS, GeminiParts, result_of, usage_of
from leftoff.formats.lenient_json import count_of, dict_of, text_of
from leftoff.formats.reader import Cursor, Format, Sample


class Line(Struct, gc=False):
    type: str = ""
    subtype: object = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: object = None
    timestamp: str | None = None
    cwd: object = None
    version: object = None
    gitBranch: object = None
    message: object = None
    model: object = None
    contextWindowSize: object = None
    usageMetadata: object = None
    toolCallResult: object = None
    systemPayload: object = None
    provenance: object = None
    agentId: object = None
    isSidechain: object = None
    forkedFrom: object = None


# Subtypes of user records whose text a person typed; the recorder wrote all others.
_TYPED_SUBTYPES = frozenset({"", "mid_turn_user_message", "user_text_elements"})
_TOKENS = (
    "promptTokenCount",
    "candidatesTokenCount",
    "cachedContentTokenCount",
    "thoughtsTokenCount",
    "toolUsePromptTokenCount",
)


class QwenReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    parts: GeminiParts = field(default_factory=GeminiParts)
    session: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    window: int = 0

    def read(self, line: Line, cursor: Cursor) -> Iterable[rec.Record]:
        yield from self._facts(line)
        if line.type in ("user", "assistant", "tool_result"):
            yield self._message(line, cursor)
            return
        if line.uuid:
            yield rec.Link(line.uuid, line.parentUuid or "")
        if line.type != "system":
            yield rec.Unknown(line.type)
            return
        payload = dict_of(line.systemPayload)
        if line.subtype == "chat_compression":
            info = dict_of(payload.get("info"))
            yield cursor.compaction(
                recorded=count_of(info.get("originalTokenCount")),
                recorded_after=count_of(info.get("newTokenCount")),
            )
        elif line.subtype == "custom_title":
            yield rec.SessionFacts(title=text_of(payload.get("customTitle")))
        elif line.subtype == "parent_session":
            yield rec.SessionFacts(parent_id=text_of(payload.get("parentSessionId")))

    def _facts(self, line: Line) -> Iterable[rec.SessionFacts]:
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
            yield rec.SessionFacts(
                id=self.session,
                cwd=self.cwd,
                branch=self.branch,
                agent_version=self.version,
                forked_from=text_of(dict_of(line.forkedFrom).get("sessionId")),
                window=self.window or None,
            )

    def _message(self, line: Line, cursor: Cursor) -> rec.Message:
        agent = text_of(line.agentId) or ("sidechain" if line.isSidechain is True else "")
        person = (
            line.type == "user"
            and not agent
            and text_of(line.subtype) in _TYPED_SUBTYPES
            and line.provenance in (None, "real_user")
        )
        content = self.parts.content(dict_of(line.message).get("parts"), person)
        parts: tuple[rec.Part, ...] = content.parts
        role: rec.Role = "user"
        typed: tuple[rec.Typed, ...] = ()
        if line.type == "assistant":
            role = "assistant"
        elif line.type == "tool_result" or content.results:
            role, parts = "tool", _with_status(parts, line.toolCallResult)
        else:
            typed = content.typed
        return cursor.message(
            role,
            parts,
            "",
            typed,
            key=line.uuid or "",
            parent=line.parentUuid or "",
            response=line.uuid or None,
            time=line.timestamp or "",
            agent=agent,
            model=text_of(line.model),
            cwd=text_of(line.cwd),
            usage=usage_of(line.usageMetadata, _TOKENS),
        )


def _with_status(parts: tuple[rec.Part, ...], facts: object) -> tuple[rec.Part, ...]:
    status = STATUS.get(text_of(dict_of(facts).get("status")))
    results = [p for p in parts if type(p) is rec.ToolResult]
    if status is None or len(results) != 1:
        return parts
    name = text_of(dict_of(facts).get("name"))
    updated = result_of(results[0].call_id, name, results[0].text, status)
    if results[0].exit_code is not None:
        updated = msgspec.structs.replace(
            updated, exit_code=results[0].exit_code, status=results[0].status
        )
    return tuple(updated if p is results[0] else p for p in parts)


def _detect(sample: Sample) -> bool:
    return any(
        "sessionId" in line
        and "parentUuid" in line
        and ("parts" in dict_of(line.get("message")) or "systemPayload" in line)
        for line in sample.lines
    )


FORMAT = Format("qwen_code", "lines", QwenReader, _detect)
