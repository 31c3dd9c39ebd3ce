"""Stages, milestones and their evidence, the percentage: on small sessions of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff.analysis.activities import of_command, of_edit
from leftoff.analysis.progress import percentage, progress
from leftoff.extraction.collector import Collector
from leftoff.session_view import SessionView
from leftoff.summary import ProgressInfo

Step = tuple[str, Any]


def user(text: str) -> Step:
    return "user", text


def says(text: str) -> Step:
    return "says", text


def runs(command: str, output: str = "", *, failed: bool = False) -> Step:
    return "call", ("Bash", {"command": command}, output, failed)


def edits(path: str) -> Step:
    given = {"file_path": path, "old_string": "a", "new_string": "b"}
    return "call", ("Edit", given, "The file has been updated.", False)


def reads(path: str) -> Step:
    return "call", ("Read", {"file_path": path}, "1\tx", False)


def story(*steps: Step) -> SessionView:
    """A session of these steps; each of the agent's is a turn of its own."""
    lines: list[dict[str, Any]] = []
    for number, (kind, value) in enumerate(steps):
        key = {"uuid": f"u{number}", "sessionId": "s", "cwd": "/home/ann/shop"}
        if kind == "user":
            content: Any = value
            lines.append(
                {**key, "type": "user", "message": {"role": "user", "content": content}}
            )
            continue
        if kind == "says":
            content = [{"type": "text", "text": value}]
        else:
            name, given, _, _ = value
            content = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": given}]
        said = {"id": f"r{number}", "role": "assistant", "content": content}
        lines.append({**key, "type": "assistant", "message": said})
        if kind == "call":
            _, _, output, failed = value
            part = {
                "type": "tool_result",
                "tool_use_id": f"t{number}",
                "content": output,
                "is_error": failed,
            }
            back = {**key, "uuid": f"b{number}", "type": "user"}
            lines.append({**back, "message": {"role": "user", "content": [part]}})
    fold = Collector("test", "claude_code")
    fold.feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    fold.close()
    return SessionView(fold.sessions[-1][""])


def judged(*steps: Step) -> ProgressInfo:
    return progress(story(*steps))


def kinds(found: ProgressInfo) -> list[tuple[str, str]]:
    return [(m.kind, m.evidence) for m in found.milestones]


PASSED = "=== 12 passed in 0.30s ==="
FAILED = "=== 1 failed, 11 passed in 0.30s ==="


# -- milestones and their evidence -------------------------------------------------------------


def test_a_claim_is_verified_by_what_the_runner_printed() -> None:
    found = judged(
        user("Add a field."), edits("a.py"), runs("pytest", PASSED), says("All tests pass.")
    )
    assert ("tests_pass", "verified") in kinds(found)


def test_a_claim_without_a_run_is_only_claimed() -> None:
    found = judged(user("Add a field."), edits("a.py"), says("All tests pass."))
    assert ("tests_pass", "claimed") in kinds(found)


def test_a_claim_against_the_last_run_is_contradicted() -> None:
    found = judged(user("Add a field."), runs("pytest", FAILED), says("All tests pass."))
    assert ("tests_pass", "contradicted") in kinds(found)


def test_an_edit_after_the_run_takes_the_evidence_away() -> None:
    found = judged(
        user("Add a field."), runs("pytest", PASSED), edits("a.py"), says("All tests pass.")
    )
    assert ("tests_pass", "claimed") in kinds(found)


def test_a_failing_run_after_the_words_does_not_contradict_them() -> None:
    """Words are judged by what was known when they were said."""
    found = judged(
        user("Add a field."),
        runs("pytest", PASSED),
        says("All tests pass."),
        runs("pytest -x", FAILED),
    )
    assert ("tests_pass", "verified") in kinds(found)


def test_one_output_with_a_pass_and_a_failure_failed() -> None:
    output = "--- FAIL: TestCart (0.00s)\nFAIL\texample.com/cart\t0.01s\nok  \texample.com/till\t0.02s"
    found = judged(user("Go on."), runs("go test ./...", output), says("The tests pass."))
    assert ("tests_pass", "contradicted") in kinds(found)


