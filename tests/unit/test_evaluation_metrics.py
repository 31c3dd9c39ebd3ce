"""Scores of one session and the figures that follow, worked out by hand."""

import pytest

from leftoff.evaluation.matching import Counts
from leftoff.evaluation.metrics import FIGURES, SessionScore, figure_named


def test_figures_come_from_summed_counts_and_are_none_without_any() -> None:
    scores = [
        SessionScore("a", "r", decisions=Counts(1, 0, 0)),
        SessionScore("b", "r", decisions=Counts(0, 3, 9), stages={"a>b": 1, "b>b": 2}),
    ]
    assert figure_named("decisions_f1").of(scores) == pytest.approx(2 / 14)
    assert figure_named("stage_accuracy").of(scores) == pytest.approx(2 / 3)
    assert all(figure.of([SessionScore("c", "r")]) is None for figure in FIGURES)


def test_names_of_figures_are_unique() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)
