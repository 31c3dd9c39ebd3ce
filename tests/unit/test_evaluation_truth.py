"""The other side of `leftoff eval truth`: what it takes for true, and how it counts."""

from leftoff.evaluation.truth_runs import Counts as Collected


def test_shares_are_of_what_was_said_and_of_all() -> None:
    counts = Collected()
    counts.counts.update(
        {
            ("check judged", "leftoff", "right"): 8,
            ("check judged", "leftoff", "wrong"): 1,
            ("check judged", "leftoff", "unknown"): 3,
            ("check judged", "aider", "wrong"): 1,
        }
    )
    found = counts.figures()["check judged"]
    assert (found.precision, found.found) == (0.8, 0.6154)
    assert found.by_format["aider"].precision == 0.0
