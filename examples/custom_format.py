"""A recorder that leftoff does not know: lines of `{"who": ..., "says": ...}`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct

from leftoff import Pass, Text, ToolCall, ToolResult, render
from leftoff.formats import Cursor, Format, Sample, formats
from leftoff.model import Record, SessionFacts, Typed, Unknown
from leftoff.testing import check_format

EXAMPLE = b"""\
{"who": "log", "session": "walk-7", "folder": "/home/ada/garden"}
{"who": "person", "says": "Water the tomatoes when it is dry. Never more than ten litres."}
{"who": "agent", "runs": "./soil --bed tomatoes > soil.txt", "call": "1"}
{"who": "shell", "says": "moisture 12 %", "call": "1", "code": 0}
{"who": "agent", "says": "It is dry. I'll open the valve by hand instead of setting the timer."}
"""


class Line(Struct):
    """One line; a field of another type is mended or dropped before we see it."""

    who: str = ""
    says: str = ""
    runs: str = ""
    call: str = ""
    code: int = 0
    session: str = ""
    folder: str = ""


class WalkReader(Struct):
    """Reads line by line and keeps nothing between two lines."""

    record: ClassVar[Any] = Line

    def read(self, record: Line, cursor: Cursor) -> Iterable[Record]:
        """What one line says."""
        if record.who == "log":
            return (SessionFacts(id=record.session, cwd=record.folder),)
        if record.who == "shell":
            status = "error" if record.code else "ok"
            result = ToolResult(record.call, record.says, status, exit_code=record.code)
            return (cursor.message("tool", (result,)),)
        if record.who == "agent" and record.runs:
            call = ToolCall(record.call, "shell", "shell", {"command": record.runs})
            return (cursor.message("assistant", (call,)),)
        if record.who == "agent":
            return (cursor.message("assistant", (Text(record.says),)),)
        if record.who == "person":
            typed = (Typed(0, 0, len(record.says)),)
            return (cursor.message("user", (Text(record.says),), typed=typed),)
        return (Unknown(record.who),)


def detect(sample: Sample) -> bool:
    """Whether every line says who it is of."""
    return bool(sample.lines) and all("who" in line for line in sample.lines)


WALK = formats.register("walk")(Format("walk", "lines", WalkReader, detect))


def main() -> None:
    """The promises of a format are checked, and a session of ours is told."""
    check_format(WALK, EXAMPLE)
    reading = Pass("walk.jsonl")
    reading.feed(EXAMPLE)
    print(render(reading.summary(), "text"))


if __name__ == "__main__":
    main()
