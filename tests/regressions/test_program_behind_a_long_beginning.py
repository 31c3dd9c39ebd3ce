"""A program counts as run that stands behind the first 300 characters of a command.

Of a call the first 300 characters are recorded, and the programs of later calls that worked were
read from these. So an error was said to be not fixed although a long command ran its program with
success later. What the call was like is now read from the whole command.
"""

from __future__ import annotations

import json

import pytest

from leftoff import Pass
from leftoff.summary import ErrorSeen


def error_of(later: str) -> ErrorSeen:
    """The error of a session in which `widget push a` fails and another command then works."""
    lines = [{"type": "user", "message": {"role": "user", "content": "Push it."}}]
    for number, (command, failed) in enumerate((("widget push a", True), (later, False))):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash"}
        said = [call | {"input": {"command": command}}]
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": failed}
        shown = [result | {"content": "Exit code 1\nrefused" if failed else "done"}]
        lines += [
            {"type": "assistant", "message": {"role": "assistant", "content": said}},
            {"type": "user", "message": {"role": "user", "content": shown}},
        ]
    session = {"sessionId": "s", "parentUuid": None, "timestamp": "2026-01-01T00:00:00Z"}
    reading = Pass("s", "claude_code")
    for number, line in enumerate(lines):
        record = line | session | {"uuid": f"{number:08}-0000-4000-8000-{number:012}"}
        reading.feed(json.dumps(record).encode() + b"\n")
    reading.close()
    (error,) = reading.conclude().errors
    return error


@pytest.mark.parametrize("words", [1, 200])
def test_a_program_behind_many_words(words: int) -> None:
    error = error_of(f"notify {'word ' * words}&& widget push b")
    assert error.fixed is None  # another call of the program worked
    assert error_of(f"notify {'word ' * words}").fixed is False
