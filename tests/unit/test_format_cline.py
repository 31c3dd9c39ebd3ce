"""Cline: what the panel showed, and what the model was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.cline import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import (
    Compaction,
    Message,
    Reasoning,
    Record,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _say(kind: str, text: str | None = None, **more: Any) -> dict[str, Any]:
    return {"ts": 1_767_323_045_000, "type": "say", "say": kind, "text": text, **more}


def _request(text: str, **tokens: int) -> dict[str, Any]:
    return _say("api_req_started", json.dumps({"request": text, **tokens}))


def _tool(name: str, path: str, content: str = "") -> dict[str, Any]:
    return _say("tool", json.dumps({"tool": name, "path": path, "content": content}))


TASK = _say("task", "fix it", modelInfo={"modelId": "model-a"})


def test_the_panel(messages: Messages) -> None:
    results = (
        "[read_file for 'a.py'] Result:\nx = 1\n\n[replace_in_file for 'b.py'] Result:\nsaved\n"
    )
    found = messages(
        "cline",
        [
            TASK,
            _request(
                "<task>fix it</task>", tokensIn=5, tokensOut=7, cacheReads=30, cacheWrites=2
            ),
            _say("reasoning", "hm"),
            _say("text", "On it."),
            _say("text", "On it."),
            _tool("readFile", "a.py", "/w/a.py"),
            _say("task_progress", "- [ ] x"),
            _tool("editedExistingFile", "b.py", "@@"),
            _request(results + "\n<environment_details>…</environment_details>", tokensOut=1),
            _say("completion_result", "Done."),
            {"ts": 1, "type": "ask", "ask": "completion_result", "text": ""},
            _say("user_feedback", "more"),
        ],
    )
    assert [(m.role, m.origin, m.item) for m in found] == [
        ("user", "prompt", 0),
        ("assistant", "agent", 2),
        ("assistant", "agent", 3),
        ("assistant", "agent", 5),
        ("assistant", "agent", 7),
        ("tool", "tool", 8),
        ("assistant", "agent", 9),
        ("user", "prompt", 11),
    ]
    assert found[1].parts == (Reasoning("hm"),)
    assert {m.response for m in found[1:5]} == {"r1"}
    assert found[1].usage == Usage(5, 7, 30, 2)
    assert (found[1].model, found[0].time) == ("model-a", "2026-01-02T03:04:05.000Z")
    edit = ToolCall("call-2", "editedExistingFile", "edit", {"path": "b.py", "diff": "@@"})
    assert found[4].parts == (edit,)
    assert found[5].parts == (
        ToolResult("call-1", "x = 1", "ok"),
        ToolResult("call-2", "saved", "ok"),
    )
    assert found[6].parts[1].kind == "finish"  # type: ignore[union-attr]


def test_a_result_may_quote_results(messages: Messages) -> None:
    quoted = "[read_file for 'a.py'] Result:\n[write_to_file for 'z'] Result:\nno\n"
    found = messages("cline", [TASK, _tool("readFile", "a.py"), _request(quoted)])
    assert found[2].parts == (
        ToolResult("call-1", "[write_to_file for 'z'] Result:\nno", "ok"),
    )


def test_commands(messages: Messages) -> None:
    failed = "[execute_command for 'make'] Result:\nCommand exited with code 2.\nno"
    found = messages(
        "cline",
        [
            TASK,
            {"ts": 1, "type": "ask", "ask": "command", "text": "makeREQ_APP"},
            {"ts": 1, "type": "ask", "ask": "command_output", "text": "no"},
            _request(failed),
            _say("command", "sleep 9"),
            _say("command_output", "still here"),
        ],
    )
    assert found[1].parts == (ToolCall("call-1", "command", "shell", {"command": "make"}),)
    assert found[2].parts[0].status == "error"  # type: ignore[union-attr]
    assert found[2].parts[0].exit_code == 2  # type: ignore[union-attr]
    assert found[4].parts == (ToolResult("call-2", "still here", "unknown"),)


def test_a_truncated_history_is_a_compaction(read: Read) -> None:
    more = {"conversationHistoryDeletedRange": [2, 9]}
    records = read("cline", [TASK, _say("text", "a", **more), _say("text", "b", **more)])
    assert [type(r) for r in records] == [Message, Compaction, Message, Message]


def test_odd_items(read: Read) -> None:
    odd = [
        TASK,
        5,
        _say("dance"),
        {"ts": 1, "type": "say", "say": ["text"]},
        _say("tool", "{cut"),
    ]
    records = read("cline", odd)
    assert [r.kind for r in records if isinstance(r, Unknown)] == ["item", "say dance", "item"]
    assert isinstance(records[-1], Message)
    assert records[-1].parts == (ToolCall("call-1", "tool", "other", "{cut"),)


DETAILS = {"type": "text", "text": "<environment_details>\nfiles\n</environment_details>"}


def _history(*items: tuple[str, list[Any]]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content, "ts": 1} for role, content in items]


def test_what_the_model_was_sent_with_xml_calls(messages: Messages) -> None:
    asked = "Look.\n<read_file>\n<path>a.py</path>\n</read_file>"
    found = messages(
        "cline",
        _history(
            ("user", [{"type": "text", "text": "<task>\nfix it\n</task>"}, DETAILS]),
            ("assistant", [{"type": "text", "text": asked}]),
            (
                "user",
                [
                    {"type": "text", "text": "[read_file for 'a.py'] Result:"},
                    {"type": "text", "text": "x = 1"},
                    {"type": "text", "text": "<feedback>\nuse tabs\n</feedback>"},
                    DETAILS,
                ],
            ),
        ),
    )
    assert [(m.role, m.origin) for m in found] == [
        ("user", "prompt"),
        ("assistant", "agent"),
        ("tool", "tool"),
    ]
    words = [
        (m.parts[t.part].text[t.start : t.end])  # type: ignore[union-attr]
        for m in found
        for t in m.typed
    ]
    assert words == ["fix it", "use tabs"]
    assert found[1].parts == (
        Text(asked),
        ToolCall("call-1", "read_file", "read", {"path": "a.py"}),
    )
    assert found[2].parts[0] == ToolResult("call-1", "x = 1", "ok")


def test_what_the_model_was_sent_with_native_calls(messages: Messages) -> None:
    use = {
        "type": "tool_use",
        "id": "t1",
        "name": "execute_command",
        "input": {"command": "ls"},
    }
    back = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": "The user denied this operation.",
    }
    found = messages(
        "cline",
        _history(
            ("user", [{"type": "text", "text": "<task>go</task>"}, DETAILS]),
            ("assistant", [{"type": "thinking", "thinking": "hm"}, use]),
            ("user", [back]),
        ),
    )
    assert found[1].parts == (
        Reasoning("hm"),
        ToolCall("t1", "execute_command", "shell", {"command": "ls"}),
    )
    assert found[2].parts[0].status == "denied"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "given,mine",
    [
        ([TASK], True),
        ([{"type": "say", "say": "task"}], False),
        ([{"ts": 1, "type": "say"}], False),
        (_history(("user", [{"type": "text", "text": "<task>x</task>"}, DETAILS])), True),
        ([{"role": "user", "content": "<task>x</task>"}], False),
        ([{"role": ["user"], "content": "x"}], False),
        ([], False),
        ({}, False),
    ],
)
def test_detection(given: Any, mine: bool) -> None:
    assert FORMAT.detect(Sample(json.dumps(given).encode(), complete=True)) is mine
