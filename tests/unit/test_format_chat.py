"""Plain message lists, seed 001's messages, and our own lines."""

import json
from pathlib import Path

import leftoff
from leftoff import Message, Pass, Text, ToolCall, ToolResult
from leftoff.api import create_context_summary
from leftoff.formats import native
from leftoff.model import SessionFacts, Usage

# -- seed 001's functions ---------------------------------------------------------------------


def test_recorded_lines_as_dicts_give_the_summary_of_the_file() -> None:
    """The lines of a recording, decoded by the caller, gave an empty summary."""
    path = Path(__file__).parents[2] / "corpora/sessions/claude_code/prorate.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    got, file = create_context_summary(lines), leftoff.summarize(path)
    assert got.session.format == "claude_code_list"
    counts = ("message_count", "turn_count", "tool_call_count", "estimated_tokens")
    assert [getattr(got.stats, n) for n in counts] == [getattr(file.stats, n) for n in counts]
    assert [d.text for d in got.key_decisions] == [d.text for d in file.key_decisions]


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
