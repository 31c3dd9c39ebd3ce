"""The trained baseline: logistic regression on which words a message of the agent holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from leftoff.evaluation.sessions import LabelledSession, Prediction, Predictions

FOLDS = 3
"""Of the cross-validation that chooses the threshold. Chosen by hand; not measured."""


class Example(Struct, frozen=True):
    """A message; `right`: a decision is labelled in it; `group`: its source repository."""

    text: str
    right: bool
    group: str


def examples(session: LabelledSession) -> list[Example]:
    """The agent's messages, without those that only repeat an earlier decision."""
    gold = {d.line for d in session.labels.decisions}
    repeats = {place for d in session.labels.decisions for place in d.also} - gold
    return [
        Example(text, place in gold, session.labels.repository)
        for place, text in sorted(session.agent_places.items())
        if place not in repeats
    ]


def bag_of_words(
    sessions: Sequence[LabelledSession],
) -> Callable[[LabelledSession], Predictions]:
    """A predictor that is trained, for each source repository, on the sessions of the others.

    Raises:
        ValueError: the sessions are of one repository.
    """
    if len({s.labels.repository for s in sessions}) < 2:
        raise ValueError("a linear model needs labelled sessions of two repositories")
    trained: dict[str, tuple[Any, float, str]] = {}

    def predict(session: LabelledSession) -> Predictions:
        repository = session.labels.repository
        if repository not in trained:
            others = [s for s in sessions if s.labels.repository != repository]
            known = [e for s in others for e in examples(s)]
            trained[repository] = (_model(known), threshold(known), _common_type(others))
        model, least, kind = trained[repository]
        said = sorted(session.agent_places.items())
        odds = _confidences(model, [text for _, text in said])
        return Predictions(
            decisions=tuple(
                Prediction(place, text, kind, round(confidence, 6))
                for (place, text), confidence in zip(said, odds, strict=True)
                if confidence >= least
            )
        )

    return predict


def _common_type(sessions: Sequence[LabelledSession]) -> str:
    types = Counter(d.type for s in sessions for d in s.labels.decisions)
    return min(types, key=lambda kind: (-types[kind], kind)) if types else "other"


def _model(known: Sequence[Example]) -> Any:
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    except ImportError as error:
        raise SystemExit(
            "the linear baseline needs scikit-learn: python -m pip install scikit-learn"
        ) from error
    # Words of one letter, too; one that stands in a single message says nothing of others.
    words = CountVectorizer(binary=True, token_pattern=r"\w+", min_df=2)
    model = make_pipeline(words, LogisticRegression(max_iter=1000))
    return model.fit([e.text for e in known], [e.right for e in known])


def _confidences(model: Any, texts: Sequence[str]) -> list[float]:
    return [float(row[1]) for row in model.predict_proba(texts)] if texts else []


def threshold(known: Sequence[Example], folds: int = FOLDS) -> float:
    """The confidence with the best F1 in cross-validation by group."""
    groups = sorted({e.group for e in known})
    fold = {group: number % folds for number, group in enumerate(groups)}
    points: list[tuple[float, bool]] = []
    for number in range(folds):
        training = [e for e in known if fold[e.group] != number]
        test = [e for e in known if fold[e.group] == number]
        if test and len({e.right for e in training}) == 2:
            odds = _confidences(_model(training), [e.text for e in test])
            points += zip(odds, (e.right for e in test), strict=True)
    return best_threshold(points)


def best_threshold(points: Sequence[tuple[float, bool]]) -> float:
    """The threshold on the confidence with the best F1; 0.5 without points.

    It lies half-way between the last accepted point and the next lower one.
    """
    ordered = sorted(points, key=lambda p: (-p[0], p[1]))
    positives = sum(right for _, right in ordered)
    best, last, found = 0.0, -1, 0
    for number, (_, right) in enumerate(ordered):
        found += right
        f1 = 2 * found / (number + 1 + positives)
        if f1 > best:
            best, last = f1, number
    if last < 0:
        return 0.5
    following = ordered[min(last + 1, len(ordered) - 1)][0]
    return (ordered[last][0] + following) / 2
