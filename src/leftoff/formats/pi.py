"""Pi and OpenClaw sessions, JSON lines of versions 1 to 3: docs/formats/pi.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import count_of, dicts_of, known_id, text_of, usage_by
from leftoff.formats.reader import ChainLine, Cursor, Format, Sample
from leftoff.formats.vocabulary import tool_call


class Body(Struct, gc=False):
    role: str = ""
    content: object = None
    model: object = None
    usage: object = None
    stopReason: object = None
    errorMessage: object = None
    responseId: object = None
    toolCallId: object = None
    toolName: object = None
    isError: object = None
    command: object = None
    output: object = None
    exitCode: object = None
    cancelled: object = None
    summary: object = None


class Line(ChainLine, gc=False):
    cwd: object = None
    version: object = None
    parentSession: object = None
    modelId: object = None
    message: Body | None = None
    summary: object = None
    tokensBefore: object = None
    content: object = None
    name: object = None


NO_MESSAGE = frozenset({"thinking_level_change", "custom", "leaf", "label"})
# Reasons for the end of a response, as `Message.stop`.
_STOPS = {"stop": "end", "toolUse": "more"}
_USAGE = "input output cacheRead cacheWrite"
_EXIT_CODE = re.compile(r"Command exited with code (\d{1,9})\s*$")


class PiReader(Struct):
    """Reads the lines of one session. Fields are its state between lines."""

    record: ClassVar[type] = Line

    cwd: str = ""
    model: str = ""
    commands: int = 0  # how many commands the person ran; their calls have no ids

    def read(self, line: Line, cursor: Cursor) -> Iterable[rec.Record]:
        kind = line.type
        if kind == "message":
            body = line.message or Body()
            if body.role == "assistant":
                said = self._assistant_message(line, body, cursor)
                if body.stopReason == "aborted" and body.content:
                    return (said, rec.Turn("interrupted"))
                if body.stopReason == "error":
                    return (said, rec.Turn("failed", text_of(body.errorMessage)))
                return (said,)
            if body.role == "toolResult":
                return (self._message(line, cursor, "tool", (_result(body),)),)
            return self._other_message(line, body, cursor)
        if kind == "session":
            self.cwd = text_of(line.cwd) or self.cwd
            self.model = text_of(line.modelId) or self.model
            version = line.version if isinstance(line.version, int) else 1
            return (
                rec.SessionFacts(
                    id=line.id or "",
                    cwd=self.cwd,
                    agent_version=f"session v{version}",
                    forked_from=text_of(line.parentSession),
                    started=line.timestamp or "",
                ),
            )
        if kind == "compaction":
            compaction = cursor.compaction(recorded=count_of(line.tokensBefore))
            parts = (rec.Text(text_of(line.summary)),)
            return (compaction, self._message(line, cursor, "user", parts, "compaction"))
        if kind in ("custom_message", "branch_summary"):
            found = _blocks(line.content if kind == "custom_message" else line.summary)
            return (self._message(line, cursor, "user", found, "injected"),)
        link = line.link()
        if kind == "model_change":
            self.model = text_of(line.modelId) or self.model
        elif kind == "session_info":
            return (*link, rec.SessionFacts(title=text_of(line.name)))
        elif kind not in NO_MESSAGE:
            return (*link, rec.Unknown(kind))
        return link

    def _assistant_message(self, line: Line, body: Body, cursor: Cursor) -> rec.Message:
        self.model = text_of(body.model) or self.model
        parts = _blocks(body.content)
        origin = "agent"
        if not parts:
            if body.stopReason == "aborted":
                origin = "interruption"
            elif body.stopReason == "error":
                origin, parts = "meta", (rec.Text(text_of(body.errorMessage)),)
        return self._message(line, cursor, "assistant", parts, origin, body=body)

    def _other_message(self, line: Line, body: Body, cursor: Cursor) -> Iterable[rec.Record]:
        role = body.role
        if role == "user":
            parts = _blocks(body.content)
            return (self._message(line, cursor, "user", parts, "", typed_parts(parts)),)
        if role == "bashExecution":
            parts = self._user_command(body)
            return (self._message(line, cursor, "user", parts, "injected"),)
        if role in ("custom", "hookMessage", "branchSummary", "compactionSummary"):
            parts = _blocks(body.content if body.content is not None else body.summary)
            origin = "compaction" if role == "compactionSummary" else "injected"
            return (self._message(line, cursor, "user", parts, origin),)
        return (rec.Unknown(f"message/{role}"),)

    def _user_command(self, body: Body) -> tuple[rec.Part, ...]:
        self.commands += 1
        call = f"person-{self.commands}"
        code = body.exitCode if isinstance(body.exitCode, int) else None
        status = "error" if code else "ok" if code == 0 else "unknown"
        status = "interrupted" if body.cancelled is True else status
        result = rec.ToolResult(call, text_of(body.output), status, code)
        return tool_call(call, "bash", {"command": text_of(body.command)}), result

    def _message(
        self,
        line: Line,
        cursor: Cursor,
        role: rec.Role,
        parts: tuple[rec.Part, ...],
        origin: str = "",
        typed: tuple[rec.Typed, ...] = (),
        body: Body | None = None,
    ) -> rec.Message:
        body = body or Body()
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            response=text_of(body.responseId) or line.id or None,
            key=line.id or "",
            parent=line.parentId or "",
            time=line.timestamp or "",
            model=self.model,
            cwd=self.cwd,
            usage=usage_by(body.usage, _USAGE),
            stop=_STOPS.get(text_of(body.stopReason), ""),
        )


def _blocks(content: object) -> tuple[rec.Part, ...]:
    if isinstance(content, str):
        return (rec.Text(content),)
    parts: list[rec.Part] = []
    for block in dicts_of(content):
        kind = block.get("type")
        if kind == "text":
            parts.append(rec.Text(text_of(block.get("text"))))
        elif kind == "thinking":
            parts.append(rec.Reasoning(text_of(block.get("thinking"))))
        elif kind == "toolCall":
            name = text_of(block.get("name"))
            parts.append(tool_call(known_id(block.get("id")), name, block.get("arguments")))
        else:
            parts.append(rec.Media(text_of(block.get("mimeType")) or text_of(kind)))
    return tuple(parts)


def _result(body: Body) -> rec.ToolResult:
    if isinstance(body.content, str):
        text = body.content
    else:
        text = "\n".join(
            text_of(b.get("text")) for b in dicts_of(body.content) if b.get("type") == "text"
        )
    status, code = "ok", None
    if body.isError is True:
        status = "error"
        end = text[-300:]
        exited = _EXIT_CODE.search(end)
        if exited:
            code = int(exited[1])
        elif "Command timed out after" in end:
            status = "timeout"
        elif end.rstrip().endswith(("Command aborted", "Operation aborted")):
            status = "interrupted"
    return rec.ToolResult(known_id(body.toolCallId), text, status, code)


def _detect(sample: Sample) -> bool:
    for line in sample.lines:
        kind, body = line.get("type"), line.get("message")
        if kind == "session" and "cwd" in line and "timestamp" in line:
            return True
        # Without its first line: only Pi's messages have these.
        if kind != "message" or not isinstance(body, dict):
            continue
        if body.get("role") in ("toolResult", "bashExecution") or "api" in body:
            return True
    return False


FORMAT = Format("pi", "lines", PiReader, _detect)
