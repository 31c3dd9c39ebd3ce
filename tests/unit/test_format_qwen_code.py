"""Qwen Code sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.model import (
    Compaction,
    Link,
    Message,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _line(kind: str, parts: Any = None, uuid: str = "u1", **more: Any) -> dict[str, Any]:
    line = {
        "type": kind,
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": "q-1",
        "timestamp": "t",
        "cwd": "/w",
        "version": "0.5",
        "gitBranch": "main",
        **more,
    }
    if parts is not None:
        line["message"] = {"role": "user", "parts": parts}
    return line


def _back(response: Any) -> list[Any]:
    return [
        {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": response}}
    ]


def test_a_session(read: Read) -> None:
    usage = {
        "promptTokenCount": 900,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 700,
        "totalTokenCount": 950,
    }
    call = {
        "functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}
    }
    records = read(
        "qwen_code",
        [
            _line("user", [{"text": "build it"}]),
            _line(
                "assistant",
                [{"text": "Hm.", "thought": True}, {"text": "I will."}, call],
                "u2",
                parentUuid="u1",
                model="model-a",
                usageMetadata=usage,
                contextWindowSize=1000,
            ),
            _line("tool_result", _back({"output": "built"}), "u3",
                  toolCallResult={"callId": "c1", "status": "success"}),
        ],
    )  # fmt: skip
    assert [r for r in records if isinstance(r, SessionFacts)] == [
        SessionFacts(id="q-1", cwd="/w", branch="main", agent_version="0.5"),
        SessionFacts(id="q-1", cwd="/w", branch="main", agent_version="0.5", window=1000),
    ]
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin) for m in found] == [
        ("user", "prompt"),
        ("assistant", "agent"),
        ("tool", "tool"),
    ]
    assert found[1].parts == (
        Reasoning("Hm."),
        Text("I will."),
        ToolCall("c1", "run_shell_command", "shell", {"command": "make"}),
    )
    assert found[1].usage == Usage(200, 50, 700, 0, 30)
    assert (found[1].parent, found[1].response, found[1].model) == ("u1", "u2", "model-a")
    assert found[2].parts == (ToolResult("c1", "built", "ok"),)


@pytest.mark.parametrize(
    "more, typed",
    [
        ({}, True),
        ({"subtype": "mid_turn_user_message"}, True),
        ({"provenance": "real_user"}, True),
        ({"subtype": "notification"}, False),
        ({"subtype": "cron"}, False),
        ({"provenance": "goal_runtime"}, False),
        ({"agentId": "explore-1"}, False),
    ],
)
def test_who_wrote_a_user_message(
    messages: Messages, more: dict[str, Any], typed: bool
) -> None:
    (message,) = messages("qwen_code", [_line("user", [{"text": "go"}], **more)])
    assert (message.origin == "prompt", bool(message.typed)) == (typed, typed)


@pytest.mark.parametrize(
    "response, facts, status, code",
    [
        ({"output": "x\nExit Code: 2"}, {"status": "success"}, "error", 2),
        ({"error": "no"}, {"status": "error"}, "error", None),
        ({"error": "[Operation Cancelled]"}, {"status": "cancelled"}, "interrupted", None),
        ({"output": "x"}, 7, "ok", None),
    ],
)
def test_how_a_call_came_back(
    messages: Messages, response: Any, facts: Any, status: str, code: int | None
) -> None:
    line = _line("tool_result", _back(response), toolCallResult=facts)
    result = messages("qwen_code", [line])[0].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.status, result.exit_code) == (status, code)


def test_system_records(read: Read) -> None:
    def system(subtype: str, payload: Any, uuid: str) -> dict[str, Any]:
        return _line("system", uuid=uuid, subtype=subtype, systemPayload=payload)

    info = {"info": {"originalTokenCount": 900, "newTokenCount": 90}, "compressedHistory": []}
    records = read(
        "qwen_code",
        [
            system("chat_compression", info, "a"),
            system("custom_title", {"customTitle": "Build"}, "b"),
            system("parent_session", {"parentSessionId": "q-0"}, "c"),
            system("ui_telemetry", 7, "d"),
            _line("poem", uuid="e"),
        ],
    )
    assert [r.key for r in records if isinstance(r, Link)] == ["a", "b", "c", "d", "e"]
    marks = [r for r in records if isinstance(r, Compaction)]
    assert [(m.line, m.recorded, m.recorded_after) for m in marks] == [(1, 900, 90)]
    assert SessionFacts(title="Build") in records
    assert SessionFacts(parent_id="q-0") in records
    assert [r.kind for r in records if isinstance(r, Unknown)] == ["poem"]
