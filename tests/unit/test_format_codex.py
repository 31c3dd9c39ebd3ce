"""Codex rollouts, one situation at a time; both layouts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff import Pass
from leftoff.extraction.evidence import Ran, Returned


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-01T10:00:00Z", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **fields)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return line("event_msg", type=kind, **fields)


def said(words: str, role: str = "assistant") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": words}])


def shell(identity: str, command: str, **more: Any) -> dict[str, Any]:
    given = json.dumps({"cmd": command, **more})
    return item("function_call", name="exec_command", arguments=given, call_id=identity)


def output(identity: str, words: Any) -> dict[str, Any]:
    return item("function_call_output", call_id=identity, output=words)


META = line(
    "session_meta", id="s-1", cwd="/home/dev/app", cli_version="0.140.0", git={"branch": "x"}
)
CONTEXT = line("turn_context", cwd="/home/dev/app", model="gpt-x")


def fed(*lines: dict[str, Any]) -> Pass:
    reading = Pass(format="codex")
    for one in lines:
        reading.feed(json.dumps(one).encode() + b"\n")
    return reading


def of(reading: Pass, kind: type[Any]) -> list[Any]:
    return [e for e in reading.sessions[-1][""].evidence if isinstance(e, kind)]


def test_the_session_is_known_by_its_first_header() -> None:
    fork = line("session_meta", id="s-0", cwd="/elsewhere")
    got = fed(META, fork, CONTEXT, said("Add a flag.", "user"), said("Done.")).summary()
    assert (got.session.id, got.session.cwd, got.session.branch) == (
        "s-1",
        "/home/dev/app",
        "x",
    )
    assert got.session.models == ("gpt-x",)


@pytest.mark.parametrize(
    "words",
    [
        "<environment_context>\n<cwd>/x</cwd></environment_context>",
        "# AGENTS.md instructions for /x\n\nBe brief.",
        "<turn_aborted>The user interrupted</turn_aborted>",
        "<user_instructions>Be brief.</user_instructions>",
    ],
)
def test_injected_text_is_no_request(words: str) -> None:
    got = fed(META, said(words, "user"), said("Add a flag.", "user"), said("Done.")).summary()
    assert [r.text for r in got.user_requests] == ["Add a flag."]


def test_events_that_repeat_items_are_not_counted_again() -> None:
    got = fed(
        META,
        said("Add a flag.", "user"),
        event("user_message", message="Add a flag."),
        event("agent_message", message="Done."),
        said("Done."),
    ).summary()
    assert got.stats.message_count == 2
    assert len(got.user_requests) == 1


def test_calls_between_two_outputs_are_one_response() -> None:
    got = fed(
        META,
        said("Go.", "user"),
        said("Looking."),
        shell("c1", "ls"),
        shell("c2", "pwd"),
        output("c1", "x"),
        output("c2", "y"),
        said("Done."),
    ).summary()
    assert got.stats.turn_count == 2


def usage(total: int, last: int) -> dict[str, Any]:
    def counts(n: int) -> dict[str, int]:
        return {"input_tokens": n, "cached_input_tokens": n // 2, "output_tokens": 10}

    info = {"total_token_usage": counts(total), "last_token_usage": counts(last)}
    return event("token_count", info={**info, "model_context_window": 1000})


def test_the_last_readable_total_is_the_spend() -> None:
    got = fed(
        META,
        CONTEXT,
        said("Go.", "user"),
        said("Done."),
        usage(100, 100),
        usage(400, 300),
        usage(400, 300),
        event("token_count", info=None),
        event("token_count", info={"total_token_usage": "[REDACTED]"}),
    ).summary()
    assert got.context.spend.input == 200
    assert got.context.spend.cache_read == 200
    assert got.context.spend.by_model["gpt-x"].output == 10
    assert got.context.occupancy == 310
    assert got.context.window == 1000


def test_applied_patches_win_over_what_the_call_asked() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Add File: b.py\n*** End Patch"
    changes = {
        "/home/dev/app/a.py": {"type": "update", "unified_diff": "", "move_path": None},
        "/home/dev/app/old.py": {"type": "update", "move_path": "/home/dev/app/new.py"},
        "/home/dev/app/gone.py": {"type": "delete", "content": ""},
    }
    got = fed(
        META,
        said("Go.", "user"),
        item("custom_tool_call", name="apply_patch", input=patch, call_id="c1"),
        event("patch_apply_end", call_id="c1", success=True, changes=changes),
        item("custom_tool_call_output", call_id="c1", output="Exit code: 0\nOutput:\nSuccess."),
    ).summary()
    assert [(f.path, f.action, f.renamed_from) for f in got.file_modifications] == [
        ("a.py", "modified", ""),
        ("gone.py", "deleted", ""),
        ("new.py", "created", "old.py"),
        ("old.py", "deleted", ""),
    ]


def test_a_patch_that_was_not_applied_did_nothing() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** End Patch"
    got = fed(
        META,
        said("Go.", "user"),
        item("custom_tool_call", name="apply_patch", input=patch, call_id="c1"),
        event(
            "patch_apply_end", call_id="c1", success=False, changes={"a.py": {"type": "update"}}
        ),
        item("custom_tool_call_output", call_id="c1", output="Exit code: 1\nOutput:\nno"),
    ).summary()
    assert got.file_modifications == ()


def test_the_legacy_layout_reads_the_same() -> None:
    call = {"command": ["bash", "-lc", "git mv a b"], "timeout_ms": 1}
    lines: list[dict[str, Any]] = [
        {"id": "s-9", "timestamp": "2025-09-01T10:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {
            "type": "function_call",
            "name": "shell",
            "arguments": json.dumps(call),
            "call_id": "c1",
        },
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": '{"output":"","metadata":{"exit_code":0}}',
        },
    ]
    reading = Pass()
    for one in lines:
        reading.feed(json.dumps(one).encode() + b"\n")
    got = reading.summary()
    assert (got.session.format, got.session.id) == ("codex", "s-9")
    assert [e.command for e in of_twin(reading)] == ["git mv a b"]


def of_twin(reading: Pass) -> list[Any]:
    twin = reading.fork()
    twin.close()
    return of(twin, Ran)


def test_unknown_items_are_named() -> None:
    got = fed(META, said("Go.", "user"), item("dream"), line("omen")).summary()
    assert got.stats.lines.unknown == 2
    assert {i.what for i in got.issues} == {
        "records of unknown kind 'response_item/dream'",
        "records of unknown kind 'omen'",
    }


def test_newer_versions_tell_results_as_completed_items() -> None:
    change = {
        "type": "FileChange",
        "id": "c2",
        "changes": {"/home/dev/app/n.py": {"type": "add"}},
    }
    run = {"type": "CommandExecution", "id": "c1", "exit_code": 7}
    reading = fed(
        META,
        said("Go.", "user"),
        shell("c1", "make"),
        event("item_completed", item=run),
        output("c1", "x"),
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output="Success."),
        event("item_completed", item=change),
        event("item_completed", item={"type": "AgentMessage"}),
        event("item_completed", item=None),
    )
    assert of(reading, Returned)[0].exit_code == 7
    got = reading.summary().file_modifications
    assert [(f.path, f.action, f.tools) for f in got] == [("n.py", "created", ("apply_patch",))]


def test_a_refused_command_changes_no_file() -> None:
    """`rm` behind an unsupported call was reported as a deletion."""
    for words, deleted in (("", ["old.txt"]), ("unsupported call: exec_command", [])):
        got = fed(META, CONTEXT, said("Clean up.", "user"), shell("c1", "rm old.txt"),
                  output("c1", words)).summary()  # fmt: skip
        assert [f.path for f in got.file_modifications] == deleted
