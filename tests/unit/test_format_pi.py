"""Pi and OpenClaw sessions, versions 1 to 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.pi import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import (
    Compaction,
    Link,
    Media,
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

HEAD = {"type": "session", "id": "s-1", "timestamp": "t0", "cwd": "/w", "version": 3}


def _line(role: str, content: Any = None, **body: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, **body}
    return {
        "type": "message",
        "id": "m1",
        "parentId": "m0",
        "timestamp": "t",
        "message": message,
    }


def test_a_session(read: Read) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "I will."},
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}},
    ]
    usage = {"input": 6, "output": 20, "cacheRead": 700, "cacheWrite": 90, "cost": {"total": 1}}
    facts, user, agent, back = read(
        "pi",
        [
            {**HEAD, "parentSession": "/old.jsonl"},
            _line(
                "user", [{"type": "text", "text": "build it"}, {"type": "image", "data": "x"}]
            ),
            _line("assistant", blocks, model="model-a", usage=usage, stopReason="toolUse"),
            _line("toolResult", [{"type": "text", "text": "built"}], toolCallId="c1"),
        ],
    )
    assert facts == SessionFacts(
        id="s-1",
        cwd="/w",
        agent_version="session v3",
        forked_from="/old.jsonl",
        started="t0",
    )
    assert isinstance(user, Message)
    assert isinstance(agent, Message)
    assert isinstance(back, Message)
    assert user.parts == (Text("build it"), Media("image"))
    assert [(m.role, m.origin, m.line) for m in (user, agent, back)] == [
        ("user", "prompt", 2),
        ("assistant", "agent", 3),
        ("tool", "tool", 4),
    ]
    assert agent.parts == (
        Reasoning("Hm."),
        Text("I will."),
        ToolCall("c1", "bash", "shell", {"command": "make"}),
    )
    assert agent.usage == Usage(6, 20, 700, 90)
    assert (agent.model, agent.key, agent.parent, agent.cwd) == ("model-a", "m1", "m0", "/w")
    assert back.parts == (ToolResult("c1", "built", "ok"),)


def test_lines_of_version_1_have_no_ids(messages: Messages) -> None:
    line = {"type": "message", "message": {"role": "assistant", "content": "x", "usage": 7}}
    head = {k: v for k, v in HEAD.items() if k != "version"}
    found = messages("pi", [{**head, "modelId": "model-a"}, line, line])
    assert [(m.key, m.response, m.model) for m in found] == [
        ("", "r0", "model-a"),
        ("", "r1", "model-a"),
    ]


@pytest.mark.parametrize(
    "body, status, code",
    [
        ({"isError": False, "content": "x"}, "ok", None),
        ({"isError": True, "content": "x\n\nCommand exited with code 2"}, "error", 2),
        (
            {"isError": True, "content": "x\n\nCommand timed out after 5 seconds"},
            "timeout",
            None,
        ),
        ({"isError": True, "content": "x\n\nCommand aborted"}, "interrupted", None),
        ({"isError": True, "content": [{"type": "text", "text": "no"}, 7]}, "error", None),
        ({"content": {"text": "x"}, "toolCallId": 7}, "ok", None),
    ],
)
def test_how_a_call_came_back(
    messages: Messages, body: dict[str, Any], status: str, code: int | None
) -> None:
    result = messages("pi", [HEAD, _line("toolResult", **body)])[0].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.status, result.exit_code) == (status, code)


@pytest.mark.parametrize(
    "body, origin, parts",
    [
        ({"content": [], "stopReason": "aborted"}, "interruption", ()),
        (
            {"content": [], "stopReason": "error", "errorMessage": "quota"},
            "meta",
            (Text("quota"),),
        ),
        ({"content": "half", "stopReason": "aborted"}, "agent", (Text("half"),)),
        ({"content": [], "stopReason": "stop"}, "agent", ()),
    ],
)
def test_answers_cut_short(
    messages: Messages, body: dict[str, Any], origin: str, parts: tuple[Any, ...]
) -> None:
    (message,) = messages("pi", [HEAD, _line("assistant", **body)])
    assert (message.origin, message.parts) == (origin, parts)


def test_a_command_of_the_person_is_a_call_of_nobody_s(messages: Messages) -> None:
    body = {"command": "open out.html", "output": "", "exitCode": 0, "cancelled": False}
    found = messages("pi", [HEAD, *[_line("bashExecution", **body)] * 2])
    assert found[0].parts[0] != found[1].parts[0]
    assert found[1].parts == (
        ToolCall("person-2", "bash", "shell", {"command": "open out.html"}),
        ToolResult("person-2", "", "ok", 0),
    )
    assert (found[1].role, found[1].origin, found[1].typed) == ("user", "injected", ())


def test_a_compaction(read: Read) -> None:
    line = {"type": "compaction", "id": "k", "parentId": "m1", "summary": "All.",
            "tokensBefore": 900}  # fmt: skip
    _, mark, message = read("pi", [HEAD, line])
    assert isinstance(mark, Compaction)
    assert isinstance(message, Message)
    assert (mark.line, mark.recorded) == (2, 900)
    assert (message.origin, message.text) == ("compaction", "All.")


def test_what_extensions_put_in_was_not_typed(messages: Messages) -> None:
    found = messages(
        "pi",
        [
            HEAD,
            {"type": "custom_message", "customType": "x", "content": "note"},
            {"type": "branch_summary", "fromId": "m0", "summary": "a branch"},
            _line("hookMessage", "hook"),
            _line("compactionSummary", summary="s"),
        ],
    )
    assert [(m.origin, m.text) for m in found] == [
        ("injected", "note"),
        ("injected", "a branch"),
        ("injected", "hook"),
        ("compaction", "s"),
    ]


def test_lines_between_messages_are_links(read: Read) -> None:
    kinds = ["thinking_level_change", "model_change", "label", "custom", "leaf", "session_info"]
    lines = [{"type": k, "id": k, "parentId": "p", "name": "Build"} for k in kinds]
    records = read("pi", [HEAD, *lines, {"type": "poem", "id": "z"}, _line("poet", "x")])
    assert [r.key for r in records if isinstance(r, Link)] == [*kinds, "z"]
    assert SessionFacts(title="Build") in records
    assert [r.kind for r in records if isinstance(r, Unknown)] == ["poem", "message/poet"]


def test_a_session_without_its_first_line_is_known_by_its_messages() -> None:
    line = b'{"type":"message","message":{"role":"toolResult"}}'
    assert FORMAT.detect(Sample(line, complete=True))
    other = b'{"type":"message","message":{"role":"user","content":"x"}}'
    assert not FORMAT.detect(Sample(other, complete=True))
