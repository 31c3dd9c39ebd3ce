"""AgentInstruct (AgentBench) conversations: docs/formats/agentbench.md.

A list (or one object on each line) of {"id", "conversations": [{"role", "content"}]}. The agent
writes its action into its text, and the next user message is what came of it.
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
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Message,
    NewSession,
    Part,
    Record,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Typed,
    Unknown,
)


class Item(Struct, gc=False):
    role: str = ""
    content: Any = None


class Row(Struct, gc=False):
    """One conversation on a line of its own."""

    id: Any = None
    conversations: Raw = Raw(b"")


_ITEM = LineDecoder(Item)
_SPEAKS = frozenset({"assistant", "agent", "gpt"})
_HEARS = frozenset({"user", "human"})
_ACT = re.compile(r"^Act(?:ion)?:[ \t]*(\w+)", re.MULTILINE)
_BLOCK = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n?```|\Z)", re.DOTALL)
_ANSWER = re.compile(r"\((.*)\)|\s*Final Answer:[ \t]*(.*)", re.DOTALL)
_SHELL = "bash"
_QUERY = "Operation"
_LAST = frozenset({"answer", "finish", "Answer", "commit"})
_AGAIN = re.compile(r"Now, I will start a new problem in a new OS\. My problem is:\s*")
_FIRST = re.compile(r"Now, my problem is:\s*")
_OUTPUT = "The output of the OS:"


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
    """One session: its messages are counted by `item`, or share the line that holds them."""
    items = [bytes(item) for item in items_of(listed)]
    if not items:
        yield Unknown("row without conversations")
        return
    yield NewSession(str(identity) if isinstance(identity, (str, int)) else name)
    found = [next(iter(_ITEM.decode(raw)[0]), Item()) for raw in items]
    # A worked example stands before the task, in the same conversation.
    begin = next((n for n, m in enumerate(found) if _AGAIN.match(text_of(m.content))), 0)
    line = bytes(cursor.raw) if cursor.line else b""
    turns = 0
    waiting = ""
    for number, item in enumerate(found):
        if 0 < number < begin:
            continue
        role, text = item.role.casefold(), text_of(item.content)
        if role not in _SPEAKS and role not in _HEARS and role != "system":
            yield Unknown(f"role {item.role}")
            continue
        turns += role in _SPEAKS
        speaker: Role = "user"
        typed: tuple[Typed, ...] = ()
        if role in _SPEAKS:
            parts = _said(text, turns)
            waiting = next((p.id for p in parts if type(p) is ToolCall and _runs(p)), "")
            speaker, origin = "assistant", "agent"
        elif waiting:
            parts = (_result(waiting, text),)
            speaker, origin, waiting = "tool", "tool", ""
        else:
            speaker = "system" if role == "system" else "user"
            parts, typed = _heard(text, number, begin, role)
            origin = "prompt" if typed else "injected"
        cursor.raw = line or items[number]
        yield Message(
            cursor.take(),
            speaker,
            parts,
            line=cursor.line if line else None,
            item=None if line else number,
            origin=origin,
            typed=typed,
            response=f"r{turns}" if speaker == "assistant" else "",
            raw=cursor.raw,
        )


def _heard(
    text: str, number: int, begin: int, role: str
) -> tuple[tuple[Part, ...], tuple[Typed, ...]]:
    """The instructions, with the task in them or before it."""
    first = _FIRST.search(text)
    if role == "system":
        return (Text(text),), ()
    if number < begin:  # the instructions, with the example's problem at their end
        return (Text(text[: first.start()].rstrip() if first else text),), ()
    task = _AGAIN.match(text) or first
    start = task.end() if task else 0
    end = start + len(text[start:].rstrip())
    return (Text(text),), (Typed(0, start, end),) if end > start else ()


def _said(text: str, turn: int) -> tuple[Part, ...]:
    """The thought, and the action behind it."""
    act = _ACT.search(text)
    if act is None:
        return (Text(text),) if text else ()
    words = text[: act.start()].strip()
    rest = text[act.end() :]
    parts: tuple[Part, ...] = (Text(words),) if words else ()
    block = _BLOCK.search(rest)
    identity = f"call-{turn}"
    if act[1] == _SHELL and block is not None:
        return (*parts, ToolCall(identity, "bash", "shell", {"command": block[1]}))
    if act[1] == _QUERY and block is not None:
        return (*parts, ToolCall(identity, "sql", "other", {"query": block[1]}))
    if act[1] in _LAST:
        answer = _ANSWER.match(rest)
        given = (answer[1] or answer[2] or "").strip() if answer else ""
        return (*parts, ToolCall(identity, act[1].lower(), "finish", {"answer": given}))
    return (Text(text),)


def _runs(call: ToolCall) -> bool:
    return call.kind != "finish"


def _result(call: str, text: str) -> ToolResult:
    """What came back; these environments do not tell how a command ended."""
    if text.startswith(_OUTPUT):
        text = text[len(_OUTPUT) :].removeprefix("\n")
    return ToolResult(call, text)


def _is_row(value: Any) -> bool:
    listed = dicts_of(dict_of(value).get("conversations"))[:5]
    return bool(listed) and all(
        text_of(m.get("role")).casefold() in _SPEAKS | _HEARS | {"system"} and "content" in m
        for m in listed
    )


class AgentBench(Struct, frozen=True):
    """A list of conversations, or one, in a document."""

    name: str = "agentbench"
    shape: str = "document"
    reader: type[AgentBenchReader] = AgentBenchReader

    def detect(self, sample: Sample) -> bool:
        if isinstance(sample.document, dict):
            return _is_row(sample.document)
        return bool(sample.items) and sum(map(_is_row, sample.items)) * 2 > len(sample.items)


class AgentBenchLines(Struct, frozen=True):
    """One conversation on each line."""

    name: str = "agentbench_lines"
    shape: str = "lines"
    reader: type[AgentBenchLinesReader] = AgentBenchLinesReader

    def detect(self, sample: Sample) -> bool:
        rows = sum(map(_is_row, sample.lines))
        return rows > 1 and rows * 2 > len(sample.lines)


FORMAT = AgentBench()
LINES = AgentBenchLines()
