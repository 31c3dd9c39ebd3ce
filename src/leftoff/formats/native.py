"""leftoff's own JSONL: docs/formats/leftoff.md.

The first line may be {"leftoff": "session/1", "id", "cwd", "branch", "title", ...}; every other
line is a message: {"role", "text"} in the short form, or {"role", "parts": [...]} with parts
{"text"}, {"reasoning"}, {"call": {"id", "name", "input"}} and
{"result": {"call_id", "text", "status", "exit_code"}}."""

from collections.abc import Iterable

from msgspec.structs import replace

from leftoff import codec
from leftoff import model as rec
from leftoff.errors import FormatError
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
from leftoff.formats.thread import ORIGINS
from leftoff.formats.vocabulary import tool_call

SCHEMA = "session/1"
ROLES = frozenset({"user", "assistant", "system", "tool"})


# What a first line may say of the session.
_FACTS = ("id", "cwd", "branch", "title", "window")


class NativeReader(ItemReader):
    def item(self, line: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        schema, role = line.text("leftoff"), line.text("role")
        if line.get("compaction") is not None:
            return (cursor.compaction(line.text("compaction")),)
        if role in ROLES:
            return (self._message(line, role, cursor),)
        if role or not schema:
            return (rec.Unknown(role),)
        if cursor.line <= 1 and schema.startswith("session/") and schema != SCHEMA:
            raise FormatError(
                f"written by a newer leftoff ({schema[:20]!r}, this one knows "
                f"{SCHEMA!r}); update leftoff to read it"
            )
        facts = line.facts(id="id", cwd="cwd", branch="branch", title="title")
        self.cwd = facts.cwd
        return (replace(facts, window=line.number("window")),)

    def _message(self, line: Fields, role: str, cursor: Cursor) -> rec.Message:
        parts = list(map(self._part, line.each("parts")))
        if isinstance(text := line.get("text"), str):
            parts.insert(0, rec.Text(text))
        origin = line.text("origin")
        typed = typed_parts(parts) if role == "user" and origin in {"", "prompt"} else ()
        message = cursor.message(
            role,  # type: ignore[arg-type]
            tuple(parts),
            origin if origin in ORIGINS else "prompt" if typed else "",
            typed,
            key=line.text("key"),
            parent=line.text("parent"),
            time=line.text("time"),
            agent=line.text("agent"),
            cwd=line.text("cwd") or self.cwd,
        )
        # This format records these three for any role.
        counts = line.at("usage")
        tokens = [counts.number(name) or 0 for name in rec.Usage.__struct_fields__]
        usage = rec.Usage(*tokens) if counts.value else None
        more = {"response": line.text("response"), "model": line.text("model")}
        return replace(message, usage=usage, **more)

    def _part(self, part: Fields) -> rec.Part:
        if isinstance(text := part.get("text"), str):
            return rec.Text(text)
        if isinstance(text := part.get("reasoning"), str):
            return rec.Reasoning(text)
        call, result = part.at("call"), part.at("result")
        if call.value:
            own = self.call_id()
            return tool_call(call.text("id") or own, call.text("name"), call.get("input"))
        if result.value:
            return rec.ToolResult(
                result.text("call_id") or f"call-{self.calls}",
                result.text("text"),
                result.text("status") or "ok",
                result.number("exit_code"),
            )
        return rec.Media(part.text("media"))


def write(messages: Iterable[rec.Message], facts: rec.SessionFacts | None = None) -> bytes:
    """Messages as a file of this format."""
    named = codec.to_builtins(facts).items() if facts is not None else ()
    known = {k: v for k, v in named if k in _FACTS and v not in ("", None)}
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