@pytest.mark.parametrize(
    "text",
    [
        "The tests should pass now.",
        "Do the tests pass?",
        "The tests do not pass yet.",
        "Let me make sure the tests pass.",
        "Once the tests pass I will commit.",
        "I'll run them until all tests pass.",
        "We could make the build pass by pinning it.",
        "It passes the cart to the till.",
        "The password test is new.",
    ],
)
def test_hopes_negations_and_questions_are_no_milestones(text: str) -> None:
    assert kinds(judged(user("Add a field."), runs("ls"), says(text))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`go test ./...` passes.", {"tests_pass"}),
        ("Build, lint and tests are all green.", {"tests_pass", "build_passes", "lint_passes"}),
        ("mypy is clean.", {"typecheck_passes"}),
        ("ruff is clean.", {"lint_passes"}),
        ("`flake8` passes.", {"lint_passes"}),
        ("It compiles.", {"build_passes"}),
        ("Released 1.2.0.", {"released"}),
        ("Committed and pushed.", {"committed", "pushed"}),
        ("Pushed.\n\nThe branch is up to date.", {"pushed"}),
        ("Opened a pull request for the reader.", {"pr_opened"}),
        ("Deployed to staging.", {"deployed"}),
        ("The reviewer found no new bugs.", {"review_passed"}),
    ],
)
def test_each_kind_is_told_from_the_words(text: str, expected: set[str]) -> None:
    found = judged(user("Go on with it then."), runs("make all"), says(text))
    assert {kind for kind, _ in kinds(found)} - {"task_done"} == expected


def test_the_same_claim_counts_again_only_after_another_run() -> None:
    steps = [user("Add a field."), runs("pytest", PASSED), says("All tests pass.")]
    again = says("As said, all tests pass.")
    assert len(kinds(judged(*steps, again))) == 1
    assert len(kinds(judged(*steps, edits("a.py"), runs("pytest", PASSED), again))) == 2


def test_a_commit_nobody_mentioned_is_still_a_milestone() -> None:
    found = judged(
        user("Save it."), runs("git commit -m x", "[main 3f2a1bc] x\n 1 file changed")
    )
    assert ("committed", "verified") in kinds(found)


@pytest.mark.parametrize(
    ("asked", "said", "kind"),
    [
        (
            "The cart crashes on an empty list.",
            "Fixed. An empty list is no crash any more.",
            "bug_fixed",
        ),
        (
            "Implement the export command.",
            "Done. I've implemented the export command.",
            "feature_done",
        ),
        ("Update the README.", "Done. The README names the command now.", "task_done"),
    ],
)
def test_a_request_ends_in_one_way(asked: str, said: str, kind: str) -> None:
    found = judged(user(asked), edits("shop.py"), says(said))
    assert [m.kind for m in found.milestones] == [kind]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Yep, good idea. I added a dry run to the uploader.", "feature_done"),
        ("Sure — I renamed the flag in the README.", "task_done"),
        ("All review comments addressed.", "task_done"),
        ("All callers are now updated.", "task_done"),
    ],
)
def test_an_end_may_stand_behind_an_answer_or_be_told_of_all(said: str, kind: str) -> None:
    found = judged(user("Change the uploader."), edits("/home/ann/shop/a.py"), says(said))
    assert [k for k, _ in kinds(found)] == [kind]


def test_what_the_recorder_puts_in_ends_the_turn_before_it() -> None:
    """A command's text is typed by nobody: what was said before it closed its request all the
    same, and what is done after it is other work."""
    order = "<command-name>/review</command-name>\nReview the change."
    found = judged(
        user("The upload crashes on an empty name."),
        edits("/home/ann/shop/a.py"),
        says("I fixed both and added a guard."),
        user(order),
        reads("/home/ann/shop/a.py"),
        says("It reads well."),
    )
    assert [k for k, _ in kinds(found)] == ["bug_fixed"]


def test_done_in_the_middle_of_the_work_ends_nothing() -> None:
    found = judged(user("Update the README."), edits("a.py"), says("Done."), edits("b.py"))
    assert kinds(found) == []


# -- what the last edit and test run say ---------------------------------------------------------


def test_tests_older_than_the_last_edit_are_told() -> None:
    run, edit = runs("pytest", PASSED), edits("a.py")
    assert judged(user("Add it."), edit, run).tests_older_than_last_edit is False
    assert judged(user("Add it."), run, edit).tests_older_than_last_edit is True
    assert judged(user("Add it."), edit).tests_older_than_last_edit is None


# -- stages ------------------------------------------------------------------------------------


def stages(found: ProgressInfo) -> list[str]:
    return [change.stage for change in found.timeline]


