"""Whose turn it is at the end of a recording."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.analysis.turns import turn_state
from leftoff.extraction.collector import Collector
from leftoff.extraction.requests import last_question, option_text
from leftoff.session_view import SessionView
from leftoff.summary import TurnState


def ended(*lines: tuple[str, Any, str | None]) -> TurnState:
    """The state after ("user" | "assistant" | "error", content, stop reason) lines."""
    reading = Collector("test", "claude_code")
    for number, (who, content, stop) in enumerate(lines):
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message = {"id": f"r{number}", "role": who, "content": blocks, "stop_reason": stop}
        line: dict[str, Any] = {"type": who, "uuid": f"u{number}", "sessionId": "s"}
        if who == "error":
            line |= {"type": "assistant", "isApiErrorMessage": True}
        reading.feed(json.dumps(line | {"message": message}).encode() + b"\n")
    reading.close()
    return turn_state(SessionView(reading.sessions[-1][""]))


def call(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "t1", "name": name, "input": given}]


ASK = ("user", "Add a till.", None)
LOOK = ("assistant", call("Bash", {"command": "ls"}), None)
BACK = ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}], None)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((ASK,), "open"),
        ((ASK, LOOK), "open"),
        ((ASK, LOOK, BACK), "open"),
        ((ASK, LOOK, BACK, ("assistant", "It has a till now.", None)), "closed"),
        ((ASK, LOOK, BACK, ("assistant", "Let me add it.", None)), "open"),
        ((ASK, ("assistant", "Let me know what you think.", "end_turn")), "closed"),
        ((ASK, ("assistant", "It is there.", "tool_use")), "open"),
        ((ASK, LOOK, ("user", "[Request interrupted by user]", None)), "interrupted"),
        (
            (
                ASK,
                ("assistant", "It has a till now.", None),
                ("user", "<system-reminder>Be brief.</system-reminder>", None),
            ),
            "closed",
        ),
        ((ASK, ("assistant", call("ExitPlanMode", {"plan": "Add it."}), None)), "closed"),
        ((ASK, ("assistant", call("attempt_completion", {"result": "Done"}), None)), "closed"),
    ],
)
def test_who_is_to_speak_next(
    lines: tuple[tuple[str, Any, str | None], ...], status: str
) -> None:
    assert ended(*lines).status == status


def test_the_agents_question_is_shown() -> None:
    said = "Both work.\n\nWhich one do you want?\n\n1. a red one\n2. a blue one"
    assert ended(ASK, ("assistant", said, None)).question == "Which one do you want?"
    given = {"questions": [{"question": "Which colour?", "options": []}]}
    waiting = ended(ASK, ("assistant", call("AskUserQuestion", given), None))
    assert (waiting.status, waiting.question) == ("closed", "Which colour?")


def test_a_limit_of_the_provider_is_no_end_of_a_turn() -> None:
    found = ended(ASK, LOOK, BACK, ("error", "API Error: 529 overloaded", None))
    assert (found.status, found.failed) == ("open", "API Error: 529 overloaded")
    said = ended(ASK, ("assistant", "You've hit your session limit · resets 3pm", None))
    assert (said.status, bool(said.failed)) == ("open", True)


def test_words_that_end_turns_here_end_the_last_one_too() -> None:
    """A recorder that leaves calls out writes "Let me ..." in front of the next prompt."""
    lines = [ASK, ("assistant", "Let me add it.", None)] * 3
    assert ended(*lines).status == "closed"


@pytest.mark.parametrize(("words", "status"), [("It has a till.", "closed"), ("", "open")])
def test_a_turn_that_the_client_ends_without_a_word_answers_nothing(
    words: str, status: str
) -> None:
    said = {"type": "message", "role": "assistant", "content": [{"text": words}]}
    typed = {"type": "message", "role": "user", "content": [{"text": "Add a till."}]}
    reading = Collector("test", "codex")
    for kind, payload in (
        ("event_msg", {"type": "task_started"}),
        ("response_item", typed),
        ("event_msg", {"type": "user_message", "message": "Add a till."}),
        *([("response_item", said)] if words else []),
        ("event_msg", {"type": "task_complete"}),
    ):
        reading.feed(json.dumps({"type": kind, "payload": payload}).encode() + b"\n")
    reading.close()
    assert turn_state(SessionView(reading.sessions[-1][""])).status == status


@pytest.mark.parametrize(
    ("tail", "question"),
    [
        ("Done.", ""),
        ("Is it red? No: the lamp was on. So I left it as it was, and the tests pass now.", ""),
        ("I added it. **Shall I push?**", "Shall I push?"),
        ("Done. Let me know which of the two you prefer.", "which of the two"),
    ],
)
def test_last_question(tail: str, question: str) -> None:
    found = last_question(tail)
    assert question in found
    assert bool(found) == bool(question)


def test_option_text() -> None:
    tail = "Options:\n- **A)** one table\n- **B)** a table for each tenant\n"
    assert option_text(tail, "B") == "a table for each tenant"
    assert option_text(tail, "let's go with option A") == "one table"
    assert option_text(tail, "1. it is slow") == ""
    table = (
        "Which one?\n\n| Option | Text |\n|---|---|\n| A | one file |\n| **B** | two files |"
    )
    assert option_text(table, "B - if they stay small") == "two files"
    assert option_text(tail, "be quick") == ""
