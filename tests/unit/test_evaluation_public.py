"""On real sessions: the labels fit the recordings, and the baselines give what they gave."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.evaluation import baselines, labels, systems
from leftoff.evaluation.metrics import FIGURES, SessionScore, score
from leftoff.evaluation.sessions import LabelledSession, Predictions


@pytest.fixture(scope="module")
def sessions(public_corpus: Path) -> list[LabelledSession]:
    folder = public_corpus.parent / "labels" / "double"
    if not folder.is_dir():
        pytest.skip("the labels of the public sessions are not beside them")
    found, left_out = systems.sessions(labels.load(str(folder)), str(public_corpus))
    assert left_out == []
    return found


def test_every_quote_stands_where_its_label_says(sessions: list[LabelledSession]) -> None:
    assert [problem for s in sessions for problem in s.problems] == []


def test_labels_of_decisions_are_on_the_agents_words(sessions: list[LabelledSession]) -> None:
    for session in sessions:
        for decision in session.labels.decisions:
            assert decision.line in session.agent_places
        for directive in session.labels.directives:
            assert directive.line in session.user_places


@pytest.mark.parametrize(
    ("system", "figure", "value"),
    [
        (baselines.seed001, "decisions_f1", 0.165),
        (baselines.seed001, "milestones_precision", 0.875),
        (baselines.seed001, "milestones_recall", 0.174),
        (baselines.everything, "decisions_f1", 0.323),
        (baselines.everything, "decisions_recall", 1.0),
        (baselines.everything, "stage_accuracy", 0.359),
    ],
)
def test_baselines(
    sessions: list[LabelledSession],
    system: Callable[[LabelledSession], Predictions],
    figure: str,
    value: float,
) -> None:
    scores: list[SessionScore] = [score(s, system(s)) for s in sessions]
    assert FIGURES[figure].of(scores) == pytest.approx(value, abs=0.01)
