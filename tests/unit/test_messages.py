"""Messages as `leftoff show` prints them."""

from __future__ import annotations

import re

import pytest

from leftoff.model import Message, Reasoning, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.messages import call_text, message_text

SECRET = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"


@pytest.mark.parametrize(
    "name,given,expected",
    [
        ("Bash", {"command": "ls -l\npwd", "timeout": 5}, "$ ls -l\n  pwd\ntimeout: 5"),
        ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2\ny = 3"},
         "file_path: a.py\n- x = 1\n+ x = 2\n+ y = 3"),
        ("Write", {"file_path": "a.py", "content": "one\ntwo\n"}, "file_path: a.py\ncontent:\n  one\n  two"),
        ("apply_patch", "*** Begin Patch", "*** Begin Patch"),
        ("Task", {"n": None, "deep": {"a": [1, 2]}, "ok": True}, 'deep: {"a":[1,2]}\nok: true'),
        ("anything", None, ""),
        ("anything", [1], "[1]"),
    ],
)  # fmt: skip
def test_a_call_is_told_as_people_write_it(name: str, given: object, expected: str) -> None:
    assert call_text(name, given) == expected


def spoken() -> Message:
    return Message(
        11,
        "assistant",
        (
            Text("I'll change it.\x1b[31m"),
            Reasoning("Hm."),
            ToolCall(
                "1", "Edit", "edit", {"file_path": "a", "old_string": "b", "new_string": "c"}
            ),
            ToolResult("1", "done", "ok"),
            ToolResult("2", "no\x1b]0;title\x07", "error", 2),
        ),
        model="claude",
        time="2026-03-02T09:14:22.000Z",
    )


def test_a_message_without_colour_is_plain_and_with_colour_says_the_same() -> None:
    plain = message_text(spoken(), Redactor())
    assert "\x1b" not in plain
    assert plain.splitlines()[0] == "#12 · agent · claude · 2026-03-02 09:14:22"
    assert "    - b\n    + c\n" in plain
    assert "← exit 2" in plain
    coloured = message_text(spoken(), Redactor(), colour=True)
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
    assert "\x1b[31m- b\x1b[0m" in coloured
    assert "\x1b[32m← ok" in coloured
    assert "\x1b[31m← exit 2" in coloured
    assert "title" not in coloured


def test_secrets_go_by_shape_and_by_the_name_of_the_argument() -> None:
    call = ToolCall("1", "login", "other", {"password": "Xq9vB7kPw2Lm", "note": SECRET})
    message = Message(0, "assistant", (call, ToolResult("1", f"token {SECRET}", "ok")))
    for full in (False, True):
        text = message_text(message, Redactor(), full=full)
        assert SECRET not in text
        assert "Xq9vB7k" not in text


def test_long_results_are_cut_unless_all_is_asked_for() -> None:
    message = Message(0, "tool", (ToolResult("1", "x" * 5000, "ok"),), origin="tool")
    assert "… 3,800 more characters" in message_text(message, Redactor())
    assert "x" * 5000 in message_text(message, Redactor(), full=True)
