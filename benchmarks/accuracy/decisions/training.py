"""From labelled sessions to a `Model`: gate, sentence model, calibration, types."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from benchmarks.accuracy.decisions.fit import Table, line, logistic, softmax
from benchmarks.accuracy.decisions.labelled import Session

from leftoff.analysis.decisions.select import (
    Candidate,
    by_message,
    kind_features,
    select_decisions,
    with_features,
    words_of_message,
)
from leftoff.extraction.decision_model import SCALE, Model, Scorer, any_log_odds
from leftoff.extraction.evidence import Said
from leftoff.extraction.rules import lowered
from leftoff.summary import DECISION_TYPES

KINDS = DECISION_TYPES[:4]
"""The types that the labels use; `other` has no example."""

GATE_RECALL = 0.955
"""Share of the labelled statements that the gate must keep, out of fold."""

PENALTY, GATE_PENALTY, KIND_PENALTY = 15.0, 8.0, 10.0
FOLDS = 9
"""Inner folds, of whole repositories, for the gate's threshold and the calibration."""

Scored = list[tuple[int, list[float], list[Candidate]]]


def folds(sessions: Sequence[Session], most: int | None = None) -> list[list[Session]]:
    """Groups of whole repositories, of about equal numbers of statements."""
    sizes: dict[str, int] = {}
    for s in sessions:
        sizes[s.repository] = sizes.get(s.repository, 0) + len(s.kinds)
    count = min(most or len(sizes), len(sizes))
    groups: list[set[str]] = [set() for _ in range(count)]
    for name in sorted(sizes, key=lambda n: (-sizes[n], n)):
        lightest = min(range(count), key=lambda k: (sum(sizes[n] for n in groups[k]), k))
        groups[lightest].add(name)
    return [[s for s in sessions if s.repository in group] for group in groups]


def without(sessions: Sequence[Session], fold: Sequence[Session]) -> list[Session]:
    """The sessions that are not in a fold."""
    names = {s.name for s in fold}
    return [s for s in sessions if s.name not in names]


# -- the gate ----------------------------------------------------------------------------------


def gate_words(text: str) -> list[str]:
    """A sentence as the gate sees it."""
    return lowered(text).removesuffix(".").split()


def _usable(s: Session) -> list[int]:
    """Sentences to train on: none from messages that only repeat a decision."""
    return [k for k, said in enumerate(s.said) if said.ref.message not in s.also]


def fit_gate(sessions: Sequence[Session]) -> dict[str, int]:
    """What each word says for a look at its sentence."""
    chosen = [(s, k) for s in sessions for k in _usable(s)]
    table = Table(
        [sorted(set(gate_words(s.said[k].text))) for s, k in chosen],
        3,
        [s.repository for s, _ in chosen],
    )
    truth = np.array([float(s.labels[k] >= 0) for s, k in chosen])
    weights, _ = logistic(table, truth, GATE_PENALTY)
    stored = np.rint(weights * SCALE).astype(int)
    return {name: int(w) for name, w in zip(table.names, stored, strict=True) if abs(w) >= 40}


def best_sums(s: Session, gate: dict[str, int]) -> dict[int, int]:
    """The highest gate sum among the sentences of each labelled statement."""
    model, found = Model(gate=gate), dict[int, int]()
    for said, label in zip(s.said, s.labels, strict=True):
        if label >= 0:
            total = sum(model.gate.get(w, 0) for w in gate_words(said.text))
            found[label] = max(found.get(label, -(1 << 30)), total)
    return found


def gate_threshold(sessions: Sequence[Session]) -> int:
    """The sum that keeps `GATE_RECALL` of the statements of repositories not trained on."""
    sums: list[int] = []
    for fold in folds(sessions, FOLDS):
        gate = fit_gate(without(sessions, fold))
        for s in fold:
            sums += best_sums(s, gate).values()
    sums.sort()
    return sums[int(len(sums) * (1 - GATE_RECALL))] - 1


