"""Calls and results in the text of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from leftoff.formats import text_calls
from leftoff.model import Text, ToolCall, ToolResult

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]


def test_words_and_calls_in_order() -> None:
    text = (
        "I look first.\n<function=execute_bash>\n<parameter=command>\nls -a\n</parameter>\n"
        "</function>\n<function=think>\n<parameter=thought>Hm.</parameter>\n</function>"
    )
    parts, given = text_calls.calls_in(text, 3)
    assert given == ["text-call-3-0", "text-call-3-1"]
    assert parts == [
        Text("I look first."),
        ToolCall("text-call-3-0", "execute_bash", "shell", {"command": "ls -a"}),
        ToolCall("text-call-3-1", "think", "think", {"thought": "Hm."}),
    ]


def test_only_the_layout_is_taken_off_a_value() -> None:
    text = "<function=write>\n<parameter=content>\n\n  a\n\n</parameter>\n</function>"
    (call,), _ = text_calls.calls_in(text, 0)
    assert isinstance(call, ToolCall)
    assert call.input == {"content": "\n  a\n"}


def test_an_unclosed_call_goes_to_the_end() -> None:
    (call,), _ = text_calls.calls_in("<function=finish>\n<parameter=message>All done", 0)
    assert call == ToolCall("text-call-0-0", "finish", "finish", {"message": "All done"})


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("<function=run>", True),
        ("  <function=run>x</function>", True),
        ("write `<function=run>` to call it", False),
        ("<function = run>", False),
        ("<finish>", False),
        ("", False),
    ],
)
def test_a_call_begins_a_line(text: str, holds: bool) -> None:
    assert text_calls.has_calls(text) is holds


_ENDED = "[Command finished with exit code {}]"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("EXECUTION RESULT of [run]:\nfine", ToolResult("c", "fine", "ok")),
        ("EXECUTION RESULT of [edit]:\nERROR:\nno", ToolResult("c", "ERROR:\nno", "error")),
        ("OBSERVATION:\nrg: not found", ToolResult("c", "rg: not found", "unknown")),
        ("OBSERVATION:\nERROR: no", ToolResult("c", "ERROR: no", "error")),
        (
            "ERROR: not handoff_log_line",
            ToolResult("c", "ERROR: not handoff_log_line", "unknown"),
        ),
        ("plain", ToolResult("c", "plain", "unknown")),
    ],
)
def test_what_a_result_says(text: str, result: ToolResult) -> None:
    assert text_calls.result_of("c", text) == result


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("EXECUTION RESULT of [run]:\nx\n" + _ENDED.format(2), "error", 2),
        ("y\n[The command completed with exit code 0.]", "ok", 0),
        (_ENDED.format(1) + "\n" + _ENDED.format(0), "ok", 0),
        ("z\n" + _ENDED.format(-1), "running", None),
        ("z\n[The command timed out]" + _ENDED.format(-1), "timeout", None),
        ("[The command has no new output after 10 seconds.]", "running", None),
        ("'think': {...}\n[Error occurred in processing last action]", "error", None),
    ],
)
def test_how_a_command_ended(text: str, status: str, code: int | None) -> None:
    found = text_calls.result_of("c", text)
    assert (found.status, found.exit_code) == (status, code)


def test_what_announces_a_result() -> None:
    assert text_calls.is_result("OBSERVATION:\nx")
    assert text_calls.is_result("EXECUTION RESULT of [run]: x")
    assert not text_calls.is_result("My OBSERVATION: x")


_BEGIN = "-------- NEW TASK DESCRIPTION --------\n"
_END = "-------- END OF NEW TASK DESCRIPTION --------\n"


@pytest.mark.parametrize(
    ("after", "task"),
    [
        (f"{_BEGIN}Fix it.\n{_END}One call only.", "Fix it."),
        (f"{_BEGIN}Fix it.", "Fix it."),
        ("Fix it.", "Here:\n\n\nFix it."),
    ],
)
def test_a_worked_example_is_left_out(after: str, task: str) -> None:
    example = (
        "-------- START OF EXAMPLE --------\n<function=a>\n-------- END OF EXAMPLE --------"
    )
    assert text_calls.without_example(f"Here:\n{example}\n\n{after}") == task
    assert text_calls.without_example(after) == after


def test_odd_input_is_read() -> None:
    odd: list[Any] = ["<function=>", "<function=a", "<function=a><parameter=>", "<parameter=x>"]
    for text in odd:
        text_calls.calls_in(text, 0)
        text_calls.result_of("", text)


@pytest.mark.parametrize(
    "piece",
    ["-", "----- START OF EXAMPLE -----", "<function=a>\n", "<parameter=a>", " ", "\n \t"],
)
def test_long_hostile_text_is_read_in_linear_time(piece: str, assert_linear: Linear) -> None:
    def work(text: str) -> None:
        text_calls.without_example(text)
        text_calls.calls_in(text, 0)
        text_calls.result_of("", text)

    def prepare(size: int) -> Callable[[], object]:
        text = piece * (size // len(piece))
        return lambda: work(text)

    assert_linear(prepare, 800_000)
