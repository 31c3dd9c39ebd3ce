"""Claims of results against the runs of checks before them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.test_checks import FAILED, PASSED, edit, run, view_of

from leftoff.analysis.milestones import milestones

Step = tuple[str, Any]
TSC = "a.ts(1,2): error TS2304: x"


def says(text: str) -> Step:
    return "says", text


def look() -> Step:
    return run("cat shop/a.py", "x = 1")


def evidence(*steps: Step) -> list[tuple[str, str]]:
    return [(m.kind, m.evidence) for m in milestones(view_of(*steps)) if m.speaker == "agent"]


@pytest.mark.parametrize(
    ("command", "output", "claim", "kind"),
    [
        ("pytest", FAILED, "All tests pass.", "tests_pass"),
        ("pytest", FAILED, "The test suite is green.", "tests_pass"),
        ("pytest", FAILED, "All 3 tests pass now.", "tests_pass"),
        ("npx tsc --noEmit", TSC, "`tsc` is clean.", "typecheck_passes"),
        ("ruff check .", "Found 2 errors.", "Lint is clean.", "lint_passes"),
        ("ruff check .", "Found 2 errors.", "`ruff check` passes.", "lint_passes"),
        ("npm run build", "error during build:", "The build succeeds.", "build_passes"),
    ],
)
def test_a_claim_right_after_a_failed_run_is_contradicted(
    command: str, output: str, claim: str, kind: str
) -> None:
    assert (kind, "contradicted") in evidence(run(command, output, 1), look(), says(claim))


def test_of_two_runs_in_one_command_the_last_decides() -> None:
    both = run("pytest; touch b; pytest | tail -1", FAILED + PASSED)
    assert ("tests_pass", "verified") in evidence(both, says("All tests pass."))


@pytest.mark.parametrize(
    "between",
    [
        edit("shop/a.py"),
        run("pytest", PASSED),
        run("pytest | tail -1", "x"),
        run("./mend.sh", ""),
    ],
)
def test_what_was_done_in_between_may_have_mended_it(between: Step) -> None:
    found = evidence(run("pytest", FAILED, 1), between, says("All tests pass."))
    assert ("tests_pass", "contradicted") not in found


@pytest.mark.parametrize(
    ("command", "output", "claim"),
    [
        ("npx playwright test", "  1 failed\n  3 passed (2s)", "The unit tests pass."),
        ("pytest", FAILED, "The new tests pass."),
        ("pytest", FAILED, "All tests pass except the flaky one."),
        ("pytest", FAILED, "2 tests pass."),
        ("pytest", FAILED, "`tests/test_reader.py` tests pass."),
        ("pytest", FAILED, "CI is green: all tests pass there."),
        ("ruff check .", "Found 2 errors.", "`mypy` is clean."),
        ("ruff check .", "Found 2 errors.", "The type check passes."),
        ("npx tsc --noEmit", TSC, "Lint is clean."),
    ],
)
def test_a_claim_about_something_else_is_not_contradicted(
    command: str, output: str, claim: str
) -> None:
    found = evidence(run(command, output, 1), says(claim))
    assert "contradicted" not in {proof for _, proof in found}


@pytest.mark.parametrize(
    "words",
    [
        "The tests pass a directory to `read`.", "All tests should pass now.", "Done.",
        "If the tests pass, I will commit.", "I'm verifying that all tests pass.",
        "### All tests pass", "- [ ] All tests pass", "Then one more full test pass before that.",
        "Do the tests pass?",
    ],
)  # fmt: skip
def test_what_is_no_claim_of_a_result_is_no_milestone(words: str) -> None:
    assert evidence(run("pytest", PASSED), says(words)) == []


def test_a_passed_run_verifies_until_a_file_is_edited() -> None:
    assert evidence(run("pytest", PASSED), says("All tests pass.")) == [
        ("tests_pass", "verified")
    ]
    assert evidence(run("pytest", PASSED), edit("a.py"), says("All tests pass.")) == [
        ("tests_pass", "claimed")
    ]


def test_a_run_of_a_part_does_not_verify_the_whole() -> None:
    found = evidence(run("pytest tests/test_a.py", PASSED), says("All tests pass."))
    assert found == [("tests_pass", "claimed")]


def test_a_milestone_names_the_run_that_decided() -> None:
    view = view_of(run("ruff check .", "x"), run("pytest", PASSED), says("All tests pass."))
    (milestone,) = milestones(view)
    assert milestone.check == 1


def test_a_bare_word_takes_the_sentence_that_follows() -> None:
    view = view_of(
        edit("shop/a.py"), run("pytest", PASSED), says("Done. The reader is faster.")
    )
    assert [m.text for m in milestones(view)] == ["Done. The reader is faster."]