def gated(s: Session, model: Model) -> tuple[list[Said], list[int]]:
    """The sentences of a session that pass a gate, and their labels."""
    kept = [k for k, said in enumerate(s.said) if model.passes_gate(gate_words(said.text))]
    return [s.said[k] for k in kept], [s.labels[k] for k in kept]


# -- the sentence model ------------------------------------------------------------------------

Rows = dict[str, tuple[list[Candidate], list[int]]]


def rows_of(sessions: Sequence[Session], gate: Model) -> Rows:
    """Candidates with their features and labels, by session."""
    found: Rows = {}
    for s in sessions:
        said, labels = gated(s, gate)
        of = {id(one): label for one, label in zip(said, labels, strict=True)}
        candidates = with_features(s.view, said)
        found[s.name] = (candidates, [of[id(c.said)] for c in candidates])
    return found


def fit_sentences(sessions: Sequence[Session], rows: Rows) -> tuple[dict[str, int], int]:
    """Weights and bias of the sentence model, in thousandths."""
    features: list[list[str]] = []
    truth: list[float] = []
    homes: list[str] = []
    for s in sessions:
        for candidate, label in zip(*rows[s.name], strict=True):
            if candidate.said.ref.message not in s.also:
                features.append(candidate.features)
                truth.append(float(label >= 0))
                homes.append(s.repository)
    table = Table(features, 3, homes)
    weights, bias = logistic(table, np.array(truth), PENALTY)
    stored = np.rint(weights * SCALE).astype(int)
    kept = {n: int(w) for n, w in zip(table.names, stored, strict=True) if abs(w) >= 12}
    return kept, round(bias * SCALE)


def fit_kinds(
    sessions: Sequence[Session], rows: Rows
) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """Weights and biases of the type model, in thousandths."""
    features: list[list[str]] = []
    truth: list[int] = []
    homes: list[str] = []
    for s in sessions:
        candidates, labels = rows[s.name]
        manner = {g[0].said.ref.message: words_of_message(g) for g in by_message(candidates)}
        for candidate, label in zip(candidates, labels, strict=True):
            if label >= 0:
                features.append(kind_features(candidate, manner[candidate.said.ref.message]))
                truth.append(KINDS.index(s.kinds[label]))
                homes.append(s.repository)
    table = Table(features, 3, homes)
    weights, bias = softmax(table, np.array(truth, dtype=np.int64), len(KINDS), KIND_PENALTY)
    stored = np.rint(weights * SCALE).astype(int)
    kept = {
        name: tuple(int(w) for w in row)
        for name, row in zip(table.names, stored, strict=True)
        if np.abs(row).max() >= 45
    }
    return kept, tuple(round(float(b) * SCALE) for b in bias)


# -- calibration -------------------------------------------------------------------------------

Pairs = list[tuple[float, ...]]
"""Score, for messages the logarithm of one more than the rank, and truth."""


def scored(sessions: Sequence[Session], rows: Rows, model: Model) -> tuple[Pairs, Pairs, int]:
    """Scores and truth of messages and of sentences, and how many labelled messages have no
    candidate."""
    whole: Pairs = []
    alone: Pairs = []
    missed, scorer = 0, Scorer(model)
    for s in sessions:
        candidates, labels = rows[s.name]
        truth = {id(c): float(label >= 0) for c, label in zip(candidates, labels, strict=True)}
        places, seen = set(s.places), set[int]()
        groups = by_message(candidates)
        scores = [[scorer.score(c.words, c.others) for c in group] for group in groups]
        odds = [any_log_odds(logits) for logits in scores]
        falling = sorted(odds, reverse=True)
        for group, logits, together in zip(groups, scores, odds, strict=True):
            message = group[0].said.ref.message
            seen.add(message)
            if message in s.also:
                continue
            rank = math.log1p(falling.index(together))
            whole.append((together, rank, float(message in places)))
            alone += [(z, truth[id(c)]) for z, c in zip(logits, group, strict=True)]
        missed += len(places - seen)
    return whole, alone, missed


