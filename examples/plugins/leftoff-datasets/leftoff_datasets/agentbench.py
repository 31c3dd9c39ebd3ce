"""AgentInstruct (AgentBench) conversations: docs/formats/agentbench.md.

A list (or one object on each line) of {"id", "conversations": [{"role", "content"}]}. The agent
writes its action into its text, and the next user message
holds the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Raw, Struct

from leftoff.codec import LineDecoder
from leftoff.formats.lenient_json import (
    dict_of,
    dicts_of,
    fields_of,
    items_of,
    text_of,
    value_of,
)
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import with_closing_words
from leftoff.model import (
    Message,
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


class Item(Struct, gc=False):
    """One message."""

    role: str = ""
    content: Any = None


class Row(Struct, gc=False):
    """One conversation on a line of its own."""

    id: Any = None
    conversations: Raw = Raw(b"")


_ITEM = LineDecoder(Item)
_ASSISTANT_ROLES = frozenset({"assistant", "agent", "gpt"})
_USER_ROLES = frozenset({"user", "human"})
_ACTION = re.compile(r"^Act(?:ion)?:[ \t]*(\w+)", re.MULTILINE)
_CODE_BLOCK = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n?```|\Z)", re.DOTALL)
_ANSWER = re.compile(r"\((.*)\)|\s*Final Answer:[ \t]*(.*)", re.DOTALL)
_BASH_ACTION = "bash"
_SQL_ACTION = "Operation"
_FINAL_ACTIONS = frozenset({"answer", "finish", "Answer", "commit"})
_NEXT_PROBLEM = re.compile(r"Now, I will start a new problem in a new OS\. My problem is:\s*")
_FIRST_PROBLEM = re.compile(r"Now, my problem is:\s*")
_OUTPUT_HEADER = "The output of the OS:"


class AgentBenchReader(Struct):
    """Reads a list of conversations, or one. It has no state."""

    record: ClassVar[Any] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        rows = items_of(data) if data.lstrip()[:1] == b"[" else [Raw(data)]
        for number, row in enumerate(rows):
            fields = fields_of(row)
            listed = fields.get("conversations", Raw(b""))
            yield from _row(value_of(fields.get("id")), listed, f"row-{number}", cursor)


class AgentBenchLinesReader(Struct):
    """Reads one conversation on each line. It has no state."""

    record: ClassVar[Any] = Row

    def read(self, row: Row, cursor: Cursor) -> Iterable[Record]:
        return _row(row.id, row.conversations, f"row-{cursor.line}", cursor)


def _row(identity: Any, listed: Raw, name: str, cursor: Cursor) -> Iterator[Record]:
    """One conversation as a session. A message of a document has an `item`; on a line of its
    own, all messages of the conversation share the line."""
    items = [bytes(item) for item in items_of(listed)]
    if not items:
        yield Unknown("row without conversations")
        return
    yield NewSession(str(identity) if isinstance(identity, (str, int)) else name)
    found = [next(iter(_ITEM.decode(raw)[0]), Item()) for raw in items]
    # A worked example stands before the task, in the same conversation.
    task_item = next(
        (n for n, m in enumerate(found) if _NEXT_PROBLEM.match(text_of(m.content))), 0
    )
    line = bytes(cursor.raw) if cursor.line else b""
    turns = 0
    pending = ended = ""
    for number, item in enumerate(found):
        if 0 < number < task_item:
            continue
        role, text = item.role.casefold(), text_of(item.content)
        if role not in _ASSISTANT_ROLES and role not in _USER_ROLES and role != "system":
            yield Unknown(f"role {item.role}")
            continue
        turns += role in _ASSISTANT_ROLES
        message_role: Role = "user"
        typed: tuple[Typed, ...] = ()
        if role in _ASSISTANT_ROLES:
            parts = _assistant_parts(text, turns)
            pending = next((c.id for c in _calls(parts) if c.kind != "finish"), "")
            message_role, origin = "assistant", "agent"
            ended = next((c.name for c in _calls(parts) if c.kind == "finish"), "")
        elif pending:
            parts = (_result(pending, text),)
            message_role, origin, pending = "tool", "tool", ""
        else:
            message_role = "system" if role == "system" else "user"
            parts, typed = _user_parts(text, number, task_item, role)
            origin = "prompt" if typed else "injected"
        cursor.raw = line or items[number]
        yield Message(
            cursor.take(),
            message_role,
            parts,
            line=cursor.line if line else None,
            item=None if line else number,
            origin=origin,
            typed=typed,
            response=f"r{turns}" if message_role == "assistant" else "",
            raw=cursor.raw,
        )
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


def _calls(parts: Iterable[Part]) -> Iterator[ToolCall]:
    return (part for part in parts if type(part) is ToolCall)


def _result(call: str, text: str) -> ToolResult:
    """The result of a call; these environments record no exit status."""
    if text.startswith(_OUTPUT_HEADER):
        text = text[len(_OUTPUT_HEADER) :].removeprefix("\n")
    return ToolResult(call, text)


def _is_row(value: Any) -> bool:
    listed = dicts_of(dict_of(value).get("conversations"))[:5]
    return bool(listed) and all(
        text_of(m.get("role")).casefold() in _ASSISTANT_ROLES | _USER_ROLES | {"system"}
        and "content" in m
        for m in listed
    )


def _detect(sample: Sample) -> bool:
    """A list of conversations, or one, in a document."""
    if isinstance(sample.document, dict):
        return _is_row(sample.document)
    return bool(sample.items) and sum(map(_is_row, sample.items)) * 2 > len(sample.items)


def _detect_lines(sample: Sample) -> bool:
    """One conversation on each line."""
    rows = sum(map(_is_row, sample.lines))
    return rows > 1 and rows * 2 > len(sample.lines)


FORMAT = Format("agentbench", "document", AgentBenchReader, _detect, several=True)
LINES = Format("agentbench_lines", "lines", AgentBenchLinesReader, _detect_lines, several=True)
