"""Stages, milestones and their evidence, the percentage: on small sessions of our own."""

from tests.strategies.claude_code import Recording

from leftoff.analysis.progress import progress
from leftoff.extraction.collector import Collector
from leftoff.session_view import SessionView
from leftoff.summary import ProgressInfo

PASSED = "=== 12 passed in 0.30s ==="


def judged(made: Recording) -> ProgressInfo:
    fold = Collector("test", "claude_code")
    fold.feed(made.data)
    fold.close()
    return progress(SessionView(fold.sessions[-1][""]))


def test_reading_editing_checking_and_delivering_follow_each_other() -> None:
    made = Recording()
    made.say("Implement the export command with a format option.")
    for n in range(6):
        made.call("Read", {"file_path": f"{n}.py"}, "1\tx")
    for n in range(14):
        made.edit(f"{n}.py")
    for _ in range(4):
        made.run("pytest", PASSED)
    made.run("git commit -m x", "[main 3f2a1bc] x")
    made.run("git push", "   1a2b3c4..5d6e7f8  main -> main")
    made.answer("Committed and pushed.")
    found = judged(made)
    stages = [change.stage for change in found.timeline]
    assert stages == ["planning", "implementation", "testing", "deployment"]
    assert found.current_stage == "deployment"
    assert found.completed_stages == ("planning", "implementation", "testing")


def test_an_editor_that_only_showed_a_file_does_not_make_the_tests_older() -> None:
    made = Recording()
    made.say("Add a field.")
    made.edit("a.py")
    made.run("pytest", PASSED)
    made.call("str_replace_editor", {"command": "view", "path": "/p/a.py"}, "1\tx = 1")
    assert judged(made).tests_older_than_last_edit is False
