"""Statements of one moment that later lines of the recording had changed, and cuts of secrets.

A plan that the person refused to have written stood as the plan; a question that the person had
answered was asked again; a failed test vanished behind a later line that stopped before it; a
file was "not committed" though git showed a clean tree since. The end of a long text was cut
inside a token or behind the head of a private key, so that redaction did not know the rest."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies.conversations import Call, Step
from tests.strategies.writers import WRITERS

import leftoff
from leftoff.handover.briefing import briefing
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary
from leftoff.text.truncation import ends, tail

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
BODY = "\n".join(("Qm9va2tlZXBpbmc7dGlsbHM" * 3)[n : n + 60] for n in range(9))
KEY = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----"


def _of(tmp_path: Path, *steps: Step) -> ContextSummary:
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    path.write_bytes(WRITERS["claude_code"](list(steps)))
    return leftoff.summarize(path)


def _write(text: str, *, failed: bool = False) -> Call:
    given = {"file_path": "/w/docs/plan.md", "content": text}
    said = "The person refused this." if failed else "File created successfully"
    return Call("c1", "Write", given, said, failed)


def test_a_plan_that_was_refused_is_no_plan(tmp_path: Path) -> None:
    asked = Step("user", "Plan the till.")
    plan = "# The till\n\n- [ ] add the table of tills\n"
    written = _of(tmp_path, asked, Step("agent", "", (_write(plan),)), Step("agent", "Done."))
    assert "table of tills" in (written.working_set.task or pytest.fail("no task")).line
    refused = _of(
        tmp_path, asked, Step("agent", "", (_write(plan, failed=True),)), Step("agent", "Done.")
    )
    assert not refused.working_set.task


def test_a_plan_whose_file_is_deleted_is_not_shown(tmp_path: Path) -> None:
    remove = Call("c2", "Bash", {"command": "rm docs/plan.md"}, "")
    plan = _write("# The till\n\nAdd the table of tills.\n")
    steps = [Step("user", "Plan the till."), Step("agent", "", (plan,))]
    assert "table of tills" in briefing(_of(tmp_path, *steps, Step("agent", "Done.")))
    later = briefing(
        _of(tmp_path, *steps, Step("agent", "", (remove,)), Step("agent", "Done."))
    )
    assert "Plan or ticket" not in later


def test_a_question_that_was_answered_is_not_left_open(tmp_path: Path) -> None:
    push = Call("c1", "Bash", {"command": "git push origin main"}, "Everything up-to-date")
    steps = [
        Step("user", "Add the export."),
        Step("agent", "Added the export. Do you want me to push the branch to origin now?"),
    ]
    assert any("push the branch" in step.text for step in _of(tmp_path, *steps).next_steps)
    summary = _of(tmp_path, *steps, Step("user", "yes, push it"), Step("agent", "", (push,)))
    assert not any("push the branch" in step.text for step in summary.next_steps)
    assert "push the branch" not in summary.turn.question


def test_a_failed_test_stands_until_it_ran_again(tmp_path: Path) -> None:
    command = {"command": "ruff check . && mypy src && pytest -q"}
    steps = [
        Step("user", "Mend the till."),
        Step(
            "agent",
            "",
            (
                Call(
                    "c1",
                    "Bash",
                    command,
                    "All checks passed!\n"
                    "Success: no issues found in 3 source files\nFAILED test_till.py::test_total\n"
                    "1 failed, 3 passed in 0.12s",
                    True,
                ),
            ),
        ),
        Step(
            "agent",
            "",
            (
                Call(
                    "c2",
                    "Bash",
                    command,
                    "All checks passed!\n"
                    'till.py:3: error: Name "x" is not defined\n'
                    "Found 1 error in 1 file (checked 3 source files)",
                    True,
                ),
            ),
        ),
    ]
    shown = leftoff.render(_of(tmp_path, *steps), "text")
    assert "pytest failed" in shown


def test_a_file_is_not_called_uncommitted_after_a_clean_tree(tmp_path: Path) -> None:
    status = "On branch main\nnothing to commit, working tree clean"
    edit = Call("c1", "Write", {"file_path": "/w/a.py", "content": "x = 1\n"}, "File created")
    steps = [Step("user", "Add a.py."), Step("agent", "", (edit,))]
    (before,) = _of(tmp_path, *steps).file_modifications
    assert before.committed is False
    look = Call("c2", "Bash", {"command": "git status"}, status)
    (after,) = _of(tmp_path, *steps, Step("agent", "", (look,))).file_modifications
    assert after.committed is None


@given(st.integers(0, 120), st.sampled_from([TOKEN, KEY]), st.integers(40, 400))
@example(60, KEY, 200)
def test_no_end_of_a_text_holds_part_of_a_secret(words: int, secret: str, limit: int) -> None:
    text = "The till is done. " * words + f"Here it is: {secret}\n\nThat is all. Shall I go on?"
    text += " It runs well." * (words % 30)
    pieces = [line[:24] for line in BODY.splitlines()] if secret == KEY else [TOKEN[8:24]]
    for cut in (tail(text, limit), ends(text, limit)):
        redacted = Redactor().text(cut)
        assert not any(piece in redacted for piece in pieces)
