"""Errors and what fixed them, findings, to-do lists and what is left to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.analysis.insights import errors, key_findings, next_steps, to_dos
from leftoff.extraction.collector import Collector
from leftoff.session_view import SessionView


def story(*lines: tuple[str, Any]) -> SessionView:
    """A session of ("user" | "agent", content) lines."""
    written = [
        {
            "type": "user" if who == "user" else "assistant",
            "uuid": f"u{number}",
            "sessionId": "s",
            "message": {
                "id": f"r{number}",
                "role": "user" if who == "user" else "assistant",
                "content": [{"type": "text", "text": content}]
                if who == "agent" and isinstance(content, str)
                else content,
            },
        }
        for number, (who, content) in enumerate(lines)
    ]
    fold = Collector("test", "claude_code")
    fold.feed(b"".join(json.dumps(line).encode() + b"\n" for line in written))
    fold.close()
    return SessionView(fold.sessions[-1][""])


def call(identity: str, name: str, **given: Any) -> tuple[str, Any]:
    return "agent", [{"type": "tool_use", "id": identity, "name": name, "input": given}]


def back(identity: str, words: str, *, failed: bool = False) -> tuple[str, Any]:
    part = {
        "type": "tool_result",
        "tool_use_id": identity,
        "content": words,
        "is_error": failed,
    }
    return "user", [part]


def test_an_error_names_the_line_that_tells_and_whether_it_worked_later() -> None:
    found = errors(
        story(
            ("user", "Build it."),
            call("1", "Bash", command="make"),
            back("1", "cc cart.c\ncart.c:3: error: no such type\nmake: stopped", failed=True),
            call("2", "Bash", command="make"),
            back("2", "ok"),
            call("3", "Bash", command="make install"),
            back("3", "install: cannot write", failed=True),
        )
    )
    assert [(e.text, e.tool, e.fixed) for e in found] == [
        ("cart.c:3: error: no such type", "Bash", True),
        ("install: cannot write", "Bash", False),
    ]


@pytest.mark.parametrize(
    "output, line",
    [
        ("<tool_use_error>File does not exist.</tool_use_error>", "File does not exist."),
        ("### Error\nTypeError: cart is not iterable\nOutput:\n---", "TypeError: cart is not iterable"),
        ("Exit code 1\nFAIL\ncart_test.go:51: sync failed: closed\nFAIL", "cart_test.go:51: sync failed: closed"),
        (
            (
            'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n'
            "    raise ValueError(error)\nKeyError: 'id'\n\nDuring handling:\nValueError: no cart"
            ),
            "ValueError: no cart",
        ),
        ("Command exited with code 1", "Command exited with code 1"),
        ("ok  \tcart\t0.1s\n--- FAIL: TestRead (0.00s)\nFAIL\tcart", "--- FAIL: TestRead (0.00s)"),
        ("var a=1;" * 200 + "error\nsh: 1: jq: not found", "sh: 1: jq: not found"),
        ("Validation failed for tool:\n  - path: invalid value", "- path: invalid value"),
    ],
)  # fmt: skip
def test_the_line_that_says_what_went_wrong(output: str, line: str) -> None:
    view = story(
        ("user", "Go."), call("1", "Bash", command="x"), back("1", output, failed=True)
    )
    assert [e.text for e in errors(view)] == [line]


def test_what_an_editor_refused_is_its_first_line_whatever_it_quotes() -> None:
    words = "String to replace not found in file.\nString: raise ValueError: bad"
    view = story(
        ("user", "Go."),
        call("1", "Edit", file_path="a.py", old_string="a", new_string="b"),
        back("1", words, failed=True),
    )
    assert [e.text for e in errors(view)] == ["String to replace not found in file."]


def test_a_call_that_was_not_made_is_no_error() -> None:
    words = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    view = story(("user", "Go."), call("1", "Bash", command="x"), back("1", words, failed=True))
    assert errors(view) == ()


def test_an_error_that_was_fixed_says_by_what_and_where() -> None:
    view = story(
        ("user", "Build it."),
        call("1", "Bash", command="make"),
        back("1", "cart.c:3: error: no such type", failed=True),
        call("2", "Edit", file_path="/w/cart.c", old_string="a", new_string="b"),
        back("2", "ok"),
        call("3", "Bash", command="make"),
        back("3", "done"),
    )
    (found,) = errors(view)
    assert (found.fixed, found.fixed_by) == (True, "changes to /w/cart.c")
    assert found.fixed_ref is not None
    assert found.fixed_ref.message == 5


def test_the_same_error_is_counted_once() -> None:
    again = [
        step
        for n in ("1", "2")
        for step in (call(n, "Bash", command="make"), back(n, "fatal: no rule", failed=True))
    ]
    (only,) = errors(story(("user", "Build it."), *again))
    assert only.count == 2


def test_findings_are_kept_once_and_questions_are_none() -> None:
    found = key_findings(
        story(
            ("user", "Look into it."),
            ("agent", "Turns out the flag is read twice. Turns out the flag is read twice."),
            ("agent", "Is the root cause a stale lock file, perhaps?"),
        )
    )
    assert [f.text for f in found] == ["Turns out the flag is read twice."]


def todo(*items: tuple[str, str]) -> dict[str, Any]:
    return {"todos": [{"content": words, "status": status} for words, status in items]}


def test_the_last_list_stands_and_what_is_going_on_comes_first() -> None:
    told = story(
        ("user", "Do it."),
        call("1", "TodoWrite", **todo(("Read", "in_progress"), ("Write", "pending"))),
        back("1", "ok"),
        call(
            "2",
            "TodoWrite",
            **todo(("Read", "completed"), ("Test", "pending"), ("Write", "in_progress")),
        ),
        back("2", "ok"),
        ("agent", "Working on it."),
    )
    assert [(words, status) for words, status, _ in to_dos(told)] == [
        ("Read", "completed"),
        ("Test", "pending"),
        ("Write", "in_progress"),
    ]
    assert [step.text for step in next_steps(told)] == ["Write", "Test"]


def test_numbered_items_are_followed_by_their_number() -> None:
    told = story(
        ("user", "Do it."),
        call("1", "TaskCreate", subject="Wire the till"),
        back("1", "Task #7 created"),
        call("2", "TaskUpdate", taskId="7", status="completed"),
        back("2", "ok"),
        ("agent", "Good."),
    )
    assert [(words, status) for words, status, _ in to_dos(told)] == [
        ("Wire the till", "completed")
    ]


@pytest.mark.parametrize(
    "words",
    ["Still to do: the Windows path.", "Next: wire the exporter.", "Not pushed yet."],
)
def test_what_the_last_words_leave_open(words: str) -> None:
    found = next_steps(story(("user", "Do it."), ("agent", f"Good. {words}")))
    assert [(step.text, step.status) for step in found] == [(words, "said")]


@pytest.mark.parametrize(
    "words",
    [
        "If the pump stops, you have to fill it by hand.",
        "All clean, only the pre-existing warnings.",
        "Each uncommitted row has a number.",
        "You want to build a kettle:\n\n- a red one\n- a blue one",
    ],
)
def test_what_names_no_work_is_no_step(words: str) -> None:
    assert next_steps(story(("user", "Do it."), ("agent", f"Good. {words}"))) == ()


def test_the_lists_below_a_heading_are_steps_whatever_was_typed_since() -> None:
    words = (
        "It boils.\n\n### Next steps\n\n**Remaining** (any order):\n- Polish the lid\n- Sell it"
    )
    lines: list[tuple[str, Any]] = [("user", "Do it."), ("agent", words)]
    found = next_steps(
        story(*lines, ("user", "Hm."), ("user", "One moment."), ("user", "Yes?"))
    )
    assert [s.text for s in found if s.status == "said"] == ["Polish the lid", "Sell it"]


def test_what_was_left_open_long_ago_is_old_news() -> None:
    lines = [("user", "Do it."), ("agent", "Still to do: the Windows path.")]
    later = [
        ("user", "And the rest."),
        ("agent", "Good."),
        ("user", "Thanks, now the docs."),
        ("agent", "Good."),
    ]
    assert next_steps(story(*lines, *later)) == ()


def test_what_was_put_off_stays() -> None:
    lines = [("user", "Do it."), ("agent", "The Windows path is deferred to the next change.")]
    later = [
        ("user", "And the rest."),
        ("agent", "Good."),
        ("user", "Thanks, now the docs."),
        ("agent", "Good."),
    ]
    assert [s.status for s in next_steps(story(*lines, *later))] == ["agreed"]


def test_a_push_settles_what_was_not_pushed() -> None:
    told = story(
        ("user", "Do it."),
        ("agent", "Not pushed yet."),
        call("1", "Bash", command="git push"),
        back("1", "   1a2b3c4..5d6e7f8  main -> main"),
        ("agent", "There."),
    )
    assert next_steps(told) == ()


@pytest.mark.parametrize(
    "failed, error, worked, fixed, by",
    [
        ("git push", "fatal: no upstream branch", "git push -u origin cart", True, "git push -u origin cart"),
        ("od -Z cart.bin", "od: illegal option -- Z", "od -c cart.bin", True, "od -c cart.bin"),
        ("git add out/a && git commit -m a", "fatal: out/a is ignored", "git add b && git commit -m b", None, ""),
        ("curl http://a.test/1", "curl: no route", "curl http://b.test/2", False, ""),
        ("go test ./cart", "cart_test.go:5: wrong", "go test ./shop", None, ""),
        ("make ship", "ship: no such rule", "ls", False, ""),
    ],
)  # fmt: skip
def test_corrected_arguments_mend_and_other_arguments_leave_it_open(
    failed: str, error: str, worked: str, fixed: bool | None, by: str
) -> None:
    view = story(
        ("user", "Go."),
        call("1", "Bash", command=failed),
        back("1", error, failed=True),
        call("2", "Edit", file_path="/w/a.py", old_string="a", new_string="b"),
        back("2", "ok"),
        call("3", "Bash", command=worked),
        back("3", "ok"),
        call("4", "Edit", file_path="/w/b.py", old_string="a", new_string="b"),
        back("4", "ok"),
    )
    (found,) = errors(view)
    assert (found.fixed, found.fixed_by) == (fixed, by)


def test_an_edit_that_failed_may_be_mended_by_any_later_one() -> None:
    view = story(
        ("user", "Go."),
        call("1", "Edit", file_path="/w/a.py", old_string="a", new_string="b"),
        back("1", "String to replace not found in file.", failed=True),
        call("2", "Write", file_path="/w/a.py", content="b"),
        back("2", "ok"),
        call("3", "Edit", old_string="a", new_string="b"),
        back("3", "The file was not read.", failed=True),
        call("4", "Edit", old_string="a", new_string="b"),
        back("4", "ok"),
    )
    assert [e.fixed for e in errors(view)] == [True, None]


def test_what_the_person_denied_is_not_decided() -> None:
    from leftoff.analysis.decisions.select import key_decisions

    denied = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    view = story(
        ("user", "Store the rows."),
        ("agent", "I'll add a new file `rowstore.py` for the row cache instead of the dict."),
        call("1", "Write", file_path="/w/rowstore.py", content="x"),
        back("1", denied, failed=True),
        ("user", "No. Keep it in the table."),
        ("agent", "I'll use the table `rows.py` for that, since it is loaded already."),
        call("2", "Edit", file_path="/w/rows.py", old_string="a", new_string="b"),
        back("2", "ok"),
    )
    found = {d.text[:20]: d.status for d in key_decisions(view, 0.0) if d.owner == "agent"}
    assert found == {"I'll add a new file ": "reversed", "I'll use the table `": "made"}
