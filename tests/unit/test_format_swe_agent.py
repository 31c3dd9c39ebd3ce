"""SWE-agent trajectories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.reader import Sample
from leftoff.formats.swe_agent import FORMAT
from leftoff.model import (
    Message,
    Record,
    Text,
    TokenCount,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]

STATE = "\n(Open file: {0})\n(Current directory: /repo)\nbash-$"
TASK = "We solve this.\nISSUE:\nThe parser drops tabs\n\nINSTRUCTIONS:\nOn your own."


def _item(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": "main", **more}


def _document(*items: Any, **info: Any) -> dict[str, Any]:
    return {"environment": "e", "trajectory": [], "history": list(items), "info": info}


def _typed(action: str, thought: str = "Look.") -> dict[str, Any]:
    said = f"{thought}\n```\n{action}\n```"
    return _item("assistant", said, thought=thought, action=action)


def test_commands_are_calls_and_observations_their_results(messages: Messages) -> None:
    found = messages(
        "swe_agent",
        _document(
            _item("system", "SETTING"),
            _item("user", "a pasted example", is_demo=True),
            _item("user", TASK + STATE.format("n/a")),
            _typed("open src/p.py 10"),
            _item("user", "[File: src/p.py (90 lines total)]" + STATE.format("/repo/src/p.py")),
            _typed("edit 3:4\nx = 1\nend_of_edit"),
            _item("user", "Usage: edit" + STATE.format("/repo/src/p.py")),
            _typed("python -m pytest"),
            _item("user", "1 passed" + STATE.format("/repo/src/p.py")),
            _typed("submit"),
        ),
    )
    assert [(m.role, m.origin, m.item) for m in found] == [
        ("system", "injected", 0),
        ("user", "prompt", 2),
        ("assistant", "agent", 3),
        ("tool", "tool", 4),
        ("assistant", "agent", 5),
        ("tool", "tool", 6),
        ("assistant", "agent", 7),
        ("tool", "tool", 8),
        ("assistant", "agent", 9),
    ]
    calls = [p for m in found for p in m.parts if isinstance(p, ToolCall)]
    assert [(c.name, c.kind, c.input) for c in calls] == [
        ("open", "read", {"path": "src/p.py", "line_number": "10"}),
        (
            "edit",
            "edit",
            {"path": "/repo/src/p.py", "new_string": "x = 1\n", "start": 3, "end": 4},
        ),
        ("bash", "shell", {"command": "python -m pytest"}),
        ("submit", "finish", {}),
    ]
    results = [p for m in found for p in m.parts if isinstance(p, ToolResult)]
    assert [(r.call_id, r.status) for r in results] == [
        (calls[0].id, "ok"),
        (calls[1].id, "error"),
        (calls[2].id, "unknown"),
    ]
    assert results[2].text == "1 passed"
    assert found[6].cwd == "/repo"
    assert len({m.response for m in found if m.role == "assistant"}) == 4


def test_the_task_is_the_issue_without_the_template(messages: Messages) -> None:
    (prompt,) = messages("swe_agent", _document(_item("user", TASK)))
    (typed,) = prompt.typed
    part = prompt.parts[0]
    assert isinstance(part, Text)
    assert part.text[typed.start : typed.end] == "The parser drops tabs"


def test_function_calls_pair_by_id_and_edit_the_open_file(messages: Messages) -> None:
    function = {"name": "edit", "arguments": '{"search": "a", "replace": "b"}'}
    found = messages(
        "swe_agent",
        _document(
            _item("user", TASK + STATE.format("/repo/a.py")),
            _item(
                "assistant",
                "Edit.",
                action="edit …",
                tool_calls=[{"id": "c7", "function": function}],
            ),
            _item("tool", "Text replaced." + STATE.format("/repo/a.py"), tool_call_ids=["c7"]),
        ),
    )
    call, result = found[1].parts[1], found[2].parts[0]
    assert call == ToolCall(
        "c7", "edit", "edit", {"path": "/repo/a.py", "search": "a", "replace": "b"}
    )
    assert result == ToolResult("c7", "Text replaced.", "ok")


@pytest.mark.parametrize(
    "action,text,status",
    [
        ("edit 1:1\nx\nend_of_edit", "Your proposed edit has introduced new syntax", "error"),
        ("edit 1:1\nx\nend_of_edit", "[File: a]\nFile updated.", "ok"),
        ("sleep 99", "EXECUTION TIMED OUT", "timeout"),
        ("rm a", "Your command ran successfully and did not produce any output.", "ok"),
        ("open nowhere", "File nowhere not found", "error"),
        ("open a", "[File: a (1 lines total)]", "ok"),
    ],
)
def test_status(messages: Messages, action: str, text: str, status: str) -> None:
    given = _document(_item("user", TASK), _typed(action), _item("user", text))
    result = messages("swe_agent", given)[2].parts[0]
    assert isinstance(result, ToolResult)
    assert result.status == status


def test_the_end_by_cost_is_no_call(messages: Messages) -> None:
    end = _item("assistant", "Exit due to cost limit", action="exit_cost")
    (_, last) = messages("swe_agent", _document(_item("user", TASK), end))
    assert (last.origin, last.response) == ("meta", "")
    assert last.parts == (Text("Exit due to cost limit"),)


def test_totals(read: Read) -> None:
    stats = {"tokens_sent": 900, "tokens_received": 80}
    records = read("swe_agent", _document(_item("user", TASK), model_stats=stats))
    assert records[-1] == TokenCount(Usage(), Usage(900, 80))


def test_odd_items_cost_only_themselves(read: Read) -> None:
    records = read(
        "swe_agent",
        _document(
            7,
            [],
            _item("narrator", "x"),
            _item("user", None),
            _item("assistant", {}, tool_calls=3),
        ),
    )
    assert [type(r) for r in records] == [Unknown, Unknown, Unknown, Message, Message]


@pytest.mark.parametrize(
    "given,mine",
    [
        (b'{"history": [{"role": "user", "agent": "m", "content": "x"}]}', True),
        (b'{"history": [{"role": "user", "content": "x"}]}', False),
        (b'{"history": [], "trajectory": [], "info": {}}', True),
        (b'{"history": 3}', False),
        (b"[]", False),
        (b"", False),
    ],
)
def test_detection(given: bytes, mine: bool) -> None:
    assert FORMAT.detect(Sample(given, complete=True)) is mine
