"""opencode exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.model import (
    Changes,
    Compaction,
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


def _export(*messages: Any, **info: Any) -> dict[str, Any]:
    head = {
        "id": "ses_1",
        "directory": "/w",
        "title": "Build",
        "version": "1.2.0",
        "time": {"created": 1_700_000_000_000},
    }
    return {"info": {**head, **info}, "messages": list(messages)}


def _user(*parts: Any, **info: Any) -> dict[str, Any]:
    return {"info": {"id": "msg_u", "role": "user", **info}, "parts": list(parts)}


def _agent(*parts: Any, **info: Any) -> dict[str, Any]:
    head = {"id": "msg_a", "role": "assistant", "parentID": "msg_u", "modelID": "model-a"}
    return {"info": {**head, **info}, "parts": list(parts)}


def _tool(name: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": "c1", "tool": name, "state": {"status": status, **state}}


def test_an_export(read: Read) -> None:
    tokens = {"total": 165, "input": 100, "output": 15, "reasoning": 5,
              "cache": {"read": 40, "write": 10}}  # fmt: skip
    facts, user, agent = read(
        "opencode",
        _export(
            _user({"type": "text", "text": "build it"}, {"type": "file", "mime": "image/png"}),
            _agent(
                {"type": "step-start", "snapshot": "x"},
                {"type": "reasoning", "text": "Hm."},
                {"type": "reasoning", "text": ""},
                _tool("bash", input={"command": "make"}, output="built", metadata={"exit": 0}),
                {"type": "step-finish", "tokens": tokens},
                tokens=tokens,
                time={"created": 1_700_000_000_500},
                path={"cwd": "/w/sub"},
            ),
        ),
    )
    assert facts == SessionFacts(
        id="ses_1",
        cwd="/w",
        agent_version="1.2.0",
        title="Build",
        started="2023-11-14T22:13:20.000Z",
    )
    assert isinstance(user, Message)
    assert isinstance(agent, Message)
    assert user.parts == (Text("build it"), Media("image/png"))
    assert (user.origin, user.item) == ("prompt", 0)
    assert agent.parts == (
        Reasoning("Hm."),
        ToolCall("c1", "bash", "shell", {"command": "make"}),
        ToolResult("c1", "built", "ok", 0),
    )
    # A step's tokens are the message's again; they count once.
    assert agent.usage == Usage(100, 15, 40, 10, 5)
    assert (agent.time, agent.cwd, agent.model) == (
        "2023-11-14T22:13:20.500Z",
        "/w/sub",
        "model-a",
    )
    assert (agent.key, agent.parent, agent.response) == ("msg_a", "msg_u", "msg_a")


@pytest.mark.parametrize(
    "total, output",
    [(115, 15), (120, 20), (None, 15)],
)
def test_output_includes_what_the_model_thought(
    messages: Messages, total: int | None, output: int
) -> None:
    tokens: dict[str, Any] = {
        "total": total,
        "input": 100,
        "output": 15,
        "reasoning": 5,
        "cache": {},
    }
    (message,) = messages("opencode", _export(_agent(tokens=tokens)))
    assert message.usage == Usage(100, output, 0, 0, 5)


@pytest.mark.parametrize(
    "name, state, status, code",
    [
        ("bash", {"output": "no", "metadata": {"exit": 2}}, "error", 2),
        (
            "bash",
            {"output": "x\ncommand terminated after exceeding timeout 5 ms",
             "metadata": {"exit": 143}},
            "timeout",
            143,
        ),
        ("bash", {"status": "error", "error": "Tool execution aborted"}, "interrupted", None),
        (
            "edit",
            {"status": "error", "error": "The user rejected permission to use this tool"},
            "denied",
            None,
        ),
        ("read", {"status": "error", "error": "Error: File not found"}, "error", None),
        ("bash", {"status": "running", "output": "half"}, "running", None),
        ("bash", {"output": 7, "metadata": {"exit": None}}, "ok", None),
    ],
)  # fmt: skip
def test_how_a_call_came_back(
    messages: Messages, name: str, state: dict[str, Any], status: str, code: int | None
) -> None:
    state = {"status": "completed", **state}
    part = {"type": "tool", "callID": "c", "tool": name, "state": state}
    (message,) = messages("opencode", _export(_agent(part)))
    result = message.parts[1]
    assert isinstance(result, ToolResult)
    assert (result.status, result.exit_code) == (status, code)


def test_a_pending_call_has_no_result(messages: Messages) -> None:
    (message,) = messages("opencode", _export(_agent(_tool("bash", "pending", input={}))))
    assert message.parts == (ToolCall("c1", "bash", "shell", {}),)


def test_blacked_out_ids_pair_nothing_else(messages: Messages) -> None:
    part = {**_tool("read", output="x"), "callID": "REDACTED"}
    found = messages("opencode", _export(*[_agent(part, part, id="REDACTED")] * 2))
    calls = [p.id for m in found for p in m.parts if isinstance(p, ToolCall)]
    backs = [p.call_id for m in found for p in m.parts if isinstance(p, ToolResult)]
    assert calls == backs == ["call-1", "call-2", "call-3", "call-4"]
    assert [m.key for m in found] == ["", ""]
    assert [m.response for m in found] == ["r0", "r1"]


def test_a_subagent_is_named_by_its_session(messages: Messages) -> None:
    part = _tool("task", output="done", metadata={"sessionId": "ses_2"})
    (message,) = messages("opencode", _export(_agent(part)))
    result = message.parts[1]
    assert isinstance(result, ToolResult)
    assert result.detail == {"agent": "ses_2"}


@pytest.mark.parametrize("parent", ["ses_0", "REDACTED"])
def test_nobody_types_the_prompts_of_a_child_session(read: Read, parent: str) -> None:
    facts, message = read("opencode", _export(_user({"type": "text", "text": "review"}),
                                              parentID=parent))  # fmt: skip
    assert isinstance(facts, SessionFacts)
    assert isinstance(message, Message)
    assert facts.parent_id == ("" if parent == "REDACTED" else parent)
    assert (message.origin, message.typed) == ("injected", ())


@pytest.mark.parametrize(
    "part, typed",
    [
        ({"type": "text", "text": "go on"}, True),
        ({"type": "text", "text": "go on", "synthetic": True}, False),
        ({"type": "text", "text": "go on", "ignored": True}, False),
        ({"type": "subtask", "prompt": "You are a reviewer.", "command": "review"}, False),
    ],
)
def test_what_a_person_typed(messages: Messages, part: dict[str, Any], typed: bool) -> None:
    (message,) = messages("opencode", _export(_user(part)))
    assert bool(message.typed) is typed


def test_changed_files(read: Read) -> None:
    diffs = [{"file": "gone.py", "status": "deleted"}, {"file": "new.py", "status": "added"}]
    files = [
        {"filePath": "/w/a.py", "type": "update"},
        {"filePath": "/w/b.py", "type": "add"},
        {"filePath": "/w/c.py", "type": "move", "movePath": "/w/d.py"},
    ]
    records = read(
        "opencode",
        _export(
            _user({"type": "text", "text": "go"}, summary={"diffs": diffs}),
            _agent(
                _tool("apply_patch", input={}, output="ok", metadata={"files": files}),
                {
                    "type": "patch",
                    "files": ["/w/a.py", "/w/gone.py", "/w/new.py", "/w/e.py", 7],
                },
            ),
            _user({"type": "text", "text": "go on"}),
            _agent({"type": "patch", "files": ["/w/new.py"]}),
        ),
    )
    changes = [r for r in records if isinstance(r, Changes)]
    assert [(c.call_id, c.files, c.item) for c in changes] == [
        (
            "c1",
            (
                ("/w/a.py", "modified", ""),
                ("/w/b.py", "created", ""),
                ("/w/d.py", "modified", "/w/c.py"),
            ),
            1,
        ),
        (
            "",
            (
                ("/w/gone.py", "deleted", ""),
                ("/w/new.py", "created", ""),
                ("/w/e.py", "modified", ""),
            ),
            1,
        ),
        # What one turn did says nothing about the next.
        ("", (("/w/new.py", "modified", ""),), 3),
    ]


def test_a_step_that_only_looked_changed_nothing(read: Read) -> None:
    """A session that was told to change nothing seemed to have changed what others changed
    meanwhile."""
    records = read(
        "opencode",
        _export(
            _user({"type": "text", "text": "Change nothing."}),
            _agent(
                _tool("glob", input={"pattern": "*"}, output="a.py"),
                {"type": "patch", "files": ["/w/a.py"]},
            ),
        ),
    )
    assert not any(isinstance(r, Changes) for r in records)


@pytest.mark.parametrize("auto, trigger", [(True, "auto"), (False, "manual")])
def test_a_compaction(read: Read, auto: bool, trigger: str) -> None:
    _, mark, asked, summary = read(
        "opencode",
        _export(
            _user({"type": "compaction", "auto": auto}),
            _agent({"type": "text", "text": "All of it."}, summary=True),
        ),
    )
    assert isinstance(mark, Compaction)
    assert isinstance(asked, Message)
    assert isinstance(summary, Message)
    assert (mark.item, mark.trigger) == (0, trigger)
    assert (asked.origin, summary.origin) == ("compaction", "compaction")


def test_every_item_is_accounted_for(read: Read) -> None:
    odd = [7, None, {}, {"info": 7}, {"info": {"role": "poet"}}, {"info": {"role": ["user"]}}]
    good = [_user({"type": "poem"}, {"type": ["x"]}, 7), _user({"type": "text", "text": None})]
    records = read("opencode", _export(*odd, *good))
    kinds = [r.kind for r in records if isinstance(r, Unknown)]
    assert kinds == [
        "message/no info",
        "message/no info",
        "message/no info",
        "message/no info",
        "message/poet",
        "message/",
        "part/poem",
        "part/",
    ]
    assert [m.item for m in records if isinstance(m, Message)] == [6, 7]