def test_reading_editing_checking_and_delivering_follow_each_other() -> None:
    found = judged(
        user("Implement the export command with a format option."),
        *[reads(f"{n}.py") for n in range(6)],
        *[edits(f"{n}.py") for n in range(14)],
        *[runs("pytest", PASSED) for _ in range(4)],
        runs("git commit -m x", "[main 3f2a1bc] x"),
        runs("git push", "   1a2b3c4..5d6e7f8  main -> main"),
        says("Committed and pushed."),
    )
    assert stages(found) == ["planning", "implementation", "testing", "deployment"]
    assert found.current_stage == "deployment"
    assert found.completed_stages == ("planning", "implementation", "testing")


def test_one_test_run_inside_the_work_is_no_change() -> None:
    work = [edits(f"{n}.py") for n in range(5)]
    found = judged(user("Implement it."), *work, runs("pytest", PASSED), *work)
    assert stages(found) == ["implementation"]


def test_a_short_mending_is_testing_until_it_is_cleared() -> None:
    found = judged(
        user("Implement the export."),
        *[edits(f"{n}.py") for n in range(5)],
        says("Done."),
        user("It crashes on an empty cart."),
        reads("a.py"),
        edits("a.py"),
        says("Fixed."),
    )
    assert stages(found) == ["implementation", "testing"]


def test_an_ordered_review_is_review() -> None:
    found = judged(
        user("Implement the export."),
        *[edits(f"{n}.py") for n in range(4)],
        user("Please review the changes on this branch."),
        runs("git diff main"),
        reads("a.py"),
        reads("b.py"),
        says("No defects found."),
    )
    assert stages(found) == ["implementation", "review"]


FAULT = (
    "The rounding of a sum is wrong: 344 comes out where 345 is right. "
    + "Please find out where it happens and mend it. " * 30
)


def test_a_script_that_shows_the_fault_is_testing_at_once() -> None:
    steps = [user(FAULT), reads("/home/ann/shop/a.py")]
    assert judged(*steps).current_stage == "planning"
    steps.append(edits("/home/ann/shop/repro.py"))
    assert judged(*steps).current_stage == "testing"


def test_a_script_that_tries_the_change_is_testing_at_once() -> None:
    steps = [user(FAULT), *[reads("/home/ann/shop/a.py")] * 3, edits("/home/ann/shop/a.py")]
    assert judged(*steps).current_stage == "implementation"
    steps.append(runs("python repro.py", "345"))
    assert judged(*steps).current_stage == "testing"


def test_the_answer_to_a_review_is_implementation_from_its_first_turn() -> None:
    review = [
        user("Review the last change."),
        *[runs("git diff", "+x")] * 3,
        says("Two faults."),
    ]
    assert judged(*review).current_stage == "review"
    assert judged(*review, user("Yes, go."), says("On it.")).current_stage == "implementation"


def test_a_short_order_to_deliver_is_deployment_from_its_first_turn() -> None:
    work = [user("Add a flag."), *[edits("/home/ann/shop/a.py")] * 4, says("Added.")]
    sent = judged(*work, user("commit and push"), runs("git status", "M a.py"))
    assert sent.current_stage == "deployment"


def test_reading_what_a_reviewer_wrote_is_planning_before_anything_is_changed() -> None:
    found = judged(user("Take up the review feedback on the parser."), reads("/home/ann/a.py"))
    assert found.current_stage == "planning"


def test_a_marker_outranks_what_the_tools_did() -> None:
    found = judged(
        user("Implement the export."),
        edits("a.py"),
        says("Stage: testing"),
        reads("a.py"),
        reads("b.py"),
        reads("c.py"),
    )
    assert found.current_stage == "testing"
    assert found.declared_stage == "testing"


def test_a_marker_in_the_persons_words_counts_and_one_in_a_reminder_does_not() -> None:
    work = [edits(f"{n}.py") for n in range(4)]
    assert judged(user("Stage: review"), *work).declared_stage == "review"
    reminder = "<system-reminder>Stage: review</system-reminder>"
    assert judged(user("Go."), user(reminder), *work).declared_stage == ""


def test_a_declared_stage_is_completed() -> None:
    found = judged(user("Go."), says("Planning completed."), *[edits("a.py") for _ in range(4)])
    assert found.completed_stages == ("planning",)


@pytest.mark.parametrize("cut", range(1, 9))
def test_every_beginning_of_a_session_has_a_current_stage(cut: int) -> None:
    steps = [user("Add it."), reads("a"), edits("a.py"), runs("pytest", FAILED), says("Hm."),
             user("Go on."), edits("a.py"), runs("pytest", PASSED), says("Done.")]  # fmt: skip
    found = judged(*steps[: cut + 1])
    assert found.current_stage
    assert found.progress_percentage in {None, 100}


