"""The table: who goes on with a task, and why."""

from leftoff.handover.decision_table import Candidate, Situation, TaskProgress

FREE, FULL = Candidate("b", 1000), Candidate("c", 1000, 895)


def test_nothing_has_happened_before_the_first_handoff() -> None:
    assert Situation("90", FREE).handoffs == 0
    assert TaskProgress() == TaskProgress(0, 0)
