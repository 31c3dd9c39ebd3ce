"""Factory Droid sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.factory_droid import FORMAT
from leftoff.formats.reader import Sample
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
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]

HEAD = {"type": "session_start", "id": "s-1", "title": "build it", "cwd": "/w", "version": 2}


def _line(role: str, content: Any, identity: str = "m1", **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"type": "message", "id": identity, "timestamp": "t", "message": message, **more}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_a_session(read: Read) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "tool_use", "id": "c1", "name": "Execute", "input": {"command": "make"}},
    ]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "built"}
    facts, user, agent, back = read(
        "factory_droid",
        [
            HEAD,
            _line("user", [_text("<system-reminder>x</system-reminder>"), _text("build it")]),
            _line("assistant", blocks, "m2", parentId="m1"),
            _line("user", [result], "m3", parentId="m2"),
        ],
    )
    assert facts == SessionFacts(id="s-1", cwd="/w", title="build it")
    assert isinstance(user, Message)
    assert isinstance(agent, Message)
    assert isinstance(back, Message)
    assert [(t.part, t.start, t.end) for t in user.typed] == [(1, 0, 8)]
    assert agent.parts == (
        Reasoning("Hm."),
        ToolCall("c1", "Execute", "shell", {"command": "make"}),
    )
    assert (agent.key, agent.parent, agent.response, agent.cwd) == ("m2", "m1", "m2", "/w")
    assert back.parts == (ToolResult("c1", "built", "ok"),)
    assert [m.origin for m in (user, agent, back)] == ["prompt", "agent", "tool"]


@pytest.mark.parametrize("where", ["line", "message"])
def test_a_notice_for_the_person_is_none_of_their_words(messages: Messages, where: str) -> None:
    line = _line("user", [_text("Token limit reached.")])
    (line if where == "line" else line["message"])["visibility"] = "user_only"
    (message,) = messages("factory_droid", [HEAD, line])
    assert (message.role, message.origin, message.typed) == ("system", "meta", ())


def test_nobody_types_the_prompts_of_a_delegated_session(read: Read) -> None:
    head = {**HEAD, "callingSessionId": "s-0", "sessionTitle": "New Session"}
    facts, message = read("factory_droid", [head, _line("user", "look around")])
    assert facts == SessionFacts(id="s-1", cwd="/w", title="build it", parent_id="s-0")
    assert isinstance(message, Message)
    assert (message.origin, message.typed) == ("injected", ())


def test_a_compaction(read: Read) -> None:
    line = {"type": "compaction_state", "id": "k", "summaryText": "All.", "summaryTokens": 90}
    _, mark, message = read("factory_droid", [HEAD, line])
    assert isinstance(mark, Compaction)
    assert isinstance(message, Message)
    assert (mark.line, mark.recorded_after) == (2, 90)
    assert (message.origin, message.parts) == ("compaction", (Text("All."),))


def test_other_lines(read: Read) -> None:
    lines = [
        {"type": "todo_state", "id": "t1", "parentId": "m1", "todos": []},
        {"type": "poem", "id": "p1"},
        _line("poet", "x"),
        _line("assistant", 7),
    ]
    records = read("factory_droid", [HEAD, *lines])
    assert [r.key for r in records if isinstance(r, Link)] == ["t1", "p1"]
    assert [r.kind for r in records if isinstance(r, Unknown)] == ["poem", "message/poet"]
    assert [m.parts for m in records if isinstance(m, Message)] == [()]


@pytest.mark.parametrize(
    "line, known",
    [
        (b'{"type":"message","id":"m","message":{"role":"user","content":"x"}}', True),
        (b'{"type":"message","id":"m","message":{"role":"user","timestamp":1}}', False),
        (b'{"type":"message","id":"m","message":{"role":"assistant","api":"x"}}', False),
        (b'{"type":"message","parentUuid":"m","message":{"role":"user"}}', False),
        (b'{"type":"session_meta","payload":{}}', False),
    ],
)
def test_a_session_without_its_first_line(line: bytes, known: bool) -> None:
    assert FORMAT.detect(Sample(line, complete=True)) is known
