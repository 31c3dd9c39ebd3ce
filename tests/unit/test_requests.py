"""What the person asked: which words ask for something, of which kind, done or open."""

from __future__ import annotations

import json
from typing import Any

from leftoff.analysis.requests import (
    user_requests,
)
from leftoff.extraction.collector import Collector
from leftoff.session_view import SessionView
from leftoff.summary import UserRequest


def asked(*lines: tuple[str, Any]) -> tuple[UserRequest, ...]:
    """The requests of a session of ("user" | "agent", content) lines."""
    written = [
        {
            "type": "user" if who == "user" else "assistant",
            "uuid": f"u{number}",
            "sessionId": "s",
            "message": {
                "id": f"r{number}",
                "role": "user" if who == "user" else "assistant",
                "content": content,
            },
        }
        for number, (who, content) in enumerate(lines)
    ]
    fold = Collector("test", "claude_code")
    fold.feed(b"".join(json.dumps(line).encode() + b"\n" for line in written))
    fold.close()
    return user_requests(SessionView(fold.sessions[-1][""]))


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def back(identity: str, words: str = "a.py") -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": identity, "content": words}]


def edit(identity: str) -> list[dict[str, Any]]:
    given = {"file_path": "/srv/till.py", "old_string": "a", "new_string": "b"}
    return [{"type": "tool_use", "id": identity, "name": "Edit", "input": given}]


WORK = (("agent", edit("e1")), ("user", back("e1", "The file has been updated.")))


def test_a_task_is_done_where_the_work_shows_and_the_turn_ended() -> None:
    def statuses(*lines: tuple[str, Any]) -> list[str]:
        return [r.status for r in asked(("user", "Add a till."), *lines)]

    assert statuses(*WORK) == ["open"]
    assert statuses(*WORK, ("agent", text("Done."))) == ["done"]
    assert statuses(*WORK, ("agent", text("Half of it is still missing."))) == ["answered"]
    assert statuses(*WORK, ("agent", text("Let me run the tests."))) == ["open"]
    assert statuses(*WORK, ("user", text("[Request interrupted by user]"))) == ["interrupted"]


def test_an_interrupted_task_that_goes_on_is_open_until_its_turn_ends() -> None:
    lines = [("user", "Add a till."), *WORK, ("user", text("[Request interrupted by user]"))]
    assert [r.status for r in asked(*lines, ("user", "rename it instead"))] == [
        "interrupted", "open",
    ]  # fmt: skip
    lines.append(("user", "continue"))
    assert [(r.kind, r.status) for r in asked(*lines)] == [
        ("task", "open"), ("approval", "open"),
    ]  # fmt: skip
    assert asked(*lines, ("agent", text("Done.")))[0].status == "done"
