"""VS Code Copilot Chat exports."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.copilot_chat import FORMAT
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Changes,
    Message,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Typed,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _export(*requests: Any, **more: Any) -> dict[str, Any]:
    return {"responderUsername": "GitHub Copilot", "requests": list(requests), **more}


def _request(text: Any, *rounds: Any, **more: Any) -> dict[str, Any]:
    metadata = {"toolCallRounds": list(rounds), "sessionId": "s-1"}
    metadata["toolCallResults"] = more.pop("results", {})
    result = {"metadata": metadata, **more.pop("result", {})}
    return {
        "requestId": "request_1",
        "message": {"text": text},
        "timestamp": 1772359200000,
        "modelId": "copilot/model-a",
        "result": result,
        "response": [],
        **more,
    }


def _round(response: str, *calls: Any, **more: Any) -> dict[str, Any]:
    return {"id": "round-1", "response": response, "toolCalls": list(calls), **more}


def _call(identity: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": identity, "name": name, "arguments": json.dumps(arguments)}


def _leaf(text: str, *, breaks: bool = False) -> dict[str, Any]:
    return {"type": 2, "text": text, "lineBreakBefore": breaks}


def _tree(*leaves: Any) -> dict[str, Any]:
    return {"content": [{"value": {"node": {"type": 1, "children": [{"children": leaves}]}}}]}


def test_a_request_with_rounds(read: Read) -> None:
    records = read(
        "copilot_chat",
        _export(
            _request(
                "Read it",
                _round("Sure.", _call("c1", "read_file", filePath="/w/a.py")),
                _round("It is empty.", thinking={"text": ["Hm", "so"]}, id="round-2"),
                results={"c1": _tree(_leaf("one\n"), _leaf("two", breaks=True), _leaf("."))},
            )
        ),
    )
    assert records[0] == SessionFacts(id="s-1")
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin, m.item) for m in found] == [
        ("user", "prompt", 0),
        ("assistant", "agent", 0),
        ("tool", "tool", 0),
        ("assistant", "agent", 0),
    ]
    assert found[0].typed == (Typed(0, 0, 7),)
    assert found[0].time == "2026-03-01T10:00:00.000Z"
    assert found[1].parts == (
        Text("Sure."),
        ToolCall("c1", "read_file", "read", {"filePath": "/w/a.py"}),
    )
    assert found[2].parts == (ToolResult("c1", "one\ntwo.", "ok"),)
    assert found[3].parts == (Reasoning("Hm\n\nso"), Text("It is empty."))
    assert [m.response for m in found[1::2]] == ["round-1", "round-2"]
    assert found[1].model == "copilot/model-a"


@pytest.mark.parametrize(
    ("name", "text", "status", "code"),
    [
        ("create_file", "The following files were successfully edited:", "ok", None),
        ("create_file", "ERROR while calling tool: no such folder", "error", None),
        ("run_in_terminal", "2 passed", "unknown", None),
        ("run_in_terminal", "Command exited with code 1", "error", 1),
        ("run_in_terminal", "Command exited with code 0", "ok", 0),
        ("run_in_terminal", "The user cancelled the tool call.", "denied", None),
    ],
)
def test_how_a_call_went(
    messages: Messages, name: str, text: str, status: str, code: int | None
) -> None:
    request = _request(
        "x", _round("", _call("c", name)), results={"c": {"content": [{"value": text}]}}
    )
    result = messages("copilot_chat", _export(request))[2].parts[0]
    assert result == ToolResult("c", text, status, code)


def test_what_the_window_showed_where_there_are_no_rounds(messages: Messages) -> None:
    shown = [
        {"value": "Look at ", "supportHtml": False},
        {"kind": "inlineReference", "name": "a.py"},
        {"kind": "progressMessage", "content": {"value": "Thinking"}},
        {"kind": "markdownContent", "content": {"value": " first."}},
        {"kind": "thinking", "value": "Hm"},
    ]
    found = messages("copilot_chat", _export(_request("x", _round(""), response=shown)))
    assert found[1].parts == (Reasoning("Hm"), Text("Look at a.py first."))


def test_edits_that_no_call_tells_of_are_changes(read: Read) -> None:
    groups = [
        {"kind": "textEditGroup", "uri": {"fsPath": "/w/a.py"}, "edits": []},
        {"kind": "textEditGroup", "uri": {"path": "/w/b.py"}, "edits": []},
        {"kind": "textEditGroup", "uri": {"path": "/w/b.py"}, "edits": []},
    ]
    call = _call("c", "replace_string_in_file", filePath="/w/a.py")
    records = read("copilot_chat", _export(_request("x", _round("", call), response=groups)))
    (found,) = (r for r in records if isinstance(r, Changes))
    assert found.files == (("/w/b.py", "modified", ""),)


def test_a_failed_and_a_cancelled_request(messages: Messages) -> None:
    failed = {"errorDetails": {"message": "Sorry, no network."}}
    found = messages(
        "copilot_chat",
        _export(
            _request("x", result=failed),
            _request("@agent Try Again", confirmation="Try Again", isCanceled=True),
        ),
    )
    assert [(m.role, m.origin, m.item) for m in found] == [
        ("user", "prompt", 0),
        ("assistant", "meta", 0),
        ("user", "injected", 1),  # a button
        ("user", "interruption", 1),
    ]
    assert found[2].typed == ()


@pytest.mark.parametrize(
    "odd",
    [
        5,
        {"message": 5, "response": 5, "result": 5},
        {"message": {"parts": [{"text": "x"}, 5]}, "result": {"metadata": []}},
        {"message": "x", "response": [{"kind": {}, "value": 5}, {"kind": "inlineReference"}]},
        {"result": {"metadata": {"toolCallRounds": [{"toolCalls": [{"name": 5}]}, 5]}}},
        {"result": {"metadata": {"toolCallRounds": [{"toolCalls": [{"id": "c"}]}],
                                 "toolCallResults": {"c": {"content": [{"value": {"node": 5}}]}}}}},
    ],
)  # fmt: skip
def test_odd_requests_are_read(odd: Any) -> None:
    data = json.dumps(_export(odd)).encode()
    assert FORMAT.detect(Sample(data, complete=True))
    assert list(FORMAT.reader().read(data, Cursor()))


def test_a_deep_result_is_cut_not_followed() -> None:
    node: Any = _leaf("x")
    for _ in range(400):
        node = {"children": [node]}
    results = {"c": {"content": [{"value": {"node": node}}]}}
    data = json.dumps(_export(_request("x", _round("", _call("c", "t")), results=results)))
    assert list(FORMAT.reader().read(data.encode(), Cursor()))


@pytest.mark.parametrize(
    ("document", "known"),
    [
        (_export(), True),
        ({"requests": [{"requestId": "r", "message": {}}]}, True),
        ({"requests": [{"id": "r"}]}, False),
        ({"requests": 5, "responderUsername": "x"}, False),
        ([], False),
    ],
)
def test_detection(document: Any, known: bool) -> None:
    assert FORMAT.detect(Sample(json.dumps(document).encode(), complete=True)) is known
