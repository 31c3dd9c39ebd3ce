"""Claude Code's lines, one situation at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff import ContextSummary, Pass
from leftoff.api import create_context_summary
from leftoff.extraction.evidence import Called, Compacted
from leftoff.formats.claude_code import ClaudeReader
from leftoff.model import Message, ToolResult, Usage

BASE = {"sessionId": "s-1", "cwd": "/home/dev/app", "version": "2.1.0", "gitBranch": "main"}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {**BASE, "type": "user", "message": {"role": "user", "content": content}, **more}


def agent(*blocks: dict[str, Any], response: str = "m1", **more: Any) -> dict[str, Any]:
    body = {"id": response, "role": "assistant", "model": "claude-x", "content": list(blocks)}
    body |= more.pop("message", {})
    return {**BASE, "type": "assistant", "message": body, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(identity: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def result(identity: str, content: Any, *, failed: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identity, "content": content}
    return block | ({"is_error": True} if failed else {})


def fed(*lines: dict[str, Any]) -> Pass:
    reading = Pass(format="claude_code")
    for line in lines:
        reading.feed(json.dumps({"parentUuid": None, **line}).encode() + b"\n")
    return reading


def summary(*lines: dict[str, Any]) -> ContextSummary:
    return fed(*lines).summary()


def test_a_split_response_counts_once_at_its_largest() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 500, "output_tokens": 1}
    grown = usage | {"output_tokens": 90}
    got = summary(
        user("Fix the build."),
        agent(text("On it."), message={"usage": usage}, uuid="a"),
        agent(call("t1", command="ls"), message={"usage": grown}, uuid="b"),
        user([result("t1", "app.py")]),
        agent(call("t2", command="ls"), message={"usage": usage}, uuid="c"),
    )
    spend = got.context.spend
    assert (spend.input, spend.cache_read, spend.output) == (10, 500, 90)
    assert got.stats.turn_count == 1
    assert got.stats.tool_call_count == 2


def test_a_repeated_line_changes_no_number() -> None:
    lines = [
        user("Fix it.", uuid="u"),
        agent(text("I'll go with a lock file."), uuid="a", parentUuid="u"),
    ]
    once, twice = summary(*lines), summary(lines[0], lines[1], lines[1])
    assert twice.stats.message_count == once.stats.message_count == 2
    assert twice.key_decisions == once.key_decisions
    assert [i.code for i in twice.issues] == ["repeated_record"]


def test_a_compaction_has_our_figure_beside_the_recorders() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90_000, "output_tokens": 1_000}
    boundary = {
        **BASE,
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto", "preTokens": 91_010},
        "uuid": "k",
    }
    reading = fed(
        user("Start."),
        agent(text("Working."), message={"usage": usage}),
        boundary,
        user("This session is being continued from a previous conversation.", uuid="z"),
    )
    found = [e for e in reading.sessions[-1][""].evidence if isinstance(e, Compacted)]
    assert [(c.trigger, c.occupancy, c.recorded) for c in found] == [("auto", 91_005, 91_010)]
    after = reading.summary()
    assert after.context.occupancy is None
    assert len(after.user_requests) == 1


def test_subagents_are_children_not_messages() -> None:
    inner = agent(call("t9", command="rm build.log"), response="m9", uuid="x1")
    back = user([result("t9", "")], uuid="x2")
    progress: dict[str, Any] = {
        **BASE,
        "type": "progress",
        "data": {"type": "agent_progress", "agentId": "a1", "message": inner},
    }
    second = {**progress, "data": {**progress["data"], "message": back}}
    got = summary(
        user("Clean up."), agent(call("t1", "Task", prompt="clean")), progress, second, second
    )
    assert got.stats.message_count == 2
    assert got.stats.tool_call_count == 1
    assert [(c.id, c.message_count, c.tool_call_count) for c in got.session.children] == [
        ("a1", 2, 1)
    ]
    assert [(f.path, f.action) for f in got.file_modifications] == [("build.log", "deleted")]


def test_a_subagents_own_file_is_a_session() -> None:
    got = summary(
        user("Find the leak.", isSidechain=True, agentId="a7"),
        agent(text("It is in the pool."), isSidechain=True, agentId="a7"),
    )
    assert got.session.id == "a7"
    assert got.session.parent_id == "s-1"
    assert got.stats.message_count == 2


def test_a_title_of_another_sessions_leaf_is_not_ours() -> None:
    ours = {"type": "summary", "summary": "Retry uploads", "leafUuid": "u1"}
    other = {"type": "summary", "summary": "Something else", "leafUuid": "gone"}
    assert summary(other, user("Add a retry.", uuid="u1")).session.title == ""
    assert (
        summary(ours, other, user("Add a retry.", uuid="u1")).session.title == "Retry uploads"
    )


def test_client_made_lines_cost_nothing_and_say_nothing() -> None:
    got = summary(
        user("Go."),
        agent(
            text("I'll go with option B because of an API error."),
            message={"model": "<synthetic>", "usage": {"output_tokens": 9}},
            isApiErrorMessage=True,
        ),
    )
    assert got.context.spend.output == 0
    assert got.key_decisions == ()
    assert got.session.models == ()


def test_unknown_kinds_are_counted_and_named() -> None:
    got = summary(user("Go."), {"type": "hologram", "sessionId": "s-1"})
    assert got.stats.lines.unknown == 1
    assert [i.what for i in got.issues] == ["records of unknown kind 'hologram'"]


def test_odd_tool_names_and_inputs_do_no_harm() -> None:
    reading = fed(
        agent(
            call("t1", 'Task" >\n<parameter name="description'),
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": "raw text"},
            {"type": "tool_use", "id": "t3", "name": "Edit", "input": {"file_path": 7}},
            {"type": "tool_use"},
        )
    )
    names = [e.name for e in reading.sessions[-1][""].evidence if isinstance(e, Called)]
    assert len(names) == 4
    assert reading.summary().stats.tool_call_count == 4


def test_written_files_are_new_only_if_the_recorder_says_so() -> None:
    got = summary(
        agent(call("t1", "Write", file_path="/home/dev/app/a.py", content="x")),
        user([result("t1", "ok")], toolUseResult={"type": "create"}),
        agent(call("t2", "Write", file_path="/home/dev/app/b.py", content="x"), response="m2"),
        user([result("t2", "ok")], toolUseResult={"type": "update"}),
        agent(call("t3", "Edit", file_path="/home/dev/app/c.py"), response="m3"),
        user([result("t3", "<tool_use_error>no</tool_use_error>", failed=True)]),
    )
    assert [(f.path, f.action, f.certainty) for f in got.file_modifications] == [
        ("a.py", "created", "sure"),
        ("b.py", "modified", "sure"),
    ]


def test_messages_carry_what_was_recorded() -> None:
    from leftoff.extraction.collector import Collector

    seen: list[Message] = []

    class Keeping(Collector):
        def _message(self, m: Message) -> None:
            seen.append(m)
            super()._message(m)

    reading = Keeping(format="claude_code")
    line = agent(
        call("t1", command="ls"),
        uuid="a",
        parentUuid="p",
        timestamp="2026-03-01T10:00:00Z",
        message={"usage": {"input_tokens": 1, "output_tokens": 2}},
    )
    reading.feed(json.dumps(line).encode() + b"\n")
    reading.feed(json.dumps(user([result("t1", "ok")])).encode() + b"\n")
    first, second = seen
    assert (first.index, first.line, first.item) == (0, 1, None)
    assert (first.key, first.parent, first.response) == ("a", "p", "m1")
    assert first.usage == Usage(1, 2)
    assert first.cwd == "/home/dev/app"
    assert isinstance(second.parts[0], ToolResult)
    assert second.origin == "tool"


# -- stream-json and the Agent SDK ------------------------------------------------------------

STREAM: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s-2", "cwd": "/w",
     "claude_code_version": "2.1.0", "tools": []},
    {"type": "user", "message": {"role": "user", "content": "Fix the parser."}, "session_id": "s-2"},
    {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [
        call("t1", "Task", prompt="Look."), text("On it.")]}, "session_id": "s-2"},
    {"type": "user", "message": {"role": "user", "content": "Look."}, "parent_tool_use_id": "t1",
     "session_id": "s-2"},
    {"type": "assistant", "message": {"role": "assistant", "content": [text("Found.")]},
     "parent_tool_use_id": "t1", "session_id": "s-2"},
    {"type": "user", "message": {"role": "user", "content": [result("t1", "Found.")]},
     "session_id": "s-2"},
    {"type": "stream_event", "event": {"type": "message_stop"}, "session_id": "s-2"},
    {"type": "system", "subtype": "compact_boundary", "session_id": "s-2",
     "compact_metadata": {"trigger": "auto", "pre_tokens": 900}},
    {"type": "assistant", "message": {"id": "m2", "role": "assistant", "content": [text("Done.")]},
     "session_id": "s-2"},
    {"type": "result", "subtype": "success", "result": "Done.", "session_id": "s-2"},
]  # fmt: skip


def test_a_stream_and_a_list_of_sdk_messages_are_read() -> None:
    """Both were refused as files, and as a list they gave an empty summary."""
    as_lines, as_list = Pass(), Pass()
    as_lines.feed(b"".join([json.dumps(one).encode() + b"\n" for one in STREAM]))
    as_list.feed(json.dumps(STREAM).encode())
    for reading, name in ((as_lines, "claude_code"), (as_list, "claude_code_list")):
        got = reading.summary()
        assert (got.session.format, got.session.id, got.session.cwd) == (name, "s-2", "/w")
        assert [r.text for r in got.user_requests] == ["Fix the parser."]
        assert got.stats.message_count == 4
        assert got.stats.lines.unknown == 0
    assert create_context_summary(STREAM).stats.message_count == 4
    bare = [{k: one[k] for k in ("type", "message")} for one in STREAM if "message" in one]
    assert create_context_summary(bare).stats.message_count > 0


def test_the_last_line_alone_is_the_agents_words() -> None:
    """`--output-format json` writes nothing but the result."""
    reading = Pass()
    reading.feed(json.dumps(STREAM[-1]).encode() + b"\n")
    got = reading.summary()
    assert (got.session.format, got.stats.message_count) == ("claude_code", 1)


@pytest.mark.parametrize(
    "last,turn",
    [
        ({}, ("closed", "")),
        ({"is_error": True, "result": "Credit is too low"}, ("open", "Credit is too low")),
        ({"subtype": "error_max_turns", "result": None}, ("open", "error_max_turns")),
    ],
)
def test_the_last_line_of_a_stream_ends_the_turn(
    last: dict[str, Any], turn: tuple[str, str]
) -> None:
    reading = Pass()
    for line in (*STREAM[:-1], STREAM[-1] | last):
        reading.feed(json.dumps(line).encode() + b"\n")
    got = reading.summary().turn
    assert (got.status, got.failed) == turn


@pytest.mark.parametrize("name", ["bash-input", "bash-stdout", "bash-stderr"])
@pytest.mark.parametrize("piece", ["<{0}>", "</{0}>", "</{0}><bash-stderr>", "</{0}> "])
def test_marks_of_the_shell_mode_in_hostile_numbers(
    name: str, piece: str, assert_linear: Callable[..., None]
) -> None:
    def prepare(size: int) -> Callable[[], object]:
        text = f"<{name}>" + piece.format(name) * (size // 20) + "x"
        reader = ClaudeReader(running=True)
        return lambda: reader._shell_mode(text)

    assert_linear(prepare, 200_000)
