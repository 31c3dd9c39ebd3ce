"""OpenHands: event lists and evaluation outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff.codec import LineDecoder
from leftoff.formats.openhands import FORMAT, OUTPUT
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Compaction,
    Message,
    NewSession,
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

PROMPT = {"id": 0, "source": "user", "action": "message", "args": {"content": "build it"}}


def _told(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {"content": "On it.", "tool_calls": [{"id": "t1", "function": function}]}
    return {
        "function_name": name,
        "tool_call_id": "t1",
        "model_response": {
            "id": "gen-1",
            "model": "model-a",
            "choices": [{"message": message}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 5},
        },
    }


def _action(number: int, action: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": number, "source": "agent", "action": action, "args": args, **more}


def _seen(cause: int, kind: str, content: str, **extras: Any) -> dict[str, Any]:
    return {
        "id": cause + 1,
        "source": "agent",
        "cause": cause,
        "observation": kind,
        "content": content,
        "extras": extras,
    }


def test_actions_and_observations_pair_by_cause(messages: Messages) -> None:
    told = _told("execute_bash", {"command": "make"})
    found = messages(
        "openhands",
        [
            {"id": 9, "source": "environment", "observation": "agent_state_changed"},
            PROMPT,
            _action(
                3, "run", {"command": "make", "thought": "Build."}, tool_call_metadata=told
            ),
            _seen(3, "run", "done", metadata={"exit_code": 2, "working_dir": "/w"}),
            _action(7, "finish", {"final_thought": "All done."}),
        ],
    )
    assert [(m.role, m.origin, m.item) for m in found] == [
        ("user", "prompt", 1),
        ("assistant", "agent", 2),
        ("tool", "tool", 3),
        ("assistant", "agent", 4),
    ]
    call = ToolCall("event-3", "execute_bash", "shell", {"command": "make"})
    assert found[1].parts == (Text("Build."), call)
    assert (found[1].response, found[1].model) == ("gen-1", "model-a")
    assert found[1].usage == Usage(50, 5)
    assert found[2].parts == (ToolResult("event-3", "done", "error", 2),)
    assert found[3].cwd == "/w"
    assert found[3].text == "All done."


@pytest.mark.parametrize(
    "kind,content,extras,status,code",
    [
        ("run", "ok", {"exit_code": 0}, "ok", 0),
        ("run", "…", {"metadata": {"exit_code": -1}}, "running", None),
        ("run", "[The command timed out after 9 s]", {"exit_code": -1}, "timeout", None),
        ("edit", "ERROR:\nNo replacement was performed", {}, "error", None),
        ("user_rejected", "no", {}, "denied", None),
        ("error", "bad", {}, "error", None),
        ("run_ipython", "Traceback (most recent call last):", {}, "error", None),
    ],
)
def test_status(
    messages: Messages,
    kind: str,
    content: str,
    extras: dict[str, Any],
    status: str,
    code: int | None,
) -> None:
    given = [PROMPT, _action(1, "run", {"command": "x"}), _seen(1, kind, content, **extras)]
    result = messages("openhands", given)[2].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.status, result.exit_code) == (status, code)


@pytest.mark.parametrize("old,created", [(None, True), ("x\n", False)])
def test_an_edit_tells_whether_it_created(
    messages: Messages,
    old: str | None,
    created: bool,
) -> None:
    extras = {"old_content": old, "prev_exist": old is not None}
    given = [PROMPT, _action(1, "edit", {"path": "/a"}), _seen(1, "edit", "ok", **extras)]
    result = messages("openhands", given)[2].parts[0]
    assert isinstance(result, ToolResult)
    assert result.detail == {"created": created}


def test_the_oldest_events_pair_by_order(messages: Messages) -> None:
    found = messages(
        "openhands_output",
        [
            {
                "issue": {"owner": "o", "repo": "r", "number": 4},
                "git_patch": "diff",
                "history": [
                    {"action": "message", "content": "fix it"},
                    {"action": "run", "command": "ls", "thought": "Look.", "is_confirmed": "y"},
                    {"observation": "run", "content": "a", "command_id": -1, "exit_code": 0},
                    {"action": "message", "content": "Done."},
                ],
            }
        ],
    )
    assert [(m.role, m.line, m.item) for m in found] == [
        ("user", 1, None),
        ("assistant", 1, None),
        ("tool", 1, None),
        ("assistant", 1, None),
    ]
    assert found[1].parts[1] == ToolCall("call-1", "run", "shell", {"command": "ls"})
    assert found[2].parts == (ToolResult("call-1", "a", "ok", 0),)


def test_each_line_of_an_output_is_a_session() -> None:
    reader, cursor = OUTPUT.reader(), Cursor(line=1)
    line = json.dumps({"instance_id": "i-1", "test_result": {}, "history": [PROMPT]}).encode()
    (record,), codes = LineDecoder(reader.record).decode(line)
    found = list(reader.read(record, cursor))
    assert codes == ()
    assert found[:2] == [NewSession("i-1"), SessionFacts(id="i-1")]
    assert isinstance(found[2], Message)
    assert json.loads(found[2].raw) == PROMPT
    (record,), codes = LineDecoder(reader.record).decode(b'{"instance_id": 1, "history": 2}')
    assert [type(r) for r in reader.read(record, cursor)] == [Unknown]


def test_replies_without_a_recorded_response_count_what_the_totals_grew_by(
    messages: Messages,
) -> None:
    def reply(number: int, prompt: int, output: int) -> dict[str, Any]:
        total = {"prompt_tokens": prompt, "completion_tokens": output}
        metrics = {"accumulated_token_usage": total}
        return _action(number, "message", {"content": "x"}, llm_metrics=metrics)

    found = messages("openhands", [PROMPT, reply(1, 100, 10), reply(2, 250, 15)])
    assert [m.usage for m in found] == [None, Usage(100, 10), Usage(150, 5)]


def test_context_condensation_and_unknown_kinds(read: Read) -> None:
    knowledge = [{"content": "Use tabs."}]
    records = read(
        "openhands",
        [
            PROMPT,
            _action(1, "recall", {}),
            _seen(1, "recall", "Added", microagent_knowledge=knowledge),
            _action(5, "condensation", {}),
            _action(6, "dance", {}),
            {"id": 7, "source": "agent", "observation": "smell"},
            {"id": 8, "source": "agent", "observation": "error", "content": "bad reply"},
            7,
            {"id": [], "source": {}, "action": ["run"]},
        ],
    )
    kinds = [type(r) for r in records]
    assert kinds == [Message, Message, Compaction, Unknown, Unknown, Message, Unknown, Unknown]
    assert isinstance(records[1], Message)
    assert (records[1].origin, records[1].text) == ("injected", "Added\n\nUse tabs.")
    assert [r.kind for r in records if isinstance(r, Unknown)] == [
        "action dance",
        "observation smell",
        "event",
        "event",
    ]


def test_pairs_of_the_very_oldest_files(messages: Messages) -> None:
    pair = [
        {"action": "run", "args": {"command": "ls"}},
        {"observation": "run", "content": "a"},
    ]
    given = json.dumps(
        {"instance_id": "i", "test_result": {}, "history": [pair, pair]}, indent=1
    )
    found = messages("openhands", given.encode())
    assert [(m.role, m.item) for m in found] == [
        ("assistant", 0),
        ("tool", 0),
        ("assistant", 1),
        ("tool", 1),
    ]


@pytest.mark.parametrize(
    "given,document,output",
    [
        (json.dumps([PROMPT]).encode(), True, False),
        (b'{"instance_id": 1, "test_result": {}, "history": []}', False, True),
        (b'{\n "instance_id": 1, "test_result": {},\n "history": []\n}', True, False),
        (b'[{"action": "x"}]', False, False),
        (b'{"history": [], "task_id": 1}', False, False),
        (b"", False, False),
    ],
)
def test_detection(given: bytes, document: bool, output: bool) -> None:
    sample = Sample(given, complete=True)
    assert (FORMAT.detect(sample), OUTPUT.detect(sample)) == (document, output)


# -- events of the agent SDK (version 1) ----------------------------------------------------


def _sdk(kind: str, source: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "source": source, "timestamp": "2026-01-02T03:04:05", **fields}


def _content(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "cache_prompt": False}]


def _sdk_call(identity: str, tool: str, given: dict[str, Any], **fields: Any) -> dict[str, Any]:
    call = {
        "id": identity,
        "name": tool,
        "arguments": json.dumps(given),
        "origin": "completion",
    }
    return _sdk(
        "ActionEvent",
        "agent",
        **{"thought": [], "action": {"kind": "X", **given}, "tool_name": tool, **fields},
        tool_call_id=identity,
        tool_call=call,
        llm_response_id="gen-1",
    )


def _sdk_seen(identity: str, tool: str, **observation: Any) -> dict[str, Any]:
    return _sdk(
        "ObservationEvent",
        "environment",
        tool_name=tool,
        tool_call_id=identity,
        observation=observation,
    )


SDK: list[dict[str, Any]] = [
    _sdk("SystemPromptEvent", "agent", system_prompt={"type": "text", "text": "You are."}),
    _sdk(
        "MessageEvent",
        "user",
        llm_message={"role": "user", "content": _content("build it")},
        extended_content=_content("Skill: make"),
    ),
    _sdk("ConversationStateUpdateEvent", "environment", key="stats", value={}),
    _sdk_call(
        "t1",
        "terminal",
        {"command": "make"},
        thought=_content("Build."),
        reasoning_content="Which target?",
    ),
    _sdk_seen(
        "t1",
        "terminal",
        content=_content("failed"),
        metadata={"exit_code": 2, "working_dir": "/w"},
    ),
    _sdk_call("t2", "file_editor", {"command": "create", "path": "/w/a", "file_text": "x"}),
    _sdk_seen("t2", "file_editor", content=_content("created"), prev_exist=False),
    _sdk(
        "MessageEvent",
        "environment",
        llm_message={"role": "user", "content": _content("go on, please")},
    ),
    _sdk(
        "MessageEvent",
        "agent",
        llm_message={
            "role": "assistant",
            "content": _content("Built."),
            "thinking_blocks": [{"type": "thinking", "thinking": "Enough."}],
        },
    ),
]


def test_events_of_the_agent_sdk(messages: Messages) -> None:
    """They name their kind; their actions are objects, and were all of unknown kinds before."""
    found = messages("openhands", SDK)
    assert [(m.role, m.origin, m.item) for m in found] == [
        ("system", "injected", 0),
        ("user", "prompt", 1),
        ("assistant", "agent", 3),
        ("tool", "tool", 4),
        ("assistant", "agent", 5),
        ("tool", "tool", 6),
        ("user", "injected", 7),
        ("assistant", "agent", 8),
    ]
    assert found[1].parts == (Text("build it"), Text("Skill: make"))
    assert [(t.part, t.start, t.end) for t in found[1].typed] == [(0, 0, 8)]
    assert found[2].parts == (
        Reasoning("Which target?"),
        Text("Build."),
        ToolCall("t1", "terminal", "shell", {"command": "make"}),
    )
    assert found[2].response == "gen-1"
    assert found[3].parts == (ToolResult("t1", "failed", "error", 2),)
    assert found[4].cwd == "/w"
    assert found[5].parts == (ToolResult("t2", "created", "ok", None, {"created": True}),)
    assert found[7].parts == (Reasoning("Enough."), Text("Built."))


@pytest.mark.parametrize("name", ["trajectory", "events", "items"])
def test_answers_of_the_server_hold_events(messages: Messages, name: str) -> None:
    assert len(messages("openhands", {name: SDK, "next_page_id": None})) == 8
    assert len(messages("openhands", {name: [PROMPT]})) == 1


def test_events_of_the_agent_sdk_on_lines(messages: Messages) -> None:
    found = messages("openhands_lines", SDK)
    assert [m.line for m in found] == [1, 2, 4, 5, 6, 7, 8, 9]


def test_history_of_the_agent_sdk_in_an_output(read: Read) -> None:
    found = read("openhands_output", [{"instance_id": "a-1", "history": SDK, "git_patch": ""}])
    assert sum(isinstance(r, Message) for r in found) == 8
    assert not any(isinstance(r, Unknown) for r in found)


@pytest.mark.parametrize(
    "event,status,code",
    [
        (_sdk_seen("t1", "terminal", content=_content("x"), exit_code=0), "ok", 0),
        (_sdk_seen("t1", "terminal", content=[], exit_code=-1, timeout=True), "timeout", None),
        (_sdk_seen("t1", "terminal", content=[], metadata={"exit_code": -1}), "running", None),
        (_sdk_seen("t1", "terminal", content=_content("x"), is_error=True), "error", None),
        (_sdk("AgentErrorEvent", "agent", tool_call_id="t1", error="bad"), "error", None),
    ],
)
def test_outcomes_of_the_agent_sdk(
    messages: Messages, event: dict[str, Any], status: str, code: int | None
) -> None:
    found = messages("openhands", [_sdk_call("t1", "terminal", {"command": "make"}), event])
    result = found[1].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.status, result.exit_code) == ("t1", status, code)


@pytest.mark.parametrize("reason,typed", [("User rejected the action", 0), ("use make -j", 1)])
def test_reason_of_a_rejection_is_the_persons_only_if_given(
    messages: Messages, reason: str, typed: int
) -> None:
    rejected = _sdk(
        "UserRejectObservation", "environment", tool_call_id="t1", rejection_reason=reason
    )
    found = messages("openhands", [_sdk_call("t1", "terminal", {"command": "make"}), rejected])
    assert found[1].parts == (ToolResult("t1", reason, "denied"),)
    assert [t.via for t in found[1].typed] == ["rejection"] * typed


def test_condensation_and_unknown_kinds_of_the_agent_sdk(read: Read) -> None:
    found = read(
        "openhands",
        [*SDK, _sdk("Condensation", "environment", summary="x"), _sdk("NewEvent", "agent")],
    )
    assert [r.item for r in found if isinstance(r, Compaction)] == [9]
    assert [r.kind for r in found if isinstance(r, Unknown)] == ["event NewEvent"]
