"""iFlow CLI sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.claude_code import FORMAT as CLAUDE
from leftoff.formats.iflow import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import Message, Record, Text, ToolCall, ToolResult, Unknown, Usage

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _line(kind: str, content: Any, uuid: str = "u1", **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": "session-1",
        "timestamp": "t",
        "cwd": "/w",
        "gitBranch": None,
        "version": "1.0.0",
        "message": {"role": kind, "content": content, "id": f"response-{uuid}", **more},
    }


def _use(identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "read_file", "input": {}}


def _back(response: Any, **facts: Any) -> dict[str, Any]:
    answer = {"functionResponse": {"id": "c1", "name": "read_file", "response": response}}
    content = {"callId": "c1", "responseParts": answer, "resultDisplay": "Read"}
    block = {"type": "tool_result", "tool_use_id": "c1", "content": content}
    return {**_line("user", [block], "u9"), "toolUseResult": {"toolName": "read_file", **facts}}


def test_a_repeated_call_counts_once(messages: Messages) -> None:
    usage = {"input_tokens": 0, "output_tokens": 0}
    found = messages(
        "iflow",
        [
            _line("user", "read both"),
            _line(
                "assistant", [{"type": "text", "text": "Yes."}, _use("c1")], "u2", usage=usage
            ),
            _line("assistant", [_use("c1"), _use("c2")], "u3", model="model-a"),
            _line("assistant", [_use("c2")], "u4"),
        ],
    )
    assert [m.parts for m in found] == [
        (Text("read both"),),
        (Text("Yes."), ToolCall("c1", "read_file", "read", {})),
        (ToolCall("c2", "read_file", "read", {}),),
        (),
    ]
    assert [m.origin for m in found] == ["prompt", "agent", "agent", "agent"]
    assert (found[1].usage, found[2].model, found[2].cwd) == (Usage(), "model-a", "/w")


@pytest.mark.parametrize(
    "response, facts, text, status",
    [
        ({"output": "x = 1"}, {"status": "success"}, "x = 1", "ok"),
        ({"error": "no file"}, {"status": "error"}, "no file", "error"),
        ({"error": "no file"}, {}, "no file", "error"),
        ({"output": "stopped"}, {"status": "cancelled"}, "stopped", "interrupted"),
        ({"error": "[Operation Cancelled] User did not allow tool call"},
         {"status": "cancelled"}, None, "denied"),
        ("plain", {"status": ["odd"]}, "plain", "ok"),
    ],
)  # fmt: skip
def test_how_a_call_came_back(
    messages: Messages, response: Any, facts: dict[str, Any], text: str | None, status: str
) -> None:
    (message,) = messages("iflow", [_back(response, **facts)])
    result = message.parts[0]
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.status) == ("c1", status)
    assert text is None or result.text == text
    assert message.origin == "tool"


@pytest.mark.parametrize("content", ["text", [{"type": "text", "text": "text"}], 7, None])
def test_results_of_other_shapes(messages: Messages, content: Any) -> None:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": content}
    (message,) = messages("iflow", [_line("user", [block])])
    text = "text" if content and content != 7 else ""
    assert message.parts == (ToolResult("c1", text, "ok"),)


def test_unknown_lines_are_counted(read: Read) -> None:
    records = read("iflow", [_line("user", "hello"), _line("poem", "x", "u2")])
    assert [r.kind for r in records if isinstance(r, Unknown)] == ["poem"]


def test_it_is_told_from_claude_code_by_its_session_ids() -> None:
    def sample(session: str) -> Sample:
        line = f'{{"parentUuid": null, "sessionId": "{session}", "type": "user"}}'
        return Sample(line.encode(), complete=True)

    assert FORMAT.detect(sample("session-1"))
    assert not CLAUDE.detect(sample("session-1"))
    assert not FORMAT.detect(sample("0a1b"))
    assert CLAUDE.detect(sample("0a1b"))
