"""The table: who goes on with a task, and why."""

from leftoff.handover.checkpoint.from_summary import TaskProgress
from leftoff.handover.decision_table import Candidate, Situation

FREE, FULL = Candidate("b", 1000), Candidate("c", 1000, 895)


def test_nothing_has_happened_before_the_first_handoff() -> None:
    assert Situation("90", FREE).handoffs == 0
    assert TaskProgress() == TaskProgress(0, 0)
