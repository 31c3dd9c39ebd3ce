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
from leftoff.analysis.standing import rules_in
from leftoff.evaluation.predictions import _is_directive as is_directive
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
    assert [(r.text, r.kind, r.status) for r in found] == [
        ("The till is red?", "task", "answered")
    ]


def test_the_last_request_is_open_while_a_call_hangs() -> None:
    hanging = asked(("user", "Add a till."), ("agent", call("t1")))
    assert [r.status for r in hanging] == ["open"]
    ended = asked(
        ("user", "Add a till."),
        ("agent", call("t1")),
        ("user", back("t1")),
        ("agent", text("Done.")),
    )
    assert [r.status for r in ended] == ["answered"]  # nothing shows that it was added


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


def test_a_task_whose_fault_is_reported_again_is_not_done() -> None:
    lines = [("user", "Add a till."), *WORK, ("agent", text("Done."))]
    assert asked(*lines, ("user", "It still fails with an error."))[0].status == "answered"
    assert asked(*lines, ("user", "Now add a lid."))[0].status == "done"


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


def test_a_task_is_withdrawn() -> None:
    found = asked(("user", "Add a till."), ("agent", text("Where?")), ("user", "never mind"))
    assert [r.status for r in found] == ["withdrawn", "open"]


def test_everything_typed_is_there_as_what_it_is() -> None:
    found = asked(
        ("user", "Add a till."),
        ("agent", text("Done.")),
        ("user", "the old till was nicer to look at"),
        ("agent", text("Yes.")),
        ("user", "which one is heavier?"),
        ("agent", text("This one.")),
        ("user", "rename it to Counter please"),
        ("agent", text("Done.")),
        ("user", "/review the till"),
    )
    assert [(r.text, r.kind) for r in found] == [
        ("Add a till.", "task"),
        ("the old till was nicer to look at", "remark"),
        ("which one is heavier?", "question"),
        ("rename it to Counter please", "task"),
        ("/review the till", "command"),
    ]
    assert [is_directive(r) for r in found] == [True, False, False, True, True]


def test_an_answer_stands_with_its_question() -> None:
    found = asked(
        ("user", "Add a till."),
        ("agent", text("Which colour?\n\nA) a light red\nB) a dark red")),
        ("user", "B"),
        ("agent", text("Done. Want me to add a drawer as well?")),
        ("user", "yes"),
    )
    assert [(r.text, r.kind, r.question) for r in found[1:]] == [
        ("B", "choice", "Which colour? [B: a dark red]"),
        ("yes", "approval", "Want me to add a drawer as well?"),
    ]


def test_rules_inside_a_prompt_are_constraints_of_their_own() -> None:
    words = (
        "Port the till to the new API.\n\nNever use pandas. It may be slow.\n\n"
        "Rules:\n- names stay in English\n- one class for each file\n\n"
        "Do not:\n- touch the schema\n- push\n"
    )
    found = asked(("user", words), ("agent", text("Done.")))
    assert found[0].kind == "task"
    assert [(r.kind, r.text) for r in found[1:]] == [
        ("constraint", "Never use pandas."),
        ("constraint", "names stay in English"),
        ("constraint", "one class for each file"),
        ("constraint", "Do not:\n- touch the schema\n- push"),
    ]
    for rule in found[1:]:
        assert words[rule.ref.start : rule.ref.end] == rule.text


@pytest.mark.parametrize(
    "words",
    [
        "Why don't you push?",
        "We don't use a queue here, so the till waits.",
        "I don't know why it is red. Look at it.",
        "```\nnever = 1\n# do not touch\n```\nWhat does it do?",
    ],
)
def test_these_words_hold_no_rule(words: str) -> None:
    assert rules_in(words) == []


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


def test_a_commit_is_no_push() -> None:
    def session(command: str, output: str) -> tuple[UserRequest, ...]:
        run = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}]
        return asked(
            ("user", "push it please"),
            ("agent", run),
            ("user", back("t1", output)),
            ("agent", text("There.")),
        )

    commit = "[main 1a2b3c4] Add a till\n 1 file changed, 2 insertions(+)"
    assert session("git commit -m 'Add a till'", commit)[0].status == "answered"
    push = "To https://git.example/till.git\n   1a2b3c4..5d6e7f8  main -> main"
    assert session("git push", push)[0].status == "done"


def test_a_setting_of_the_client_is_never_unfinished() -> None:
    found = asked(("user", "Add a till."), ("agent", text("Hm.")), ("user", "/model small"))
    assert [(r.kind, r.status) for r in found][-1] == ("command", "answered")
