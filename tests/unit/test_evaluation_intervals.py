"""Intervals cover what they should, tests find what is there, and both repeat."""

import random
from collections.abc import Sequence

from leftoff.evaluation.intervals import bootstrap


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def test_about_nineteen_intervals_in_twenty_hold_the_truth() -> None:
    rng = random.Random(4)
    held = 0
    for _ in range(100):
        found = bootstrap([rng.gauss(0.5, 0.2) for _ in range(30)], mean, resamples=200)
        assert found is not None
        held += found.low <= 0.5 <= found.high
    assert 86 <= held <= 100


def test_a_figure_without_a_value_has_no_interval() -> None:
    assert bootstrap([1.0, 2.0], lambda _: None) is None