# -- the percentage ------------------------------------------------------------------------------


OPEN_LIST = ["completed", "completed", "in_progress", "pending"]


def test_the_percentage_is_the_share_of_a_list_that_has_open_items() -> None:
    assert percentage(OPEN_LIST, finished=False, shown=True) == 50
    assert percentage(["pending"] * 3, finished=False, shown=False) == 0


def test_all_is_done_only_when_nothing_is_open_and_something_shows_it() -> None:
    assert percentage([], finished=True, shown=True) == 100
    assert percentage(["completed"], finished=True, shown=True) == 100
    assert percentage(["completed"], finished=False, shown=True) is None
    assert percentage([], finished=True, shown=False) is None
    assert percentage([], finished=False, shown=True) is None


def test_a_commit_after_green_checks_is_all_and_a_failed_run_is_nothing_that_can_be_said() -> (
    None
):
    """A session that had committed stood at 5 %, one whose last run failed at 95 %."""
    commit = "[main 3f2a1bc] Add the export\n 1 file changed"
    steps = [user("Add it."), edits("a.py"), runs("pytest", PASSED)]
    sent = judged(*steps, runs("git commit -am x", commit), says("The export is there."))
    assert sent.progress_percentage == 100
    bad = judged(*steps, runs("pytest", FAILED), says("One test fails."))
    assert bad.progress_percentage is None


@pytest.mark.parametrize(
    "words", ["Implementation completed.", "The implementation is done.", "Done with implementation."]
)  # fmt: skip
def test_a_stage_is_finished_by_the_words_of_the_agent(words: str) -> None:
    found = judged(user("Add it."), *[edits("a.py") for _ in range(4)], says(words))
    assert "implementation" in found.completed_stages


@pytest.mark.parametrize(
    "words",
    ["Once testing is done we can ship.", "Testing is done by the other team.", "Testing is not done."],
)  # fmt: skip
def test_conditions_and_denials_finish_no_stage(words: str) -> None:
    found = judged(user("Add it."), *[edits("a.py") for _ in range(4)], says(words))
    assert "testing" not in found.completed_stages


# -- activities ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd src && python -m pytest -q", ("test",)),
        ("npm run test:ci", ("test",)),
        ("mise run lint", ("lint",)),
        ("npm run build", ("build",)),
        ("git add . && git commit -m 'run the test'", ("commit",)),
        ("git -C /srv/shop push origin main", ("push",)),
        ("gh pr create --title x", ("pull_request",)),
        ("gh pr view 3 --comments", ("read_pull_request",)),
        ("cat a.py | head -5", ("look",)),
        ("grep -rn pytest src", ("search",)),
        ("python reproduce.py", ("run_scratch",)),
        ("kubectl apply -f web.yaml", ("deploy",)),
        ("sed -i s/a/b/ a.py", ("edit",)),
        ("echo 'git push'", ("look",)),
    ],
)
def test_a_command_is_known_by_its_programs(command: str, expected: tuple[str, ...]) -> None:
    assert of_command(command) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/cart.py", "edit"),
        ("tests/test_cart.py", "edit_test"),
        ("README.md", "edit_doc"),
        ("/tmp/try.py", "edit_scratch"),
    ],
)
def test_an_edit_is_known_by_its_path(path: str, expected: str) -> None:
    assert of_edit(path) == expected


# -- places and declared stages ------------------------------------------------------------------


def test_a_system_message_declares_the_stage_and_a_list_of_stages_does_not() -> None:
    import leftoff

    def of(words: str) -> str:
        return leftoff.create_context_summary(
            [
                {"role": "system", "content": words},
                {"role": "user", "content": "Go on."},
                {"role": "assistant", "content": "I read on."},
            ]
        ).progress.declared_stage

    assert of("Current stage: implementation") == "implementation"
    assert of("Stage: planning\nStage: testing\nStage: review") == ""
    assert of("You are on stage: left") == ""


def test_changes_of_stage_carry_the_place_in_the_recording() -> None:
    found = judged(user("Add it."), *[edits("a.py") for _ in range(4)], says("Done."))
    assert [change.ref.line for change in found.timeline] == [2]


def test_a_stage_that_begins_with_a_word_of_no_weight_points_at_what_comes_after_it() -> None:
    found = judged(user("Add it."), says("Hm."), *[edits("a.py") for _ in range(4)])
    assert [change.ref.line for change in found.timeline] == [3]
