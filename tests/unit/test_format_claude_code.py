"""Claude Code's lines, one situation at a time."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff import Pass
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
