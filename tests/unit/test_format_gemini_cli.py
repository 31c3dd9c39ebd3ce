"""Gemini CLI: session documents, and the same as JSON lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.gemini_cli import FORMAT, GeminiReader
from leftoff.formats.reader import Cursor
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

CALL = {
    "id": "shell_1",
    "name": "run_shell_command",
    "args": {"command": "make"},
    "status": "success",
    "timestamp": "2026-01-02T10:00:02.000Z",
    "description": "the manual of the tool, not the command",
    "result": [
        {"functionResponse": {"id": "shell_1", "name": "x", "response": {"output": "built"}}}
    ],
    "resultDisplay": "built",
}
TOKENS = {"input": 900, "output": 20, "cached": 700, "thoughts": 30, "tool": 5, "total": 955}


def _document(*messages: Any, **more: Any) -> dict[str, Any]:
    head = {"sessionId": "s-1", "projectHash": "h", "startTime": "2026-01-02T10:00:00.000Z"}
    return {**head, **more, "messages": list(messages)}


def _agent(**more: Any) -> dict[str, Any]:
    base = {"id": "g", "timestamp": "2026-01-02T10:00:01.000Z", "type": "gemini"}
    return {**base, "content": "I will build it.", "model": "gemini-3", **more}


def _user(content: Any, **more: Any) -> dict[str, Any]:
    return {"id": "u", "type": "user", "content": content, **more}


def test_a_call_and_its_result_stand_in_one_message(messages: Messages) -> None:
    thought = {"subject": "Plan", "description": "Run make.", "timestamp": "t"}
    item = _agent(thoughts=[thought], tokens=TOKENS, toolCalls=[CALL])
    (message,) = messages("gemini_cli", _document(item))
    assert message.parts == (
        Reasoning("Plan\nRun make."),
        Text("I will build it."),
        ToolCall("shell_1", "run_shell_command", "shell", {"command": "make"}),
        ToolResult("shell_1", "built", "ok"),
    )
    assert (message.role, message.origin, message.item, message.line) == (
        "assistant",
        "agent",
        0,
        None,
    )
    # What came from the cache is not input; what the model thought is output.
    assert message.usage == Usage(205, 50, 700, 0, 30)
    assert message.model == "gemini-3"


def test_session_facts(read: Read) -> None:
    facts = read("gemini_cli", _document(summary="Build it"))[0]
    assert facts == SessionFacts(id="s-1", title="Build it", started="2026-01-02T10:00:00.000Z")


@pytest.mark.parametrize(
    "content, words",
    [
        ("plain words", "plain words"),
        ([{"text": "listed words"}], "listed words"),
        ([{"text": "<session_context>x</session_context>"}], None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_what_a_person_typed(messages: Messages, content: Any, words: str | None) -> None:
    (message,) = messages("gemini_cli", _document(_user(content)))
    assert message.origin == ("prompt" if words else "injected")
    assert [message.text[t.start : t.end] for t in message.typed] == ([words] if words else [])


def test_files_that_the_recorder_put_into_a_prompt_were_not_typed(messages: Messages) -> None:
    content = [
        {"text": "explain @notes.md"},
        {"text": "\n--- Content from referenced files ---"},
        {"text": "\nContent from @notes.md:\n"},
        {"text": "we decided to stop"},
        {"text": "\n--- End of content ---"},
    ]
    (message,) = messages("gemini_cli", _document(_user(content)))
    assert [t.part for t in message.typed] == [0]


def test_the_shown_part_of_a_prompt_is_what_was_typed(messages: Messages) -> None:
    item = _user("context first\n\nfix it\n", displayContent="fix it")
    (message,) = messages("gemini_cli", _document(item))
    (typed,) = message.typed
    assert message.text[typed.start : typed.end] == "fix it"


@pytest.mark.parametrize(
    "call, status, code",
    [
        ({"status": "success", "output": "done\nExit Code: 2\nSignal: 0"}, "error", 2),
        ({"status": "success", "output": "done\nExit Code: 0"}, "ok", 0),
        ({"status": "error", "error": "no such file"}, "error", None),
        (
            {"status": "cancelled", "error": "[Operation Cancelled] Reason: User denied."},
            "denied",
            None,
        ),
        ({"status": "cancelled", "error": "[Operation Cancelled]"}, "interrupted", None),
        ({"status": "executing", "output": "half"}, "running", None),
    ],
)
def test_how_a_call_came_back(
    messages: Messages, call: dict[str, str], status: str, code: int | None
) -> None:
    response = {k: v for k, v in call.items() if k != "status"}
    result = [{"functionResponse": {"id": "shell_1", "response": response}}]
    item = _agent(toolCalls=[{**CALL, "status": call["status"], "result": result}])
    (message,) = messages("gemini_cli", _document(item))
    found = message.parts[-1]
    assert isinstance(found, ToolResult)
    assert (found.status, found.exit_code) == (status, code)


def test_a_call_that_did_not_come_back_has_no_result(messages: Messages) -> None:
    call = {"id": "c", "name": "read_file", "args": {}, "status": "scheduled"}
    (message,) = messages("gemini_cli", _document(_agent(content="", toolCalls=[call])))
    assert message.parts == (ToolCall("c", "read_file", "read", {}),)


def test_a_written_file_says_whether_it_is_new(messages: Messages) -> None:
    display = {"fileName": "a.md", "filePath": "/w/a.md", "isNewFile": True, "fileDiff": ""}
    call = {**CALL, "name": "write_file", "resultDisplay": display}
    (message,) = messages("gemini_cli", _document(_agent(toolCalls=[call])))
    found = message.parts[-1]
    assert isinstance(found, ToolResult)
    assert found.detail == {"created": True}


def test_an_answer_to_a_question_was_typed(messages: Messages) -> None:
    response = {"output": '{"answers":{"0":"Postgres, please"}}'}
    result = [{"functionResponse": {"id": "q", "response": response}}]
    call = {"id": "q", "name": "ask_user", "args": {}, "status": "success", "result": result}
    (message,) = messages("gemini_cli", _document(_agent(toolCalls=[call])))
    (typed,) = message.typed
    found = message.parts[typed.part]
    assert isinstance(found, ToolResult)
    assert (found.text[typed.start : typed.end], typed.via) == ("Postgres, please", "answer")


@pytest.mark.parametrize(
    "kind, content, origin",
    [
        ("info", "Update successful!", "meta"),
        ("error", "quota", "meta"),
        ("warning", "slow", "meta"),
        ("info", "Request cancelled.", "interruption"),
    ],
)
def test_notices(messages: Messages, kind: str, content: str, origin: str) -> None:
    (message,) = messages(
        "gemini_cli", _document({"id": "i", "type": kind, "content": content})
    )
    assert (message.role, message.origin, message.text) == ("system", origin, content)


def test_nobody_types_the_prompts_of_a_subagent(messages: Messages) -> None:
    (message,) = messages("gemini_cli", _document(_user("look around"), kind="subagent"))
    assert (message.origin, message.typed) == ("injected", ())


def test_calls_and_results_told_twice_count_once(messages: Messages) -> None:
    again = {"functionCall": {"id": "shell_1", "name": "run_shell_command", "args": {}}}
    alone = {"functionCall": {"id": "c2", "name": "read_file", "args": {}}}
    back = [*CALL["result"], {"functionResponse": {"id": "c2", "response": {"output": "y"}}}]
    found = messages(
        "gemini_cli",
        _document(_agent(content=[again, alone], toolCalls=[CALL]), _user(back)),
    )
    assert [p.id for p in found[0].parts if isinstance(p, ToolCall)] == ["c2", "shell_1"]
    assert found[1].parts == (ToolResult("c2", "y", "ok"),)
    assert found[1].origin == "tool"


def test_every_item_is_accounted_for(read: Read) -> None:
    odd: list[Any] = [
        7,
        None,
        "x",
        [],
        {},
        {"type": ["user"]},
        {"type": "poem", "content": "o"},
    ]
    records = read("gemini_cli", _document(*odd, _user("hello")))
    unknown = [r.kind for r in records if isinstance(r, Unknown)]
    assert unknown == ["message/no object"] * 4 + ["message/"] * 2 + ["message/poem"]
    (message,) = (r for r in records if isinstance(r, Message))
    assert (message.item, message.index) == (7, 0)


@pytest.mark.parametrize("data", [b"[]", b"{}", b"7", b'{"messages": 7}', b'{"messages": {}}'])
def test_other_documents_hold_no_messages(data: bytes) -> None:
    records = list(GeminiReader().read(data, Cursor()))
    assert [r for r in records if isinstance(r, Message)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": "REDACTED"},
        {"tokens": {"input": -5, "output": "x", "cached": 1.5}},
        {"thoughts": {"subject": "x"}},
        {"toolCalls": "none"},
        {"toolCalls": [{"id": 7, "name": None, "result": "plain", "status": []}]},
        {"content": [{"functionCall": None}, {"inlineData": 7}, "bare", 3]},
        {"model": 7, "timestamp": {}, "id": []},
    ],
)
def test_odd_values_cost_only_themselves(messages: Messages, wrong: dict[str, Any]) -> None:
    (message,) = messages("gemini_cli", _document({**_agent(), **wrong}))
    assert message.role == "assistant"
    assert message.usage in (None, Usage())


def test_the_name_of_the_format_is_the_registry_s() -> None:
    assert (FORMAT.name, FORMAT.shape) == ("gemini_cli", "document")


# -- the same as lines ---------------------------------------------------------------------

HEAD = {"sessionId": "s-1", "projectHash": "h", "startTime": "t0", "kind": "main"}


def test_a_line_appended_anew_gives_only_what_is_new(messages: Messages) -> None:
    lines = [
        HEAD,
        _user("build it"),
        _agent(tokens=None),
        {"$set": {"lastUpdated": "t1"}},
        _agent(tokens=TOKENS),
        _agent(tokens=TOKENS, toolCalls=[{**CALL, "status": "executing", "result": None}]),
        _agent(tokens=TOKENS, toolCalls=[CALL]),
        _agent(tokens=TOKENS, toolCalls=[CALL]),
        _user("build it"),
        _user("and test it", id="u2"),
    ]
    found = messages("gemini_cli_jsonl", lines)
    assert [m.line for m in found] == [2, 3, 5, 6, 7, 10]
    assert [m.response for m in found] == ["", "g", "g", "g", "g", ""]
    parts = [p for m in found for p in m.parts]
    assert parts == [
        Text("build it"),
        Text("I will build it."),
        ToolCall("shell_1", "run_shell_command", "shell", {"command": "make"}),
        ToolResult("shell_1", "built", "ok"),
        Text("and test it"),
    ]
    assert [m.usage.total for m in found if m.usage] == [955]


def test_a_rewound_prompt_has_the_parent_of_what_replaces_it(read: Read) -> None:
    lines = [HEAD, _user("one", id="u1"), _agent(id="g1"), {"$rewindTo": "u1"}]
    records = read("gemini_cli_jsonl", [*lines, _user("two", id="u2")])
    parents = {m.key: m.parent for m in records if isinstance(m, Message)}
    assert parents == {"u1": "s-1", "g1": "u1", "u2": "s-1"}
    assert Link("s-1", "") in records


def test_a_compressed_conversation(read: Read) -> None:
    summary = _user([{"text": "<state_snapshot>all of it</state_snapshot>"}], id="c1")
    replaced = {"$set": {"messages": [summary, _user("one")]}}
    lines = [HEAD, _user("one", id="u1"), replaced, replaced]
    records = read("gemini_cli_jsonl", lines)
    assert [r.line for r in records if isinstance(r, Compaction)] == [3]
    assert [m.origin for m in records if isinstance(m, Message)] == ["prompt", "compaction"]


def test_lines_of_no_known_shape_are_counted(read: Read) -> None:
    records = read("gemini_cli_jsonl", [HEAD, {"x": 1}, {"id": "z", "type": "poem"}])
    kinds = [r.kind for r in records if isinstance(r, Unknown)]
    assert kinds == ["line without id", "message/poem"]
