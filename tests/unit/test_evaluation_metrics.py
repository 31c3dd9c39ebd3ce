"""Scores of one session and the figures that follow, worked out by hand."""

import pytest

from leftoff.evaluation.matching import Counts
from leftoff.evaluation.metrics import FIGURES, SessionScore


def test_figures_come_from_summed_counts_and_are_none_without_any() -> None:
    scores = [
        SessionScore("a", "r", decisions=Counts(1, 0, 0)),
        SessionScore("b", "r", decisions=Counts(0, 3, 9), stages={"a>b": 1, "b>b": 2}),
    ]
    assert FIGURES["decisions_f1"].of(scores) == pytest.approx(2 / 14)
    assert FIGURES["stage_accuracy"].of(scores) == pytest.approx(2 / 3)
    assert all(figure.of([SessionScore("c", "r")]) is None for figure in FIGURES.values())
