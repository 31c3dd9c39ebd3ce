"""What the person asked: which words ask for something, of which kind, done or open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.analysis.requests import (
    is_fault,
    is_request,
    kind_of_request,
    user_requests,
    wants_words,
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


def call(identity: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": identity, "name": "Bash", "input": {"command": "ls"}}]


def back(identity: str, words: str = "a.py") -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": identity, "content": words}]


def test_the_first_words_are_the_task() -> None:
    found = asked(("user", "The till is red?"), ("agent", text("Yes.")))
    assert [(r.text, r.kind, r.status) for r in found] == [("The till is red?", "task", "done")]


def test_the_last_request_is_open_while_a_call_hangs() -> None:
    hanging = asked(("user", "Add a till."), ("agent", call("t1")))
    assert [r.status for r in hanging] == ["open"]
    ended = asked(
        ("user", "Add a till."),
        ("agent", call("t1")),
        ("user", back("t1")),
        ("agent", text("Done.")),
    )
    assert [r.status for r in ended] == ["done"]


def test_injected_words_are_never_a_request() -> None:
    found = asked(
        ("user", "Add a till."),
        ("agent", text("Done.")),
        ("user", "<system-reminder>Always run the tests.</system-reminder>"),
        ("agent", text("Yes.")),
    )
    assert [r.text for r in found] == ["Add a till."]


def test_words_that_were_sent_again_count_once() -> None:
    found = asked(("user", "Add a till."), ("user", "Add a till."), ("agent", text("Done.")))
    assert len(found) == 1


def test_remarks_after_the_task_are_left_out() -> None:
    found = asked(
        ("user", "Add a till."),
        ("agent", text("Done.")),
        ("user", "the old till was nicer to look at"),
        ("agent", text("Yes.")),
        ("user", "rename it to Counter please"),
        ("agent", text("Done.")),
    )
    assert [r.text for r in found] == ["Add a till.", "rename it to Counter please"]


@pytest.mark.parametrize(
    "words",
    [
        "can you add a test for the empty cart?",
        "yes",
        "B",
        "no new dependencies please",
        "the total is still wrong",
        "we need to port the till too",
        "let's go with the second one",
        "it should be blue",
    ],
)
def test_words_that_ask_for_something(words: str) -> None:
    assert is_request(words, "prompt", 0, edited=False)


@pytest.mark.parametrize(
    "words",
    ["/help", "continue", "is it heavy?", "which till?", "well well", "hm, nice one"],
)
def test_words_that_ask_for_nothing(words: str) -> None:
    assert not is_request(words, "prompt", 0, edited=False)


def test_a_question_that_took_work_was_a_task() -> None:
    words = "is it slower than before?"
    assert not is_request(words, "prompt", 1, edited=False)
    assert is_request(words, "prompt", 9, edited=False)
    assert is_request(words, "prompt", 1, edited=True)


@pytest.mark.parametrize("via", ["answer", "rejection", "command"])
def test_words_typed_for_a_purpose_always_count(via: str) -> None:
    assert is_request("later maybe", via, 0, edited=False)


@pytest.mark.parametrize(
    ("words", "via", "kind"),
    [
        ("yes", "prompt", "approval"),
        ("go ahead", "prompt", "approval"),
        ("B", "prompt", "choice"),
        ("Postgres", "answer", "choice"),
        ("no, that's wrong, it was the other file", "prompt", "correction"),
        ("it doesn't work", "prompt", "correction"),
        ("not like this", "rejection", "correction"),
        ("never touch the lock file", "prompt", "constraint"),
        ("rename the till", "prompt", "task"),
    ],
)
def test_kinds(words: str, via: str, kind: str) -> None:
    assert kind_of_request(words, via) == kind


def test_faults_and_bare_words_are_told_apart() -> None:
    assert is_fault("The cart crashes on an empty list.")
    assert not is_fault("Add an export command.")
    assert wants_words("Add an export command.")
    assert not wants_words("yes")
    assert not wants_words("B")
