"""Lines of the screen and the handover that said more, or something else, than the recording."""

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.strategies.claude_code import Recording
from tests.unit.test_format_codex import META, fed, item, output, said, shell
from tests.unit.test_overview import at, summary

from leftoff import Pass
from leftoff.analysis.decisions.shown import person_decisions_shown
from leftoff.handover.briefing import briefing
from leftoff.handover.facts import Handover
from leftoff.handover.file_lines import file_lines
from leftoff.rendering.render_summary import render
from leftoff.summary import Check, ContextSummary, FileModification, GitEvent, UserRequest


def poll(identity: str, job: int) -> dict[str, Any]:
    line = shell(identity, "")
    given = json.dumps({"session_id": job, "chars": ""})
    return {**line, "payload": {**line["payload"], "name": "write_stdin", "arguments": given}}


def ended(code: int) -> str:
    return f"Wall time: 1.0 seconds\nProcess exited with code {code}\nOutput:\n[main 1a2b3c4] x"


def test_a_command_that_was_waited_for_has_its_outcome() -> None:
    """Codex hands back the number of a command after a second; its end stands in a later look,
    and the command was said to have been started in the background."""
    begun = "Wall time: 1.0 seconds\nProcess running with session ID {}\nOutput:\n"
    reading = fed(
        META,
        said("Commit the tide table.", "user"),
        shell("c1", "git commit -am tides"), output("c1", begun.format(71)),
        poll("c2", 71), output("c2", begun.format(71)),
        poll("c3", 71), output("c3", ended(0)),
        shell("c4", "make harbour"), output("c4", begun.format(72)),
        poll("c5", 72), output("c5", ended(2)),
        shell("c6", "make docks"), output("c6", begun.format(73)),
    )  # fmt: skip
    steps = reading.conclude().working_set.steps
    assert [(s.text, s.status) for s in steps if s.kind == "ran"] == [
        ("git commit -am tides", "ok"),
        ("make harbour", "failed"),
        ("make docks", "started in the background"),
    ]


def test_choices_of_a_dialog_stand_among_the_decisions_alone() -> None:
    chosen = UserRequest("Oak", "choice", "interrupted", at(3), "Which wood?")
    asked = summary().user_requests
    later = UserRequest("Saw it to size.", "task", "interrupted", at(5))
    assert "Which wood?" not in render(summary(user_requests=(*asked, chosen, later)))
    assert "Which wood?" in render(summary(user_requests=(*asked, chosen)))


def test_a_later_run_of_the_tests_that_failed_replaces_the_failure() -> None:
    run = Check("test", "go test", "go test ./sea", "passed", at(6))
    failed = replace(run, verdict="failed", ref=at(4), scope="TestTide|TestBuoy ./sea")
    failed = replace(failed, failing=("TestBuoy_Paint",))
    mended = replace(run, scope="TestBuoy ./sea", command="go test -run TestBuoy ./sea")
    assert "TestBuoy_Paint" not in render(summary(checks=(failed, mended)))
    other = replace(run, scope="TestTide ./sea", command="go test -run TestTide ./sea")
    assert "TestBuoy_Paint" in render(summary(checks=(failed, other)))


@pytest.mark.parametrize(
    "options",
    [
        "tests --ignore=tests/test_sea.py",
        "--deselect tests/test_sea.py::test_tide",
        "tests -k 'not test_tide'",
        "tests -k test_buoy",
        "tests/unit -m 'not slow'",
        "tests/test_sea.py --lf",
    ],
)
def test_a_run_that_may_leave_out_what_failed_replaces_nothing(options: str) -> None:
    run = Check("test", "pytest", f"pytest {options}", "passed", at(6), scope=options)
    failed = replace(run, verdict="failed", ref=at(4), scope="", command="pytest")
    failed = replace(failed, failing=("tests/test_sea.py::test_tide",))
    assert "test_tide" in render(summary(checks=(failed, run))).partition("Files")[0]


def test_the_screen_names_the_branch_of_the_last_commit() -> None:
    """Codex records the branch at the start alone; the handover named the other one."""
    commit = GitEvent("commit", "Mend it", at(7), hash="1a2b3c4", branch="pier")
    assert "on pier" in render(summary(git=(commit,))).split("You asked")[0]


def test_a_folder_among_its_files_has_a_name() -> None:
    made = tuple(
        FileModification(f"/home/dev/{name}", "created", 1, (), certainty="likely")
        for name in ("shed/x.py", "pier/", "pier/a.py", "pier/b.py")
    )
    lines = file_lines(Handover(files=made), 1)
    assert [line.forms[0] for line in lines[1:]] == [
        "- created, likely: /home/dev/pier/",
        "  - created, likely: a.py, b.py",
    ]


