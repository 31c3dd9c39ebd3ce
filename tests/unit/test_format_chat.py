"""Plain message lists, seed 001's messages, and our own lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import leftoff
from leftoff import ContextSummary, FormatError, Message, Pass, Text, ToolCall, ToolResult
from leftoff.analysis.seed001 import format_context_summary
from leftoff.api import (
    create_context_summary,
    extract_key_decisions,
    extract_progress,
    track_file_modifications,
)
from leftoff.formats import native
from leftoff.formats.vocabulary import argument, kind_of, text_argument, tool_of
from leftoff.model import SessionFacts, Usage


def summary(value: Any) -> ContextSummary:
    reading = Pass()
    reading.feed(json.dumps(value).encode())
    return reading.summary()


OPENAI = [
    {"role": "system", "content": "You are a careful engineer."},
    {"role": "user", "content": "Rename the flag in cli.py."},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {
            "name": "edit_file", "arguments": '{"path": "cli.py", "old_str": "a", "new_str": "b"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    {"role": "assistant", "content": "Done."},
]  # fmt: skip
ANTHROPIC = [
    {"role": "user", "content": "Rename the flag in cli.py."},
    {"role": "assistant", "content": [
        {"type": "text", "text": "On it."},
        {"type": "tool_use", "id": "c1", "name": "Edit", "input": {"file_path": "cli.py"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
]  # fmt: skip
SEED = [
    {"type": "user", "content": [{"type": "text", "text": "Rename the flag in cli.py."}]},
    {"type": "assistant", "content": [
        {"type": "text", "text": "On it."},
        {"type": "tool_use", "toolName": "Edit", "toolInput": {"file_path": "cli.py"}}]},
    {"type": "user", "content": [{"type": "tool_result", "toolName": "Edit", "toolResult": "ok"}]},
    {"type": "assistant", "content": [{"type": "text", "text": "Done."}]},
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (OPENAI, "chat"),
        ({"messages": OPENAI, "model": "m"}, "chat"),
        (ANTHROPIC, "chat"),
        (SEED, "agent_messages"),
    ],
)
def test_three_dialects_say_the_same(value: Any, name: str) -> None:
    got = summary(value)
    assert got.session.format == name
    assert [r.text for r in got.user_requests] == ["Rename the flag in cli.py."]
    assert [(f.path, f.action) for f in got.file_modifications] == [("cli.py", "modified")]
    assert got.stats.tool_call_count == 1


@pytest.mark.parametrize(
    ("messages", "name"),
    [(OPENAI, "chat_lines"), (ANTHROPIC, "chat_lines"), (SEED, "agent_message_lines")],
)
def test_one_message_on_each_line_reads_the_same(messages: list[Any], name: str) -> None:
    reading = Pass()
    reading.feed("".join(json.dumps(m) + "\n" for m in messages).encode())
    got = reading.summary()
    assert got.session.format == name
    assert got.user_requests[0].ref.item is None
    assert [(f.path, f.action) for f in got.file_modifications] == [("cli.py", "modified")]


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": [None, 7, {"type": "image"}]},
        {"role": "assistant", "content": "x", "tool_calls": "none"},
        {"role": "assistant", "content": "x", "tool_calls": [None, {"function": 3}, {}]},
        {"role": "tool", "content": None},
        {"role": "user", "content": {"type": "text", "text": "y"}},
        {"role": "user", "content": [{"type": "tool_result"}]},
    ],
)
def test_odd_messages_never_raise(odd: dict[str, Any]) -> None:
    assert summary([*OPENAI, odd]).stats.message_count == len(OPENAI) + 1


def test_usage_in_both_dialects() -> None:
    openai = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 60},
    }
    spoken = [OPENAI[1], {"role": "assistant", "content": "x", "usage": openai}]
    assert summary(spoken).context.spend.cache_read == 60
    assert summary(spoken).context.spend.input == 40
    anthropic = {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5}
    spoken = [OPENAI[1], {"role": "assistant", "content": "x", "usage": anthropic}]
    assert summary(spoken).context.occupancy == 12


# -- seed 001's functions ---------------------------------------------------------------------


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC, SEED])
def test_the_seeds_functions_take_lists(messages: list[Any]) -> None:
    got = create_context_summary(messages)
    assert got.stats.message_count == len(messages)
    assert extract_key_decisions(messages) == got.key_decisions
    assert extract_progress(messages) == got.progress
    assert track_file_modifications(messages) == got.file_modifications
    assert format_context_summary(got) == got.formatted


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"type": "user", "content": None}],
        [{"type": "assistant", "content": []}],
        [{"role": "user", "content": "\ud800"}],
        [{"role": "user", "content": float("nan")}],
    ],
)
def test_empty_and_null_contents_never_raise(messages: list[Any]) -> None:
    got = create_context_summary(messages)
    assert got.key_decisions == ()
    assert got.stats.tool_call_count == 0


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ([1], "type int"),
        (["x"], "type str"),
        ([{}], "an empty dict"),
        ([None, 3, "x"], "type int"),
        ([{"words": "Fix it."}], "keys 'words'"),
        ([Message(0, "user", (Text("Fix it."),)), {"role": "user"}], "beside leftoff.Message"),
    ],
)
def test_a_list_without_a_message_is_refused_in_words(messages: list[Any], named: str) -> None:
    """Such lists gave an empty summary without an issue, so that a caller who passed the wrong
    values read that nothing had happened in the session."""
    with pytest.raises(FormatError, match=re.escape(named)):
        create_context_summary(messages)


def test_recorded_lines_as_dicts_give_the_summary_of_the_file() -> None:
    """The lines of a recording, decoded by the caller, gave an empty summary."""
    path = Path(__file__).parents[2] / "corpora/sessions/claude_code/prorate.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    got, file = create_context_summary(lines), leftoff.summarize(path)
    assert got.session.format == "claude_code_list"
    counts = ("message_count", "turn_count", "tool_call_count", "estimated_tokens")
    assert [getattr(got.stats, n) for n in counts] == [getattr(file.stats, n) for n in counts]
    assert [d.text for d in got.key_decisions] == [d.text for d in file.key_decisions]


def test_messages_of_ours_are_taken_too() -> None:
    messages = [
        Message(0, "user", (Text("Rename the flag."),), origin="prompt"),
        Message(1, "assistant", (Text("Done."),)),
    ]
    assert create_context_summary(messages).stats.message_count == 2


# -- our own lines ----------------------------------------------------------------------------


def test_our_own_lines_come_back_as_they_were() -> None:
    messages = [
        Message(0, "user", (Text("Rename it."),), line=2, origin="prompt", key="u", time="2026-01-01"),
        Message(1, "assistant", (Text("On it."), ToolCall("c1", "Bash", "shell", {"command": "ls"})),
                line=3, key="a", parent="u", response="r", model="m", usage=Usage(1, 2, 3, 4)),
        Message(2, "tool", (ToolResult("c1", "x", "error", 2),), line=4, origin="tool"),
    ]  # fmt: skip
    data = native.write(messages, SessionFacts(id="s", cwd="/w"))
    seen: list[Message] = []

    class Keeping(Pass):
        def _message(self, m: Message) -> None:
            seen.append(m)
            super()._message(m)

    reading = Keeping()
    reading.feed(data)
    got = reading.summary()
    assert (got.session.format, got.session.id, got.session.cwd) == ("leftoff", "s", "/w")
    assert [m.parts for m in seen] == [m.parts for m in messages]
    assert seen[1].usage == Usage(1, 2, 3, 4)
    assert [(m.key, m.parent, m.response, m.model) for m in seen] == [
        (m.key, m.parent, m.response, m.model) for m in messages
    ]


# -- the vocabulary ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Bash", "shell"),
        ("exec_command", "shell"),
        ("mcp__fs__write_file", "create"),
        ("mcp__issues__list_teams", "other"),
        ("apply_patch", "patch"),
        ("TodoWrite", "plan"),
        ("no_such_tool", "other"),
        ("", "other"),
    ],
)
def test_tools_have_kinds(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_arguments_are_found_by_role() -> None:
    edit = ToolCall("c", "Edit", "edit", {"file_path": "a", "old_string": "x"})
    assert text_argument(edit, "path") == "a"
    assert argument(edit, "content") is None
    assert (
        text_argument(ToolCall("c", "apply_patch", "patch", "*** Begin"), "patch")
        == "*** Begin"
    )
    shell = {"command": ["bash", "-lc", "ls -l"]}
    assert text_argument(ToolCall("c", "shell", "shell", shell), "command") == "ls -l"
    argv = {"command": ["rm", "a b"]}
    assert text_argument(ToolCall("c", "shell", "shell", argv), "command") == "rm 'a b'"
    assert text_argument(ToolCall("c", "shell", "shell", {"command": 7}), "command") == ""
    assert tool_of("nothing").arguments == {}
