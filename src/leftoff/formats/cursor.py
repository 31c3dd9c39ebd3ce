"""Cursor agent transcripts, JSON lines: docs/formats/cursor.md.

It has no ids, no times, no model and usually no tool results."""

from collections.abc import Iterable

from leftoff import lazy_re as re
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import Fields
from leftoff.formats.openai_parts import blocks_of, content_text, part_of
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
from leftoff.formats.vocabulary import tool_call
from leftoff.model import Part, Reasoning, Record, Role, Text, ToolResult, Typed, Unknown

IGNORED_TYPES = frozenset({"turn_ended"})
_CONTEXT = re.compile(
    r"\s*<(?:attached_files|code_selection|open_and_recently_viewed_files|user_info"
    r"|git_status|timestamp|additional_data|rules|agent_skills|system_reminder)\b"
)
# The headings of thoughts, which Cursor writes below the words before them: "**Planning the
# edit**". A heading of an answer begins with no such word.
_THOUGHT = re.compile(r"(?:\A|\n\n)(\*\*[A-Z][a-z]+ing\b[^*\n]{0,200}\*\*)\s*\Z")


class CursorReader(ItemReader):
    def item(self, line: Fields, cursor: Cursor) -> Iterable[Record]:
        role = line.text("role")
        if role not in ("user", "assistant"):
            other = line.text("type") or role
            return () if other in IGNORED_TYPES else (Unknown(other),)
        parts: list[Part] = []
        typed: tuple[Typed, ...] = ()
        for block in blocks_of(line.at("message").get("content")):
            kind = block.text("type")
            if kind == "text":
                if role == "user":
                    text = block.text("text")
                    if "<user_query>" in text or not _CONTEXT.match(text):
                        typed += typed_spans(len(parts), text)
                    parts.append(Text(text))
                else:
                    parts += _said(block.text("text"))
            elif kind == "tool_use":
                # Most calls have no id and no result: nothing shows whether they worked.
                call = block.identity("id") or self.call_id()
                parts.append(tool_call(call, block.text("name"), block.get("input")))
            else:
                parts.append(_result(block) if kind == "tool_result" else part_of(block))
        said: Role = "user" if role == "user" else "assistant"
        return (cursor.message(said, tuple(parts), "", typed, response=None),)


def _said(text: str) -> tuple[Part, ...]:
    """The agent's words, apart from the heading of the thought that followed them."""
    thought = _THOUGHT.search(text)
    if thought is None:
        return (Text(text),)
    heading, words = Reasoning(thought[1]), text[: thought.start()]
    return (Text(words), heading) if words.strip() else (heading,)


def _result(block: Fields) -> ToolResult:
    failed = block.get("is_error")
    status = "error" if failed is True else "ok" if failed is False else "unknown"
    text = content_text(block.get("content"))
    return ToolResult(block.identity("tool_use_id"), text, status)


def _detect(sample: Sample) -> bool:
    messages = [line for line in sample.lines if "role" in line]
    return bool(messages) and all(
        line["role"] in ("user", "assistant")
        and "content" in Fields(line.get("message")).value
        and not {"type", "uuid", "id", "sessionId"} & line.keys()
        for line in messages
    )


FORMAT = Format("cursor", "lines", CursorReader, _detect)