def test_a_plan_was_worked_on() -> None:
    """It was only ever answered, whatever the agent did upon it; later it was done because a
    file had changed."""
    plan = "Implement the following plan:\n\n# Paint the pier\n\nSand it, then paint it."
    made = Recording()
    made.say(plan, planContent=plan)
    made.call("Edit", {"file_path": "/p/a.py", "old_string": "a", "new_string": "b"}, "updated")
    made.answer("The pier is sanded and painted.")
    (request,) = made.summary().user_requests
    assert (request.kind, request.status) == ("plan", "worked_on")
    made.say("Why?")
    made.answer("It was grey. The railing still needs paint.")
    assert made.summary().user_requests[0].status == "worked_on"


def trajectory(*steps: tuple[str, str, str]) -> ContextSummary:
    """A run of SWE-agent of these words, commands and observations."""
    state = "\n(Open file: /w/till.py)\n(Current directory: /w)\nbash-$"
    task = f"ISSUE:\nThe till fails\n\nINSTRUCTIONS:\nGo.{state}"
    history = [{"role": "user", "content": task, "agent": "main"}]
    for words, action, shown in steps:
        history.append(
            {"role": "assistant", "agent": "main", "content": words, "thought": words}
        )
        history[-1]["action"] = action
        history.append({"role": "user", "agent": "main", "content": shown + state})
    reading = Pass("till.traj")
    reading.feed(
        json.dumps({"history": history, "info": {"exit_status": "submitted"}}).encode()
    )
    reading.close()
    return reading.conclude()


def test_a_step_whose_call_follows_is_not_left_open() -> None:
    """SWE-agent records no exit codes: what was announced beside a command stood among the open
    items although the command ran."""
    words = "I have mended it. Next, I will run the script to verify that the till is right."
    assert not trajectory((words, "python till.py", "8.2")).next_steps


def test_the_place_of_a_new_file_is_said_to_be_that_of_a_later_change() -> None:
    made = "[File: /w/till.py (1 lines total)]\n1:"
    edited = "[File: /w/till.py (1 lines total)]\n1:a = 1\nFile updated."
    found = trajectory(
        ("Made.", "create till.py", made), ("Filled.", "edit 1:1\na = 1\nend_of_edit", edited)
    )
    assert "/w/till.py  created, later modified #4" in render(found)


def test_a_story_in_one_sentence_is_no_decision_on_the_screen() -> None:
    """Dictated prompts have no full stop; the first lines of one stood under "You decided"."""
    order = "Put the buoys below the pier, never above it"
    made = Recording()
    made.say(f"{order}.\n\n{order}{', and then we saw the tide come in' * 9}.")
    made.answer("They are below it.")
    found = made.summary()
    assert [len(d.text) > 300 for d in found.key_decisions if d.owner == "user"] == [
        False,
        True,
    ]
    assert [d.text for d in person_decisions_shown(found)] == [f"{order}."]


def script(identity: str, words: str) -> dict[str, Any]:
    return item("custom_tool_call", name="exec", input=words, call_id=identity)


@pytest.mark.parametrize(
    ("asks", "verdict"),
    [
        ("await tools.write_stdin({session_id: 71})", "passed"),
        ("tools.write_stdin({session_id: 71}); tools.write_stdin({session_id: 72})", "unknown"),
        ("tools.write_stdin({session_id: 71}); tools.exec_command({cmd: 'ls'})", "unknown"),
    ],
)
def test_an_output_that_several_jobs_share_is_none_of_theirs(asks: str, verdict: str) -> None:
    begun = "Wall time: 1.0 seconds\nProcess running with session ID 71\nOutput:\n"
    reading = fed(
        META,
        said("Test the tide table.", "user"),
        shell("c1", "pytest -q"), output("c1", begun),
        script("c2", asks), output("c2", "Output:\n3 passed in 0.1s\n"),
    )  # fmt: skip
    assert [c.verdict for c in reading.summary().checks] == [verdict]


@pytest.mark.parametrize(
    ("command", "branch"),
    [
        ("git switch -c tides", "tides"),
        ("cd /home/dev/app && git switch -c tides", "tides"),
        ("cd ../other && git switch -c tides", "x"),
        ("git -C ../other switch -c tides", "x"),
    ],
)
def test_the_branch_is_the_one_that_git_switched_to(command: str, branch: str) -> None:
    lines = shell("c1", command), output("c1", "Switched to a new branch 'tides'")
    assert fed(META, said("Go.", "user"), *lines).summary().session.branch == branch


