"""GitHub Copilot CLI: one chain of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.copilot_cli import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import (
    Changes,
    Compaction,
    Link,
    Media,
    Message,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    TokenCount,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _event(kind: str, number: int, /, **data: Any) -> dict[str, Any]:
    parent = f"e{number - 1}" if number else None
    return {
        "type": kind,
        "data": data,
        "id": f"e{number}",
        "timestamp": "t",
        "parentId": parent,
    }


def _chain(*events: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [_event(kind, number, **data) for number, (kind, data) in enumerate(events)]


START = (
    "session.start",
    {
        "sessionId": "s-1",
        "copilotVersion": "1.0.64",
        "startTime": "t0",
        "selectedModel": "model-a",
        "context": {"cwd": "/w", "branch": "main", "headCommit": "abc"},
    },
)
REQUEST = {"toolCallId": "c1", "name": "bash", "arguments": {"command": "make"}}


def test_a_session(read: Read) -> None:
    records = read(
        "copilot_cli",
        _chain(
            START,
            ("system.message", {"role": "system", "content": "You are an agent."}),
            ("user.message", {"content": "build it", "transformedContent": "<x>build it</x>"}),
            ("assistant.turn_start", {"turnId": "0"}),
            (
                "assistant.message",
                {
                    "apiCallId": "api-1",
                    "content": "",
                    "reasoningText": "Hm.",
                    "toolRequests": [REQUEST],
                    "outputTokens": 40,
                },
            ),
            ("tool.execution_start", {"toolCallId": "c1", "toolName": "bash"}),
            ("tool.execution_complete", {"toolCallId": "c1", "success": True,
                                         "result": {"content": "built"}}),
        ),
    )  # fmt: skip
    assert records[0] == Link("e0", "")
    assert records[1] == SessionFacts(
        id="s-1",
        cwd="/w",
        branch="main",
        commit="abc",
        agent_version="1.0.64",
        started="t0",
    )
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin, m.line) for m in found] == [
        ("system", "injected", 2),
        ("user", "prompt", 3),
        ("assistant", "agent", 5),
        ("tool", "tool", 7),
    ]
    assert found[1].text == "build it"
    assert found[2].parts == (
        Reasoning("Hm."),
        ToolCall("c1", "bash", "shell", {"command": "make"}),
    )
    assert (found[2].response, found[2].model, found[2].parent) == ("api-1", "model-a", "e3")
    assert found[3].parts == (ToolResult("c1", "built", "ok"),)
    assert [r for r in records if isinstance(r, TokenCount)] == [
        TokenCount(Usage(), Usage(output=40))
    ]
    # The chain has no gap: every event is a message or a link.
    keys = [r.key for r in records if isinstance(r, (Message, Link))]
    assert keys == [f"e{n}" for n in range(7)]


@pytest.mark.parametrize(
    "data, status, code",
    [
        ({"success": True, "result": {"content": "x"}}, "ok", None),
        (
            {
                "success": True,
                "result": {"content": "x\n<shellId: 6 completed with exit code 1>"},
            },
            "error",
            1,
        ),
        ({"success": True, "result": {"content": "x\n<exited with exit code 0>"}}, "ok", 0),
        (
            {
                "success": True,
                "result": {"content": "x"},
                "toolTelemetry": {"metrics": {"exit_code": 3}},
            },
            "error",
            3,
        ),
        ({"success": False, "error": {"message": "no", "code": "failure"}}, "error", None),
        ({"success": False, "error": {"message": "no", "code": "denied"}}, "denied", None),
        (
            {"success": True, "result": {"content": "<command is still running in shell 2>"}},
            "running",
            None,
        ),
        ({"success": True, "result": "REDACTED", "toolTelemetry": []}, "ok", None),
    ],
)
def test_how_a_call_came_back(
    messages: Messages, data: dict[str, Any], status: str, code: int | None
) -> None:
    event = ("tool.execution_complete", {"toolCallId": "c1", **data})
    result = messages("copilot_cli", _chain(START, event))[-1].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.status, result.exit_code) == (status, code)


def test_older_versions_name_the_model_only_where_a_call_ends(messages: Messages) -> None:
    done = (
        "tool.execution_complete",
        {"toolCallId": "c1", "success": True, "model": "model-b"},
    )
    found = messages(
        "copilot_cli", _chain(START, done, ("assistant.message", {"content": "x"}))
    )
    assert [m.model for m in found] == ["", "model-b"]


def test_a_call_that_no_message_asked_for_is_a_message(messages: Messages) -> None:
    start = {"toolCallId": "c9", "toolName": "bash", "arguments": {"command": "ls"}}
    found = messages("copilot_cli", _chain(START, ("tool.execution_start", start)))
    assert found[0].parts == (ToolCall("c9", "bash", "shell", {"command": "ls"}),)


def test_an_answer_to_a_question_was_typed(messages: Messages) -> None:
    request = {"toolCallId": "q", "name": "ask_user", "arguments": {"question": "Which?"}}
    done = {"toolCallId": "q", "success": True, "result": {"content": "User responded: both"}}
    events = (("assistant.message", {"toolRequests": [request]}),)
    message = messages(
        "copilot_cli", _chain(START, *events, ("tool.execution_complete", done))
    )[-1]
    (typed,) = message.typed
    result = message.parts[0]
    assert isinstance(result, ToolResult)
    assert (result.text[typed.start : typed.end], typed.via) == ("both", "answer")


@pytest.mark.parametrize(
    "data, typed",
    [
        ({"content": "go"}, True),
        ({"content": "go", "source": "user"}, True),
        ({"content": "go", "source": "skill-review"}, False),
        ({"content": "go", "parentToolCallId": "c1"}, False),
    ],
)
def test_who_wrote_a_user_message(
    messages: Messages, data: dict[str, Any], typed: bool
) -> None:
    (message,) = messages("copilot_cli", _chain(START, ("user.message", data)))
    assert (message.origin == "prompt", bool(message.typed)) == (typed, typed)


def test_a_subagent_speaks_on_a_thread_of_its_own(messages: Messages) -> None:
    inner = ("assistant.message", {"content": "inside", "parentToolCallId": "c1"})
    outer = ("assistant.message", {"content": "outside"})
    found = messages("copilot_cli", _chain(START, outer, inner, outer))
    assert [(m.agent, m.index) for m in found] == [("", 0), ("c1", 0), ("", 1)]


def _totals(count: int) -> tuple[str, dict[str, Any]]:
    usage = {
        "inputTokens": 1000,
        "outputTokens": count,
        "cacheReadTokens": 800,
        "cacheWriteTokens": 50,
        "reasoningTokens": 5,
    }
    changed = {"filesModified": ["/w/a.py", 7], "linesAdded": 1}
    return (
        "session.shutdown",
        {"modelMetrics": {"m": {"usage": usage}}, "currentTokens": 9, "codeChanges": changed},
    )


def test_totals_and_changed_files_at_the_end(read: Read) -> None:
    said = ("assistant.message", {"content": "x", "outputTokens": 40})
    records = read("copilot_cli", _chain(START, said, _totals(40)))
    assert Changes("", (("/w/a.py", "modified", ""),), line=3) in [
        Changes(r.call_id, r.files, r.succeeded, r.line)
        for r in records
        if isinstance(r, Changes)
    ]
    counts = [r for r in records if isinstance(r, TokenCount)]
    assert counts[-1] == TokenCount(Usage(input=9), Usage(150, 40, 800, 50, 5))


@pytest.mark.parametrize("second, output", [(60, 60), (20, 60)])
def test_totals_of_a_resumed_session_go_on_or_start_anew(
    read: Read, second: int, output: int
) -> None:
    first = ("assistant.message", {"content": "x", "outputTokens": 40})
    again = ("assistant.message", {"content": "x", "outputTokens": 20})
    chain = _chain(START, first, _totals(40), again, _totals(second))
    counts = [r for r in read("copilot_cli", chain) if isinstance(r, TokenCount)]
    assert [c.total.output for c in counts] == [40, 40, 60, output]


def test_a_compaction(read: Read) -> None:
    done = {"success": True, "preCompactionTokens": 900, "postCompactionTokens": 90,
            "summaryContent": "All of it."}  # fmt: skip
    records = read(
        "copilot_cli",
        _chain(
            START,
            ("session.compaction_start", {}),
            ("session.compaction_complete", done),
            ("session.compaction_complete", {"success": False, "error": "x"}),
        ),
    )
    marks = [
        (r.line, r.recorded, r.recorded_after) for r in records if isinstance(r, Compaction)
    ]
    assert marks == [(3, 900, 90)]
    assert [(m.origin, m.parts) for m in records if isinstance(m, Message)] == [
        ("compaction", (Text("All of it."),))
    ]


def test_interruptions_and_unknown_kinds(read: Read) -> None:
    events = _chain(
        START,
        ("abort", {"reason": "user_initiated"}),
        ("hook.start", {}),
        ("permission.requested", {}),
        ("session.something_new", {}),
        ("poem.recited", {}),
    )
    records = read("copilot_cli", events)
    assert [m.origin for m in records if isinstance(m, Message)] == ["interruption"]
    assert [r.kind for r in records if isinstance(r, Unknown)] == ["poem.recited"]


@pytest.mark.parametrize(
    "data",
    [
        {"content": ["x"], "attachments": 7},
        {"content": None, "attachments": [{"type": "file"}, 3]},
        {"content": 5, "source": {}},
    ],
)
def test_odd_values_cost_only_themselves(messages: Messages, data: dict[str, Any]) -> None:
    message = messages("copilot_cli", _chain(START, ("user.message", data)))[-1]
    assert message.parts[0] == Text("")
    assert message.parts[1:] in ((), (Media("file"),))


def test_lines_of_other_recorders_are_not_claimed() -> None:
    for line in (b'{"type":"session_start","id":"x"}', b'{"type":"session","cwd":"/"}'):
        assert not FORMAT.detect(Sample(line, complete=True))
