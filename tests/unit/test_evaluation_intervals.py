"""Intervals cover what they should, tests find what is there, and both repeat."""

import random
from collections.abc import Sequence

import pytest

from leftoff.evaluation.intervals import bootstrap, paired


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def test_the_interval_holds_the_figure_and_repeats() -> None:
    rng = random.Random(3)
    values = [rng.random() for _ in range(25)]
    first = bootstrap(values, mean, resamples=400)
    assert first is not None
    assert first == bootstrap(values, mean, resamples=400)
    assert first.low < sum(values) / 25 < first.high


def test_about_nineteen_intervals_in_twenty_hold_the_truth() -> None:
    rng = random.Random(4)
    held = 0
    for _ in range(100):
        found = bootstrap([rng.gauss(0.5, 0.2) for _ in range(30)], mean, resamples=200)
        assert found is not None
        held += found.low <= 0.5 <= found.high
    assert 86 <= held <= 100


def test_no_spread_gives_a_point() -> None:
    found = bootstrap([0.25] * 8, mean, resamples=50)
    assert found is not None
    assert (found.low, found.high) == (0.25, 0.25)


@pytest.mark.parametrize("values", [[], [0.5]])
def test_one_session_has_no_interval(values: list[float]) -> None:
    assert bootstrap(values, mean) is None


def test_a_figure_without_a_value_has_no_interval() -> None:
    assert bootstrap([1.0, 2.0], lambda _: None) is None


def test_a_steady_difference_is_found() -> None:
    theirs = [random.Random(i).random() for i in range(20)]
    found = paired([t + 0.1 for t in theirs], theirs, mean, swaps=500, resamples=100)
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert found.p < 0.01
    assert found.interval is not None
    assert found.interval.low > 0


def test_no_difference_is_none() -> None:
    values = [0.1, 0.5, 0.9, 0.3]
    found = paired(values, values, mean, swaps=100, resamples=50)
    assert found is not None
    assert (found.value, found.p) == (0.0, 1.0)


def test_a_paired_test_needs_pairs() -> None:
    with pytest.raises(ValueError, match="same sessions"):
        paired([1.0], [1.0, 2.0], mean)
