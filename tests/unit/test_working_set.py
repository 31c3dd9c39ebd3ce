"""What whoever goes on would have to find out again: commands, names, variables, last words."""

from __future__ import annotations

import json
from typing import Any

import leftoff
from leftoff.summary import WorkingSet

Message = dict[str, Any]

PASSED = "===== 3 passed in 0.11s ====="
FAILED = "===== 1 failed, 2 passed in 0.12s ====="


def call(name: str, output: str, **arguments: Any) -> list[Message]:
    """A call of a tool and its result, exit code 0 unless the output says otherwise."""
    call.number = getattr(call, "number", 0) + 1  # type: ignore[attr-defined]
    key = f"c{call.number}"  # type: ignore[attr-defined]
    made = {
        "id": key,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return [
        {"role": "assistant", "content": "", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": key, "content": output},
    ]


def working(*messages: Message) -> WorkingSet:
    return leftoff.create_context_summary(
        [{"role": "user", "content": "Go on."}, *messages]
    ).working_set


def test_checks_are_kept_as_they_last_ended() -> None:
    bad = call("bash", FAILED, command="pytest -q tests/a.py")
    found = working(
        *call("bash", PASSED, command="pytest -q"),
        *call("bash", PASSED, command="pytest -q"),
        *bad,
        *call("bash", "x", command="cat notes.txt"),
        *call("bash", "x", command="ruff check ."),
    ).commands
    assert [(c.text, c.kind, c.count, c.passed) for c in found] == [
        ("ruff check .", "lint", 1, None),
        ("pytest -q tests/a.py", "test", 1, False),
        ("pytest -q", "test", 2, True),
    ]


def test_scripts_and_commands_that_do_more_are_no_checks() -> None:
    found = working(
        *call("bash", "ok", command="pytest -q && git commit -am x"),
        *call("bash", "ok", command="python - <<'E'\nprint(1)\nE"),
        *call("bash", "ok", command="pytest " + "a" * 400),
    )
    assert found.commands == ()


def test_names_of_variables_and_never_their_values() -> None:
    found = working(
        *call("bash", "ok", command='API_TOKEN=secret123 ./run --to "$DEPLOY_TARGET" $HOME'),
        *call("bash", "ok", command="export LOG_LEVEL=debug"),
    )
    assert found.variables == ("API_TOKEN", "DEPLOY_TARGET", "LOG_LEVEL")


def test_names_that_come_up_often_and_late_are_first() -> None:
    found = working(
        {"role": "assistant", "content": "I decided to keep parse_rows in src/rows.py."},
        *call("edit", "ok", path="src/rows.py", old_str="a", new_str="parse_rows(rowCount)"),
        {"role": "assistant", "content": "I'll let parse_rows fail early instead."},
    ).names
    names = [n.text for n in found]
    assert names[0] == "parse_rows"
    assert {"src/rows.py", "rowCount"} <= set(names)
    assert found[0].count == 3
    assert not {"I", "decided", "keep"} & set(names)


def test_prose_with_a_slash_is_no_name() -> None:
    found = working(
        {"role": "assistant", "content": "I'll use read/write and/or e.g. a pipe to /dev/null."}
    )
    assert found.names == ()


def test_the_last_words_and_the_latest_sentences() -> None:
    found = working(
        {"role": "assistant", "content": "I'll use a queue instead of a lock for uploads."},
        {"role": "assistant", "content": "Done. Two files are still missing."},
    )
    assert found.last_words.text == "Done. Two files are still missing."
    assert found.last_words.message == 2
    assert any("queue" in words.text for words in found.recent)
