"""The baseline: a linear bag of words over whole messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.accuracy.decisions.fit import Table, logistic
from benchmarks.accuracy.decisions.labelled import Session

from leftoff.extraction.decision_model import raw_words


class Bag:
    """Words of each message of the agent, one logistic model, best threshold on training."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        rows, truth = [], []
        for s in sessions:
            for message, bag in _bags(s).items():
                rows.append(bag)
                truth.append(float(message in s.places))
        self.table = Table(rows, 3)
        y = np.array(truth)
        weights, self.bias = logistic(self.table, y, 10.0)
        self.weights = dict(zip(self.table.names, weights.tolist(), strict=True))
        scores = self.table.times(weights) + self.bias
        order = np.argsort(-scores, kind="stable")
        right = np.cumsum(y[order])
        f1 = 2 * right / (np.arange(1, len(y) + 1) + y.sum())
        self.least = float(scores[order][int(f1.argmax())])

    def chosen(self, s: Session) -> set[int]:
        """The messages that the bag calls decisions."""
        get = self.weights.get
        return {
            m
            for m, bag in _bags(s).items()
            if self.bias + sum(get(w, 0.0) for w in bag) >= self.least
        }


def _bags(s: Session) -> dict[int, list[str]]:
    bags: dict[int, set[str]] = {m: set() for m in s.agent if m not in s.also}
    for said in s.said:
        if said.ref.message in bags:
            bags[said.ref.message].update(raw_words(said.text))
    return {m: sorted(bag) for m, bag in bags.items()}
