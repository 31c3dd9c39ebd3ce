"""AgentInstruct (AgentBench) conversations: docs/formats/agentbench.md.

A list (or one object on each line) of {"id", "conversations": [{"role", "content"}]}. The agent
writes its action into its text, and the next user message
holds the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, TypeAlias

from msgspec import Raw, Struct

from leftoff.formats.lenient_json import Fields, dict_of, dicts_of, items_of, text_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.formats.vocabulary import with_closing_words
from leftoff.model import (
    NewSession,
    Part,
    Record,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Typed,
    Unknown,
)

# A message with its number in the list and its bytes; on a line of its own, all messages of a
# conversation share the line.
Placed: TypeAlias = tuple[Fields, int | None, bytes]

# AgentBench itself says agent and user, the data set gpt and human in some of its parts.
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("assistant", "agent", "gpt"), "assistant"),
    **dict.fromkeys(("user", "human"), "user"),
    "system": "system",
}
_ACTION = re.compile(r"^Act(?:ion)?:[ \t]*(\w+)", re.MULTILINE)
_CODE_BLOCK = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n?```|\Z)", re.DOTALL)
_ANSWER = re.compile(r"\((.*)\)|\s*Final Answer:[ \t]*(.*)", re.DOTALL)
_BASH_ACTION = "bash"
_SQL_ACTION = "Operation"
_FINAL_ACTIONS = frozenset({"answer", "finish", "Answer", "commit"})
# The task stands behind instructions, and behind a worked example with a task of its own.
_NEXT_PROBLEM = re.compile(r"Now, I will start a new problem in a new OS\. My problem is:\s*")
_FIRST_PROBLEM = re.compile(r"Now, my problem is:\s*")
_OUTPUT_HEADER = "The output of the OS:"


class AgentBenchReader(Struct):
    """Reads a list of conversations, or one, or one on each line. It has no state."""

    record: ClassVar[type] = dict

    def read(self, record: bytes | dict[str, object], cursor: Cursor) -> Iterable[Record]:
        if isinstance(record, dict):
            row, raw = Fields(record), bytes(cursor.raw)
            given = row.get("conversations")
            listed = given if isinstance(given, list) else []
            placed: list[Placed] = [(Fields(item), None, raw) for item in listed]
            yield from _row(row, placed, f"row-{cursor.line}", cursor)
            return
        rows: Iterable[bytes | Raw] = items_of(record) or [record]
        for number, row in enumerate(map(Fields.of, rows)):
            items = cursor.objects(row.raw("conversations"))
            placed = [(item, cursor.item, cursor.raw) for item in items]
            yield from _row(row, placed, f"row-{number}", cursor)


def _row(row: Fields, items: list[Placed], name: str, cursor: Cursor) -> Iterator[Record]:
    """One conversation as a session."""
    if not items:
        yield Unknown("row without conversations")
        return
    identity = row.get("id")
    yield NewSession(str(identity) if isinstance(identity, (str, int)) else name)
    # A worked example stands before the task, in the same conversation.
    texts = [item.text("content") for item, *_ in items]
    task_item = next((n for n, text in enumerate(texts) if _NEXT_PROBLEM.match(text)), 0)
    turns, pending, ended = 0, "", ""
    no_words: tuple[Typed, ...] = ()
    for number, (item, cursor.item, cursor.raw) in enumerate(items):
        if 0 < number < task_item:
            continue
        text, typed = texts[number], no_words
        role = _ROLES.get(item.text("role").casefold())
        if role is None:
            yield Unknown(f"role {item.text('role')}")
            continue
        if role == "assistant":
            turns += 1
            parts = _assistant_parts(text, turns)
            calls = [part for part in parts if type(part) is ToolCall]
            pending = next((c.id for c in calls if c.kind != "finish"), "")
            ended = next((c.name for c in calls if c.kind == "finish"), "")
        elif pending:
            parts, role, pending = (_result(pending, text),), "tool", ""
        else:
            parts, typed = _user_parts(text, number, task_item, role)
        yield cursor.message(role, parts, "", typed, response=f"r{turns}")
    if ended:  # no person waits for more
        yield Turn("ended", ended)


def _user_parts(
    text: str, number: int, task_item: int, role: str
) -> tuple[tuple[Part, ...], tuple[Typed, ...]]:
    """The parts of a user or system message, and the span of the task in it."""
    first = _FIRST_PROBLEM.search(text)
    if role == "system":
        return (Text(text),), ()
    if number < task_item:  # the instructions, with the example's problem at their end
        return (Text(text[: first.start()].rstrip() if first else text),), ()
    task = _NEXT_PROBLEM.match(text) or first
    start = task.end() if task else 0
    end = start + len(text[start:].rstrip())
    return (Text(text),), (Typed(0, start, end),) if end > start else ()


def _assistant_parts(text: str, turn: int) -> tuple[Part, ...]:
    """The thought and, as a call, the action after it."""
    act = _ACTION.search(text)
    if act is None:
        return (Text(text),) if text else ()
    words = text[: act.start()].strip()
    rest = text[act.end() :]
    parts: tuple[Part, ...] = (Text(words),) if words else ()
    block = _CODE_BLOCK.search(rest)
    identity = f"call-{turn}"
    if act[1] == _BASH_ACTION and block is not None:
        return (*parts, ToolCall(identity, "bash", "shell", {"command": block[1]}))
    if act[1] == _SQL_ACTION and block is not None:
        return (*parts, ToolCall(identity, "sql", "other", {"query": block[1]}))
    if act[1] in _FINAL_ACTIONS:
        answer = _ANSWER.match(rest)
        given = (answer[1] or answer[2] or "").strip() if answer else ""
        final = ToolCall(identity, act[1].lower(), "finish", {"answer": given})
        return with_closing_words((*parts, final))
    return (Text(text),)


def _result(call: str, text: str) -> ToolResult:
    """The result of a call; these environments record no exit status."""
    if text.startswith(_OUTPUT_HEADER):
        text = text[len(_OUTPUT_HEADER) :].removeprefix("\n")
    return ToolResult(call, text)


def _is_row(value: Any) -> bool:
    listed = dicts_of(dict_of(value).get("conversations"))[:5]
    known = (text_of(m.get("role")).casefold() in _ROLES and "content" in m for m in listed)
    return bool(listed) and all(known)


def _detect(sample: Sample) -> bool:
    """A list of conversations, or one, in a document."""
    if isinstance(sample.document, dict):
        return _is_row(sample.document)
    return mostly(_is_row, sample.items)


def _detect_lines(sample: Sample) -> bool:
    """One conversation on each line."""
    return len(sample.lines) > 1 and mostly(_is_row, sample.lines)


FORMAT = Format("agentbench", "document", AgentBenchReader, _detect, several=True)
LINES = Format("agentbench_lines", "lines", AgentBenchReader, _detect_lines, several=True)
