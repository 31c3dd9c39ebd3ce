"""The events of `codex exec --json`, one situation at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff import codec
from leftoff.formats.codex_exec import FORMAT, CodexExecReader, Event
from leftoff.formats.reader import Cursor, Sample, detect
from leftoff.model import (
    Changes,
    Message,
    NewSession,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    TokenCount,
    ToolCall,
    ToolResult,
    Turn,
    Unknown,
    Usage,
)

THREAD = {"type": "thread.started", "thread_id": "th-1"}


def item(event: str, kind: str, identity: str = "item_1", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": {"id": identity, "type": kind, **fields}}


def command(
    event: str, status: str, code: int | None = None, words: str = ""
) -> dict[str, Any]:
    return item(
        event, "command_execution", command="/bin/bash -lc 'ls -l'", aggregated_output=words,
        exit_code=code, status=status,
    )  # fmt: skip


def read(*events: dict[str, Any]) -> list[Record]:
    """The records; the reader is put aside after every line."""
    reader, cursor, found = CodexExecReader(), Cursor(), []
    for event in events:
        cursor.line += 1
        cursor.raw = json.dumps(event).encode()
        records, _ = codec.LineDecoder(Event).decode(cursor.raw)
        found += [r for record in records for r in reader.read(record, cursor)]
        reader = codec.unpack_state(codec.pack_state(reader), CodexExecReader)
    return found


def messages(*events: dict[str, Any]) -> list[Message]:
    return [r for r in read(*events) if isinstance(r, Message)]


def test_a_command_is_a_call_at_its_start_and_a_result_at_its_end() -> None:
    found = messages(command("started", "in_progress"), command("completed", "failed", 2, "no"))
    assert [(m.role, m.line, m.parts) for m in found] == [
        ("assistant", 1, (ToolCall("item_1", "shell", "shell", {"command": ["bash", "-lc", "ls -l"]}),)),
        ("tool", 2, (ToolResult("item_1", "no", "error", 2),)),
    ]  # fmt: skip


def test_a_command_that_only_completes_has_its_call_too() -> None:
    assert [m.role for m in messages(command("completed", "completed", 0))] == [
        "assistant",
        "tool",
    ]


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ("completed", 0, "ok"),
        ("failed", 1, "error"),
        ("failed", None, "error"),
        ("declined", None, "denied"),
        ("declined", -1, "denied"),
        ("odd", None, "unknown"),
    ],
)
def test_outcomes(status: str, code: int | None, expected: str) -> None:
    result = messages(command("completed", status, code))[1].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.status, result.exit_code) == (expected, code)


@pytest.mark.parametrize(("status", "succeeded"), [("completed", True), ("failed", False)])
def test_changes_of_files(status: str, succeeded: bool) -> None:
    given = [
        {"path": "a.py", "kind": "add"},
        {"path": "b.py", "kind": "delete"},
        {"kind": "add"},
    ]
    records = read(item("completed", "file_change", changes=given, status=status))
    (found,) = [r for r in records if isinstance(r, Changes)]
    assert found.files == (("a.py", "created", ""), ("b.py", "deleted", ""))
    assert (found.call_id, found.succeeded) == ("item_1", succeeded)


def test_words_thoughts_and_errors_have_their_owners() -> None:
    found = messages(
        item("completed", "reasoning", text="Hm."),
        item("completed", "agent_message", text="Done."),
        item("completed", "error", message="a setting is deprecated"),
        {"type": "error", "message": "stream lost"},
        {"type": "turn.failed", "error": {"message": "no credit"}},
    )
    assert [(m.role, m.origin, m.parts[0]) for m in found] == [
        ("assistant", "agent", Reasoning("Hm.")),
        ("assistant", "agent", Text("Done.")),
        ("system", "meta", Text("a setting is deprecated")),
        ("system", "meta", Text("stream lost")),
        ("system", "meta", Text("no credit")),
    ]
    assert found[0].response == found[1].response


def test_a_failed_call_of_a_server_says_why() -> None:
    given: dict[str, Any] = {
        "server": "docs",
        "tool": "search",
        "arguments": {"q": "x"},
        "result": None,
    }
    found = messages(
        item("completed", "mcp_tool_call", **given, error={"message": "down"}, status="failed")
    )
    call = found[0].parts[0]
    assert isinstance(call, ToolCall)
    assert (call.name, call.input) == ("mcp__docs__search", {"q": "x"})
    assert found[1].parts[0] == ToolResult("item_1", "down", "error")


def test_a_plan_is_a_call_of_update_plan() -> None:
    (found,) = messages(
        item("updated", "todo_list", items=[{"text": "a", "completed": True}, {"text": "b"}])
    )
    (call,) = found.parts
    assert isinstance(call, ToolCall)
    assert (call.kind, call.input) == (
        "plan",
        {"plan": [{"step": "a", "status": "completed"}, {"step": "b", "status": "pending"}]},
    )


def test_ids_of_items_begin_anew_in_each_run() -> None:
    """A second run in one file has an `item_1` of its own; another thread is another session."""
    records = read(
        THREAD, command("completed", "completed", 0), THREAD, command("completed", "failed", 1),
        {"type": "thread.started", "thread_id": "th-2"},
    )  # fmt: skip
    ids = [p.call_id for r in records if isinstance(r, Message) for p in r.parts
           if isinstance(p, ToolResult)]  # fmt: skip
    assert ids == ["item_1", "item_1@2"]
    assert [r for r in records if isinstance(r, (NewSession, SessionFacts))] == [
        SessionFacts(id="th-1"),
        SessionFacts(id="th-1"),
        NewSession("th-2"),
        SessionFacts(id="th-2"),
    ]


def test_usage_is_the_running_total() -> None:
    usage = {"input_tokens": 90, "cached_input_tokens": 80, "output_tokens": 7}
    found, ended = read({"type": "turn.completed", "usage": usage})
    assert found == TokenCount(Usage(), Usage(10, 7, 80))
    assert read({"type": "turn.completed", "usage": None}) == [ended]


def test_what_became_of_a_turn() -> None:
    failure = {"type": "turn.failed", "error": {"message": "no credit"}}
    records = read({"type": "turn.started"}, failure, {"type": "turn.completed"})
    assert [r for r in records if isinstance(r, Turn)] == [
        Turn("started"),
        Turn("failed", "no credit"),
        Turn("ended"),
    ]


def test_unknown_events_are_named() -> None:
    assert read({"type": "thread.paused"}) == [Unknown("thread.paused")]


@pytest.mark.parametrize(
    ("line", "mine"),
    [
        (THREAD, True),
        (item("started", "web_search"), True),
        ({"type": "item.completed", "item": "x"}, False),
        ({"type": "turn.started"}, False),
        ({"type": "response_item", "payload": {}}, False),
    ],
)
def test_detection(line: dict[str, Any], mine: bool) -> None:
    sample = Sample(json.dumps(line).encode() + b"\n", complete=True)
    assert FORMAT.detect(sample) is mine
    if mine:
        found = detect(sample)
        assert found is not None
        assert found.name == "codex_exec"
