"""Stages, milestones and their evidence, the percentage: on small sessions of our own."""

from typing import Any

from tests.strategies.claude_code import Recording

from leftoff.analysis.progress import progress
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
    made = Recording(cwd="/home/ann/shop")
    for kind, value in steps:
        if kind == "user":
            made.say(value)
        elif kind == "says":
            made.answer(value)
        else:
            name, given, output, failed = value
            made.call(name, given, output, failed=failed)
    fold = Collector("test", "claude_code")
    fold.feed(made.data)
    fold.close()
    return SessionView(fold.sessions[-1][""])


def judged(*steps: Step) -> ProgressInfo:
    return progress(story(*steps))


PASSED = "=== 12 passed in 0.30s ==="


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


def test_an_editor_that_only_showed_a_file_does_not_make_the_tests_older() -> None:
    given = {"command": "view", "path": "/home/ann/shop/a.py"}
    shows = ("call", ("str_replace_editor", given, "1\tx = 1", False))
    found = judged(user("Add a field."), edits("a.py"), runs("pytest", PASSED), shows)
    assert found.tests_older_than_last_edit is False
