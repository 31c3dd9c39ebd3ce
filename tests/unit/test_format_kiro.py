"""Kiro CLI conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.kiro import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import (
    Compaction,
    Message,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]

TEXT = [{"Text": "x"}]


def _entry(user: Any, assistant: Any, **more: Any) -> dict[str, Any]:
    return {"user": {"content": user, **more}, "assistant": assistant}


def _document(*entries: Any, **more: Any) -> dict[str, Any]:
    return {"conversation_id": "k-1", "history": list(entries), **more}


def _prompt(text: Any) -> dict[str, Any]:
    return {"Prompt": {"prompt": text}}


def _answer(text: str) -> dict[str, Any]:
    return {"Response": {"message_id": "a-1", "content": text}}


def _use(*uses: dict[str, Any]) -> dict[str, Any]:
    return {"ToolUse": {"message_id": "", "content": "On it.", "tool_uses": list(uses)}}


def _results(*results: dict[str, Any], kind: str = "ToolUseResults") -> dict[str, Any]:
    return {kind: {"tool_use_results": list(results)}}


def test_a_conversation(read: Read) -> None:
    use = {"id": "c1", "name": "execute_bash", "args": {"command": "make"}}
    output = {"exit_status": "0", "stdout": "built", "stderr": ""}
    back = {"tool_use_id": "c1", "content": [{"Json": output}], "status": "Success"}
    state = {"env_state": {"current_working_directory": "/w"}}
    records = read(
        "kiro",
        _document(
            _entry(_prompt("build it"), _use(use), env_context=state, timestamp="t"),
            _entry(_results(back), _answer("Built.")),
            model_info={"model_id": "model-a"},
        ),
    )
    assert records[:2] == [SessionFacts(id="k-1"), SessionFacts(cwd="/w")]
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin, m.item, m.index) for m in found] == [
        ("user", "prompt", 0, 0),
        ("assistant", "agent", 0, 1),
        ("user", "tool", 1, 2),
        ("assistant", "agent", 1, 3),
    ]
    assert found[1].parts == (
        Text("On it."),
        ToolCall("c1", "execute_bash", "shell", {"command": "make"}),
    )
    assert found[2].parts == (ToolResult("c1", "built", "ok", 0),)
    assert (found[3].model, found[3].cwd, found[3].response) == ("model-a", "/w", "a-1")
    assert found[0].time == "t"


def test_calls_without_ids_are_paired_in_order(messages: Messages) -> None:
    uses: list[dict[str, Any]] = [
        {"id": "", "name": "fs_read", "args": {}},
        {"id": "", "name": "fs_write"},
    ]
    back = {"tool_use_id": "", "content": [{"Text": "x"}], "status": "Success"}
    entries = [_entry(None, _use(*uses)), _entry(_results(back), _use(*uses))]
    found = messages("kiro", _document(*entries, _entry(_results(back), {})))
    calls = [p.id for m in found for p in m.parts if isinstance(p, ToolCall)]
    assert calls == ["call-1", "call-2", "call-3", "call-4"]
    # A call that did not come back before the next calls never will.
    backs = [p.call_id for m in found for p in m.parts if isinstance(p, ToolResult)]
    assert backs == ["call-1", "call-3"]


@pytest.mark.parametrize(
    "result, kind, status, code, text",
    [
        ({"status": "Error", "content": TEXT}, "ToolUseResults", "error", None, "x"),
        ({"status": "Error", "content": TEXT}, "CancelledToolUses", "denied", None, "x"),
        (
            {"status": "Success",
             "content": [{"Json": {"exit_status": "2", "stdout": "a", "stderr": "b"}}]},
            "ToolUseResults",
            "error",
            2,
            "a\nb",
        ),
        (
            {"status": "success", "content": [{"Json": {"found": 1}}]},
            "ToolUseResults",
            "ok",
            None,
            '{"found":1}',
        ),
        ({"content": 7}, "ToolUseResults", "error", None, ""),
    ],
)  # fmt: skip
def test_how_a_call_came_back(
    messages: Messages,
    result: dict[str, Any],
    kind: str,
    status: str,
    code: int | None,
    text: str,
) -> None:
    entry = _entry(_results({"tool_use_id": "c", **result}, kind=kind), None)
    (message,) = messages("kiro", _document(entry))
    assert message.parts == (ToolResult("c", text, status, code),)


def test_a_prompt_may_come_with_cancelled_calls(messages: Messages) -> None:
    content = {"CancelledToolUses": {"prompt": "stop, do this", "tool_use_results": [
        {"tool_use_id": "c", "content": [], "status": "Error"}]}}  # fmt: skip
    (message,) = messages("kiro", _document(_entry(content, None)))
    assert [(t.part, t.start, t.end) for t in message.typed] == [(1, 0, 13)]
    assert message.origin == "tool"


def test_a_summary_kept_beside_the_history(read: Read) -> None:
    document = _document(
        _entry(_prompt("go"), _answer("ok")), latest_summary=["All of it.", {}]
    )
    assert any(isinstance(r, Compaction) for r in read("kiro", document))


def test_every_entry_is_accounted_for(read: Read) -> None:
    odd = [
        7,
        _entry({"Poem": {}}, {"Sonnet": {}}),
        _entry("x", ["y"]),
        _entry(_prompt(7), None),
    ]
    records = read("kiro", _document(*odd, _entry(_prompt("go"), _answer("ok"))))
    kinds = [r.kind for r in records if isinstance(r, Unknown)]
    assert kinds == ["history/no object", "user/Poem", "assistant/Sonnet"]
    assert [m.item for m in records if isinstance(m, Message)] == [4, 4]


@pytest.mark.parametrize(
    "data", [b'{"conversation_id": "x", "history": []}', b'{"history": [{"user": 1}]}', b"[]"]
)
def test_other_documents_are_not_claimed(data: bytes) -> None:
    assert not FORMAT.detect(Sample(data, complete=True))
