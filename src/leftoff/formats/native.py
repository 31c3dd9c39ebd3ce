"""leftoff's own JSONL: docs/formats/leftoff.md.

The first line may be {"leftoff": "session/1", "id", "cwd", "branch", "title", ...}; every other
line is a message: {"role", "text"} in the short form, or {"role", "parts": [...]} with parts
{"text"}, {"reasoning"}, {"call": {"id", "name", "input"}} and
{"result": {"call_id", "text", "status", "exit_code"}}."""

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff import model as rec
from leftoff.errors import FormatError
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields, dicts_of
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.thread import ORIGINS
from leftoff.formats.vocabulary import tool_call

SCHEMA = "session/1"
ROLES = frozenset({"user", "assistant", "system", "tool"})


class Line(Struct, gc=False):
    leftoff: str | None = None
    id: str | None = None
    cwd: str | None = None
    branch: str | None = None
    title: str | None = None
    window: int | None = None
    role: str | None = None
    text: str | None = None
    parts: list[Any] | None = None
    origin: str | None = None
    key: str | None = None
    parent: str | None = None
    response: str | None = None
    time: str | None = None
    agent: str | None = None
    model: str | None = None
    usage: rec.Usage | None = None
    compaction: str | None = None


class NativeReader(Struct):
    """Reads the lines of one file. Fields are its state between lines."""

    record: ClassVar[type] = Line

    calls: int = 0
    cwd: str = ""

    def read(self, line: Line, cursor: Cursor) -> Iterable[rec.Record]:
        if line.compaction is not None:
            return (rec.Compaction(line=cursor.line, trigger=line.compaction, raw=cursor.raw),)
        if line.role is None:
            if line.leftoff is None:
                return (rec.Unknown(""),)
            if cursor.line <= 1 and line.leftoff.startswith("session/"):
                if line.leftoff != SCHEMA:
                    raise FormatError(
                        f"written by a newer leftoff ({line.leftoff[:20]!r}, this one knows "
                        f"{SCHEMA!r}); update leftoff to read it"
                    )
            self.cwd = line.cwd or ""
            return (
                rec.SessionFacts(
                    id=line.id or "",
                    cwd=self.cwd,
                    branch=line.branch or "",
                    title=line.title or "",
                    window=line.window,
                ),
            )
        if line.role not in ROLES:
            return (rec.Unknown(line.role),)
        parts = [p for p in map(self._part, dicts_of(line.parts)) if p is not None]
        if line.text is not None:
            parts.insert(0, rec.Text(line.text))
        by_person = line.role == "user" and line.origin in {None, "prompt"}
        typed = typed_parts(parts) if by_person else ()
        default = {"assistant": "agent", "system": "injected", "tool": "tool"}.get(line.role)
        if line.role == "user":
            default = "prompt" if typed else "injected"
            if not typed and any(type(p) is rec.ToolResult for p in parts):
                default = "tool"
        origin = line.origin if line.origin in ORIGINS else default or "agent"
        message = cursor.message(
            line.role,  # type: ignore[arg-type]
            tuple(parts),
            origin,
            typed,
            key=line.key or "",
            parent=line.parent or "",
            time=line.time or "",
            agent=line.agent or "",
            cwd=line.cwd or self.cwd,
        )
        # This format records these three for any role.
        more = {"response": line.response or "", "model": line.model or ""}
        return (replace(message, usage=line.usage, **more),)

    def _part(self, value: dict[str, object]) -> rec.Part | None:
        if isinstance(text := value.get("text"), str):
            return rec.Text(text)
        if isinstance(text := value.get("reasoning"), str):
            return rec.Reasoning(text)
        call, result = Fields(value.get("call")), Fields(value.get("result"))
        if call.value:
            self.calls += 1
            identity = call.text("id") or f"call-{self.calls}"
            return tool_call(identity, call.text("name"), call.get("input"))
        if result.value:
            return rec.ToolResult(
                result.text("call_id") or f"call-{self.calls}",
                result.text("text"),
                result.text("status") or "ok",
                result.number("exit_code"),
            )
        return None


def write(messages: Iterable[rec.Message], facts: rec.SessionFacts | None = None) -> bytes:
    """Messages as a file of this format."""
    named = codec.to_builtins(facts).items() if facts is not None else ()
    known = {k: v for k, v in named if k in Line.__struct_fields__ and v not in ("", None)}
    lines = [codec.dumps({"leftoff": SCHEMA, **known})]
    for m in messages:
        line = {"role": m.role, "parts": [_part_json(p) for p in m.parts]}
        for name in ("origin", "key", "parent", "response", "time", "agent", "model", "cwd"):
            if getattr(m, name):
                line[name] = getattr(m, name)
        if m.usage is not None:
            line["usage"] = codec.to_builtins(m.usage)
        lines.append(codec.dumps(line))
    return b"".join(lines)


def _part_json(part: rec.Part) -> dict[str, object]:
    match part:
        case rec.Text(text=text):
            return {"text": text}
        case rec.Reasoning(text=text):
            return {"reasoning": text}
        case rec.ToolCall():
            return {"call": {"id": part.id, "name": part.name, "input": part.input}}
        case rec.ToolResult():
            value = {"call_id": part.call_id, "text": part.text, "status": part.status}
            code = {} if part.exit_code is None else {"exit_code": part.exit_code}
            return {"result": {**value, **code}}
        case _:
            return {"media": part.media_type}


def _detect(sample: Sample) -> bool:
    first = sample.lines[0] if sample.lines else {}
    if Fields(first).text("leftoff").startswith("session/"):
        return True
    return bool(sample.lines) and all(
        str(line.get("role")) in ROLES
        and ("parts" in line or isinstance(line.get("text"), str))
        and "content" not in line
        for line in sample.lines
    )


FORMAT = Format("leftoff", "lines", NativeReader, _detect)