NEAR_BEST = 0.01
"""F1 that a threshold may lose against the best one."""


def best_threshold(found: Sequence[tuple[float, float]], missed: int) -> int:
    """The probability, in thousandths, from which reporting gives the highest F1: the middle of
    all that come near it, since the peak itself is chance."""
    ranked = sorted(found, reverse=True)
    positives = sum(y for _, y in found) + missed
    reached: list[float] = []
    right = 0.0
    for number, (_, y) in enumerate(ranked, 1):
        right += y
        reached.append(2 * right / (number + positives))
    least = max(reached, default=0.0) - NEAR_BEST
    near = [chance for (chance, _), f1 in zip(ranked, reached, strict=True) if f1 >= least]
    return int(1000 * near[len(near) // 2]) if near else 500


def calibrated(found: Pairs) -> tuple[list[int], list[tuple[float, float]]]:
    """The calibration of scores, in thousandths, and each probability with its truth."""
    table = np.array(found)
    fitted = line(table[:, :-1], table[:, -1])
    chances = 1 / (1 + np.exp(-(table[:, :-1] @ fitted[:-1] + fitted[-1])))
    pairs = list(zip(chances.tolist(), table[:, -1].tolist(), strict=True))
    return [round(float(v) * SCALE) for v in fitted], pairs


def train(sessions: Sequence[Session]) -> Model:
    """A model of these sessions; thresholds and calibration from inner folds."""
    gate = Model(gate=fit_gate(sessions), gate_least=gate_threshold(sessions))
    rows = rows_of(sessions, gate)
    whole: Pairs = []
    alone: Pairs = []
    missed = 0
    for fold in folds(sessions, FOLDS):
        weights, bias = fit_sentences(without(sessions, fold), rows)
        told = [s for s in fold if s.double]  # one reader marks more than two agree on
        a, b, c = scored(told, rows, Model(weights=weights, bias=bias))
        whole, alone, missed = whole + a, alone + b, missed + c
    (slope, weight, offset), whole_pairs = calibrated(whole)
    alone_line, alone_pairs = calibrated(alone)
    weights, bias = fit_sentences(sessions, rows)
    kind_weights, kind_bias = fit_kinds(sessions, rows)
    return Model(
        gate=gate.gate,
        gate_least=gate.gate_least,
        weights=weights,
        bias=bias,
        calibration=(slope, offset, weight),
        alone=(alone_line[0], alone_line[1]),
        least=best_threshold(whole_pairs, missed),
        least_alone=best_threshold(alone_pairs, 0),
        kinds=KINDS,
        kind_weights=kind_weights,
        kind_bias=kind_bias,
        trained={
            "sessions": len(sessions),
            "statements": sum(len(s.kinds) for s in sessions),
            "sentences": sum(len(s.said) for s in sessions),
        },
    )


# -- what a model says of a session ------------------------------------------------------------


class Claims:
    """A model's claims on one session beside its labels: messages with confidence and types."""

    def __init__(self, s: Session, model: Model) -> None:
        said, labels = gated(s, model)
        self.repository, self.name = s.repository, s.name
        found = with_features(s.view, said)
        groups = by_message(found)
        self.chosen: dict[int, float] = {}
        self.types: set[tuple[int, str]] = set()
        for group, chosen in select_decisions(groups, model):
            message = group[0].said.ref.message
            if message not in s.also:
                self.chosen[message] = max(confidence for _, confidence in chosen)
                manner = words_of_message(group)
                self.types |= {
                    (message, model.kind(kind_features(c, manner))) for c, _ in chosen
                }
        self.truth = set(s.places)
        self.true_types = set(zip(s.places, s.kinds, strict=True))
        self.kept = len({label for label in labels if label >= 0})
        self.statements = len({label for label in s.labels if label >= 0})
        self.passed, self.sentences = len(said), len(s.said)
