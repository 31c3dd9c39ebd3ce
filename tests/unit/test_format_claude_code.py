"""Claude Code's lines, one situation at a time."""

import json
from typing import Any

from leftoff import Pass
from leftoff.extraction.evidence import Compacted

BASE = {"sessionId": "s-1", "cwd": "/home/dev/app", "version": "2.1.0", "gitBranch": "main"}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {**BASE, "type": "user", "message": {"role": "user", "content": content}, **more}


def agent(*blocks: dict[str, Any], response: str = "m1", **more: Any) -> dict[str, Any]:
    body = {"id": response, "role": "assistant", "model": "claude-x", "content": list(blocks)}
    body |= more.pop("message", {})
    return {**BASE, "type": "assistant", "message": body, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


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
