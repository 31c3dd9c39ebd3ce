"""Cursor agent transcripts, JSON lines: docs/formats/cursor.md.

It has no ids, no times, no model and usually no tool results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import dicts_of, known_id, text_of
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import tool_call
from leftoff.model import Media, Part, Reasoning, Record, Role, Text, ToolResult, Typed, Unknown


class Body(Struct, gc=False):
    content: object = None


class Line(Struct, gc=False):
    role: str = ""
    type: str = ""
    message: Body | None = None


IGNORED_TYPES = frozenset({"turn_ended"})
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*(?:</user_query>|\Z)", re.DOTALL)
_CONTEXT = re.compile(
    r"\s*<(?:attached_files|code_selection|open_and_recently_viewed_files|user_info"
    r"|git_status|timestamp|additional_data|rules|agent_skills|system_reminder)\b"
)


class CursorReader(Struct):
    """Reads the lines of one transcript. Fields are its state between lines."""

    record: ClassVar[Any] = Line

    made: int = 0
    """Number of call ids generated; the recorder writes none."""

    def read(self, line: Line, cursor: Cursor) -> Iterable[Record]:
        if line.role not in ("user", "assistant"):
            other = line.type or line.role
            return () if other in IGNORED_TYPES else (Unknown(other),)
        content: Any = line.message.content if line.message else None
        parts: list[Part] = []
        typed: tuple[Typed, ...] = ()
        results = False
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in dicts_of(content):
            kind = block.get("type")
            if kind == "text":
                text = text_of(block.get("text"))
                if line.role == "user":
                    typed += _typed(len(parts), text)
                parts.append(Text(text))
            elif kind == "thinking":
                parts.append(Reasoning(text_of(block.get("thinking"))))
            elif kind == "tool_use":
                name = text_of(block.get("name"))
                call = known_id(block.get("id"))
                if not call:
                    self.made += 1
                    call = f"call-{self.made}"
                parts.append(tool_call(call, name, block.get("input")))
            elif kind == "tool_result":
                results = True
                parts.append(_result(block))
            else:
                parts.append(Media(text_of(kind)))
        role: Role = "assistant" if line.role == "assistant" else "user"
        origin = "tool" if results and role == "user" else ""
        return (cursor.message(role, tuple(parts), origin, typed, response=None),)


def _typed(part: int, text: str) -> tuple[Typed, ...]:
    """Cursor wraps the person's words in a tag, beside its own context in others."""
    if "<user_query>" in text:
        return tuple(Typed(part, *found.span(1)) for found in _QUERY.finditer(text) if found[1])
    return () if _CONTEXT.match(text) else typed_spans(part, text)


def _result(block: dict[str, Any]) -> ToolResult:
    content = block.get("content")
    if isinstance(content, str):
        text = content
    else:
        text = "\n".join(text_of(b.get("text")) for b in dicts_of(content))
    failed = block.get("is_error")
    status = "error" if failed is True else "ok" if failed is False else "unknown"
    return ToolResult(known_id(block.get("tool_use_id")), text, status)


def _detect(sample: Sample) -> bool:
    messages = [line for line in sample.lines if "role" in line]
    return bool(messages) and all(
        line["role"] in ("user", "assistant")
        and isinstance(line.get("message"), dict)
        and "content" in line["message"]
        and not {"type", "uuid", "id", "sessionId"} & line.keys()
        for line in messages
    )


FORMAT = Format("cursor", "lines", CursorReader, _detect)
