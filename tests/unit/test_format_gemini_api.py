"""Gemini API histories: lists of role and parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.gemini_api import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import (
    Compaction,
    Media,
    Message,
    Reasoning,
    Record,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _said(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"file_path": "a.py"}, **more}}


def _back(name: str, response: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **more}}


def test_a_history(messages: Messages) -> None:
    found = messages(
        "gemini_api",
        [
            _said("user", {"text": "<session_context>\nToday is a day.\n</session_context>"}),
            _said("model", {"text": "Got it. Thanks for the additional context!"}),
            _said("user", {"text": "read it"}),
            _said("model", {"text": "hm", "thought": True}, _call("read_file", id="c1")),
            _said("user", _back("read_file", {"output": "x = 1"}, id="c1")),
            _said("model", {"text": "It sets x.", "thoughtSignature": "s"}),
        ],
    )
    assert [m.origin for m in found] == ["injected", "meta", "prompt", "agent", "tool", "agent"]
    assert [m.item for m in found] == [0, 1, 2, 3, 4, 5]
    assert found[3].parts == (
        Reasoning("hm"),
        ToolCall("c1", "read_file", "read", {"file_path": "a.py"}),
    )
    assert found[4].parts == (ToolResult("c1", "x = 1", "ok"),)
    assert [m.response for m in found] == ["", "r1", "", "r3", "", "r5"]


def test_calls_without_ids_are_paired_in_order(messages: Messages) -> None:
    found = messages(
        "gemini_api",
        [
            _said("model", _call("read_file"), _call("replace"), _call("read_file")),
            _said(
                "user", _back("read_file", {"output": "1"}), _back("replace", {"error": "0"})
            ),
            _said("user", _back("read_file", {"output": "2"})),
        ],
    )
    calls = [p.id for p in found[0].parts if isinstance(p, ToolCall)]
    back = [p for m in found[1:] for p in m.parts if isinstance(p, ToolResult)]
    assert calls == ["call-1", "call-2", "call-3"]
    assert [(b.call_id, b.text, b.status) for b in back] == [
        ("call-1", "1", "ok"),
        ("call-2", "0", "error"),
        ("call-3", "2", "ok"),
    ]


@pytest.mark.parametrize(
    "response, status, code",
    [
        ({"error": "[Operation Cancelled] Reason: User denied execution."}, "denied", None),
        ({"error": "[Operation Cancelled]"}, "interrupted", None),
        ({"output": "Output: x\nExit Code: 1\nProcess Group PGID: 9"}, "error", 1),
        ({"output": "Output: x\nProcess Group PGID: 9"}, "ok", 0),
        ({"output": "Output: x\nSignal: 9\nProcess Group PGID: 9"}, "ok", None),
        ({"content": [{"type": "text", "text": "y"}]}, "ok", None),
        ({"output": ""}, "ok", None),
        (None, "unknown", None),
    ],
)
def test_how_a_call_came_back(
    messages: Messages, response: Any, status: str, code: int | None
) -> None:
    call = _call("run_shell_command", id="c")
    back = _back("run_shell_command", response, id="c")
    result = messages("gemini_api", [_said("model", call), _said("user", back)])[1].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.status, result.exit_code) == ("c", status, code)


def test_a_state_snapshot_is_a_compaction(read: Read) -> None:
    words = "<state_snapshot>\n<goal/>\n</state_snapshot>"
    snapshot = _said("user", {"text": words}, {"text": "go on"})
    mark, message = read("gemini_api", [snapshot])
    assert isinstance(mark, Compaction)
    assert isinstance(message, Message)
    assert (mark.item, message.origin, message.typed) == (0, "compaction", ())


@pytest.mark.parametrize("key", ["history", "clientHistory"])
def test_a_checkpoint_holds_the_list_under_a_key(messages: Messages, key: str) -> None:
    (message,) = messages("gemini_api", {"toolCall": {}, key: [_said("user", {"text": "go"})]})
    assert (message.text, message.item) == ("go", 0)


def test_every_item_is_accounted_for(read: Read) -> None:
    odd = [_said("system", {"text": "x"}), 7, {"parts": []}]
    good = [_said("user", "bare text", {"inlineData": {"mimeType": "image/png"}}, 5)] * 4
    records = read("gemini_api", [*odd, *good])
    kinds = [r.kind for r in records if isinstance(r, Unknown)]
    assert kinds == ["role/system", "role/no object", "role/"]
    assert [m.parts for m in records if isinstance(m, Message)] == [
        (Text("bare text"), Media("image/png"))
    ] * 4


@pytest.mark.parametrize(
    "data",
    [
        b'[{"role": "user", "content": "chat"}]',
        b'[{"role": "assistant", "parts": []}]',
        b'{"history": [{"role": "user", "content": "x"}]}',
        b'{"history": 7}',
        b"[]",
        b"{}",
    ],
)
def test_other_lists_are_not_claimed(data: bytes) -> None:
    assert not FORMAT.detect(Sample(data, complete=True))
