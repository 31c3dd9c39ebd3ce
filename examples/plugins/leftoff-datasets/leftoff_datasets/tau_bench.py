"""tau-bench results, one JSON document of many runs: docs/formats/tau_bench.md.

Each run is a session: a simulated customer, played by a model, talks to the agent. The
customer's words count as the person's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from leftoff.formats.chat import ChatReader, is_message
from leftoff.formats.lenient_json import dicts_of, fields_of, items_of, value_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.model import Message, NewSession, Part, Record, ToolResult, Turn, Typed, Unknown

_END_MARKS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""Marks that the simulation writes into the customer's last message."""


class TauBenchReader(Struct):
    """Reads the runs of one file. It has no state."""

    record: ClassVar[Any] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        runs = items_of(data) if data.lstrip()[:1] == b"[" else [Raw(data)]
        for number, run in enumerate(runs):
            yield from _run(fields_of(run), number, cursor)


def _run(run: dict[str, Raw], number: int, cursor: Cursor) -> Iterator[Record]:
    listed = run.get("traj")
    if listed is None:
        yield Unknown("run without traj")
        return
    task, trial = value_of(run.get("task_id")), value_of(run.get("trial"))
    named = isinstance(task, (int, str)) and isinstance(trial, (int, str))
    yield NewSession(f"task-{task}-trial-{trial}" if named else f"run-{number}")
    reader = ChatReader()
    for message in cursor.objects(listed):
        for record in reader.item(message, cursor):
            yield _with_outcome(record) if isinstance(record, Message) else record
            if isinstance(record, Message) and record.role == "user":
                # The simulation ends with the customer's words; no agent answers to them.
                found = [mark for mark in _END_MARKS if mark in record.text]
                yield from (Turn("ended", mark.strip("#").lower()) for mark in found)


def _with_outcome(m: Message) -> Message:
    """The message with the status of its results, or with typed spans that exclude the end
    marks."""
    if m.role == "tool":
        return replace(m, parts=tuple(map(_with_status, m.parts)))
    if not m.typed:
        return m
    typed = tuple(t for t in (_without_marks(t, m) for t in m.typed) if t.end > t.start)
    return replace(m, typed=typed, origin="prompt" if typed else "injected")


def _with_status(part: Part) -> Part:
    """The result with its status: the benchmark's tools report a failure as "Error: ..."."""
    if type(part) is ToolResult and part.status == "unknown":
        return replace(part, status="error" if part.text.startswith("Error:") else "ok")
    return part


def _without_marks(typed: Typed, m: Message) -> Typed:
    part = m.parts[typed.part]
    words: str = part.text[typed.start : typed.end]  # type: ignore[union-attr]
    for mark in _END_MARKS:
        words = words.split(mark, 1)[0]
    return replace(typed, end=typed.start + len(words.rstrip()))


def _is_run(value: Any) -> bool:
    if not isinstance(value, dict) or not ("task_id" in value or "reward" in value):
        return False
    listed = dicts_of(value.get("traj"))[:5]
    return bool(listed) and all(map(is_message, listed))


def _detect(sample: Sample) -> bool:
    if isinstance(sample.document, dict):
        return _is_run(sample.document)
    return mostly(_is_run, sample.items)


FORMAT = Format("tau_bench", "document", TauBenchReader, _detect, several=True)