def test_a_recorder_that_states_the_branch_each_time_knows_it() -> None:
    made = Recording(gitBranch="main")
    made.say("Go.")
    made.run("git switch -c tides", "Switched to a new branch 'tides'")
    assert made.summary().session.branch == "main"


SPECSTORY = """<!-- Generated by SpecStory -->

_**User (2026-01-02 10:00Z)**_

Paint the pier.

---

_**Assistant{}**_

{}

---
"""


@pytest.mark.parametrize(
    ("time", "since"), [("", ""), (" (2026-01-02 10:05Z)", "2026-01-02T10:05Z")]
)
def test_the_person_waits_since_the_agent_spoke(time: str, since: str) -> None:
    reading = Pass(format="specstory")
    reading.feed(SPECSTORY.format(time, "It is dry.").encode())
    assert reading.summary().turn.since == since
    if not since:
        assert "waiting for you  #2" in render(reading.summary())


@pytest.mark.parametrize(
    ("words", "status"),
    [("I've updated the pier.", "unknown"), ("It is dry.", "answered"), ("PASS", "answered")],
)
def test_work_in_a_recording_without_calls_is_not_known(words: str, status: str) -> None:
    reading = Pass(format="specstory")
    reading.feed(SPECSTORY.format("", words).encode())
    assert [r.status for r in reading.summary().user_requests] == [status]


def test_a_step_that_the_person_refused_is_not_left_open() -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    for why, left_open in ((refused, 0), ("Exit code 1", 1)):
        made = Recording()
        made.say("Paint the pier.")
        words = {"type": "text", "text": "Let me remove the old paint first."}
        given = {
            "type": "tool_use",
            "id": "t",
            "name": "Bash",
            "input": {"command": "rm paint"},
        }
        made.add("assistant", [words, given])
        result = {"type": "tool_result", "tool_use_id": "t", "content": why, "is_error": True}
        made.add("user", [result])
        assert len(made.summary().next_steps) == left_open


def test_a_request_that_stands_above_is_not_left_open_again() -> None:
    made = Recording()
    made.say("Paint the pier.")
    assert made.summary().next_steps
    assert "Left open" not in render(made.summary())


@pytest.mark.parametrize(("kind", "named"), [("Explore", False), ("general-purpose", True)])
def test_a_subagent_that_cannot_write_changed_no_file(kind: str, named: bool) -> None:
    made = Recording()
    made.say("Find the paint.")
    made.call("Task", {"subagent_type": kind, "prompt": "Find it."}, "In the shed.")
    assert bool(made.summary().unknown_effects) is named


def test_a_commit_that_aider_took_back_is_none() -> None:
    lines = (
        "# aider chat started at 2026-01-02 10:00:00",
        "#### paint the pier",
        "Painted.",
        "> Commit 1a2b3c4 feat: paint",
        "> Commit 2b3c4d5 feat: varnish",
        "#### /undo",
        "> Removed: 2b3c4d5 feat: varnish",
    )
    reading = Pass(format="aider")
    reading.feed("\n\n".join(lines).encode() + b"\n")
    assert [event.hash for event in reading.summary().git] == ["1a2b3c4"]


def test_a_file_that_was_read_after_its_removal_is_there() -> None:
    """A program that leaves no trace had made it again; it was shown as deleted."""
    made = Recording()
    made.say("Fetch the tides.")
    for command in ("cat tides.json", "rm -f tides.json", "make tides", "cat tides.json"):
        made.run(command, "{}")
    (file,) = made.summary().file_modifications
    assert (file.action, file.certainty) == ("modified", "likely")


def test_no_branch_is_called_head() -> None:
    made = Recording(gitBranch="HEAD")
    made.say("Go.")
    assert made.summary().session.branch == ""


def test_times_of_one_session_are_shown_in_one_zone() -> None:
    """A start in UTC and an end in local time were shown as recorded: an end before the start."""
    made = Recording()
    made.say("Sort the rows.")
    made.answer("I sorted the rows.")
    found, end = made.summary(), "2026-03-05T13:43:25-08:00"
    session = replace(found.session, started="2026-03-05T21:36:35Z", ended=end)
    found = replace(found, session=session, turn=replace(found.turn, since=end))
    assert "claude_code · 2026-03-05 21:36" in render(found, "text")
    assert "since 2026-03-05 21:43" in render(found, "text")
    assert "last event 2026-03-05T21:43:25" in briefing(found)
