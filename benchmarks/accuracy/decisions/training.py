"""From labelled sessions to a `Model`: gate, sentence model, calibration, types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from benchmarks.accuracy.decisions.fit import Table, line, logistic, softmax
from benchmarks.accuracy.decisions.labelled import Session
from msgspec import Struct

from leftoff.analysis.decisions.select import (
    Candidate,
    CandidateGroups,
    kind_features,
    score_groups,
    select_decisions,
    words_of_message,
)
from leftoff.analysis.decisions.shown import LikelyDecisions
from leftoff.analysis.requests import user_requests
from leftoff.extraction.decision_model import ALWAYS, SCALE, Model, is_english, words
from leftoff.extraction.evidence import Called, Said
from leftoff.extraction.rules import lowered
from leftoff.session_view import SessionView
from leftoff.summary import DECISION_TYPES

KINDS = DECISION_TYPES[:4]
"""The types that the labels use; `other` has no example."""

GATE_RECALL = 0.955
"""Share of the labelled statements that the gate must keep, out of fold."""

LOOK = 5000
"""The gate's weight of the words of `ALWAYS`: more than any others of a sentence take away."""

PENALTY, GATE_PENALTY = 18.0, 8.0

KIND_PENALTY, KIND_LEAST = 60.0, 20
"""Penalty of the weights of types, and the size in thousandths from which a feature's are kept.
Three types were right in 0.659 of what is reported in left-out repositories with 30 and 45, in
0.678 with 30 and 5, 0.686 with 45 and 5, 0.684 with 60 and 20, 0.680 with 80 and 20."""

FOLDS = 4
"""Inner folds, of whole repositories, for the gate's threshold and the calibration."""


def with_features(view: SessionView, said: Sequence[Said]) -> list[Candidate]:
    """Sentences with their features and those of the session around them; those of messages
    that are not in English are left out."""
    return [candidate for group in CandidateGroups(view, said) for candidate in group]


def by_message(found: Iterable[Candidate]) -> list[list[Candidate]]:
    """Candidates grouped by the message that they stand in."""
    groups: dict[int, list[Candidate]] = {}
    for candidate in found:
        groups.setdefault(candidate.said.ref.message, []).append(candidate)
    return [groups[message] for message in sorted(groups)]


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
    """Sentences to train on: English ones, and none from messages that only repeat a
    decision."""
    known = english(s) - s.also
    return [k for k, said in enumerate(s.said) if said.ref.message in known]


def english(s: Session) -> set[int]:
    """The messages that look like English."""
    texts: dict[int, list[str]] = {}
    for said in s.said:
        texts.setdefault(said.ref.message, []).append(said.text)
    whole = {message: " ".join(parts) for message, parts in texts.items()}
    return {message for message, text in whole.items() if is_english(words(text), text)}


def fit_gate(sessions: Sequence[Session]) -> dict[str, int]:
    """What each word says for a look at its sentence."""
    chosen = [(s, k) for s in sessions for k in _usable(s)]
    mass = np.array([s.weight for s, _ in chosen])
    table = Table(
        [sorted(set(gate_words(s.said[k].text))) for s, k in chosen],
        3,
        [s.repository for s, _ in chosen],
    )
    truth = np.array([float(s.labels[k] >= 0) for s, k in chosen])
    weights, _ = logistic(table, truth, GATE_PENALTY, mass)
    stored = np.rint(weights * SCALE).astype(int)
    learnt = zip(table.names, stored, strict=True)
    return {name: int(w) for name, w in learnt if abs(w) >= 40} | dict.fromkeys(ALWAYS, LOOK)


def best_sums(s: Session, gate: dict[str, int]) -> dict[int, int]:
    """The highest gate sum among the sentences of each labelled statement."""
    model, found = Model(gate=gate), dict[int, int]()
    known = english(s)
    for said, label in zip(s.said, s.labels, strict=True):
        if label >= 0 and said.ref.message in known:
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
    mass: list[float] = []
    homes: list[str] = []
    for s in sessions:
        for candidate, label in zip(*rows[s.name], strict=True):
            if candidate.said.ref.message not in s.also:
                features.append(candidate.features)
                truth.append(float(label >= 0))
                mass.append(s.weight)
                homes.append(s.repository)
    table = Table(features, 3, homes)
    weights, bias = logistic(table, np.array(truth), PENALTY, np.array(mass))
    stored = np.rint(weights * SCALE).astype(int)
    kept = {n: int(w) for n, w in zip(table.names, stored, strict=True) if abs(w) >= 12}
    return kept, round(bias * SCALE)


def fit_kinds(
    sessions: Sequence[Session], rows: Rows
) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """Weights and biases of the type model, in thousandths."""
    features: list[list[str]] = []
    truth: list[int] = []
    mass: list[float] = []
    homes: list[str] = []
    for s in sessions:
        candidates, labels = rows[s.name]
        manner = {g[0].said.ref.message: words_of_message(g) for g in by_message(candidates)}
        for candidate, label in zip(candidates, labels, strict=True):
            if label >= 0 and s.kinds[label] in KINDS:
                around = manner[candidate.said.ref.message]
                features.append(kind_features(candidate.words, candidate.others, around))
                mass.append(s.weight)
                truth.append(KINDS.index(s.kinds[label]))
                homes.append(s.repository)
    table = Table(features, 3, homes)
    known = np.array(truth, dtype=np.int64)
    weights, bias = softmax(table, known, len(KINDS), KIND_PENALTY, np.array(mass))
    stored = np.rint(weights * SCALE).astype(int)
    kept = {
        name: tuple(int(w) for w in row)
        for name, row in zip(table.names, stored, strict=True)
        if np.abs(row).max() >= KIND_LEAST
    }
    return kept, tuple(round(float(b) * SCALE) for b in bias)


# -- calibration -------------------------------------------------------------------------------

Pairs = list[tuple[float, ...]]
"""Score, the logarithm of one more than the rank, and truth."""


class Scored:
    """What a model says of sessions that it was not trained on.

    Attributes:
        messages, statements: scores and truth.
        places: for each statement its session.
    """

    def __init__(self) -> None:
        self.messages: Pairs = []
        self.statements: Pairs = []
        self.places: list[Session] = []

    def add(self, s: Session, rows: Rows, model: Model) -> None:
        """Scores a session."""
        candidates, labels = rows[s.name]
        truth = {id(c): float(label >= 0) for c, label in zip(candidates, labels, strict=True)}
        groups = by_message(candidates)
        found = score_groups(groups, model)
        gold = set(s.places)
        for number, group in enumerate(groups):
            message = group[0].said.ref.message
            if message in s.also:
                continue
            together = found.odds[number]
            rank = math.log1p(found.rank[together])
            self.messages.append((together, rank, float(message in gold)))
            for z, c in zip(found.logits[number], group, strict=True):
                rank = math.log1p(found.statement_rank[z])
                self.statements.append((z, rank, truth[id(c)]))
                self.places.append(s)


MESSAGE_LEAST = 260
"""Probability of a message, in thousandths, from which its statements are reported. Chosen from
the predictions for repositories left out: with 0, 240, 260, 280 and 320, F1 of messages was
0.602, 0.612, 0.620, 0.622 and 0.618 on `double`, that of statements 0.430, 0.435, 0.438, 0.438
and 0.428, on `more` 0.347, 0.343, 0.342, 0.336 and 0.325."""

NEAR_BEST = 0.01
"""F1 that a threshold may lose against the best one."""

_GRID = [k / 1000 for k in range(60, 700, 5)]


def best_threshold(chances: Sequence[float], found: Scored, sessions: Sequence[Session]) -> int:
    """The probability, in thousandths, from which reporting gives the highest mean F1 of
    statements over the kinds of labels."""
    each, right = np.array(chances), np.array([y for *_, y in found.statements])
    kinds = np.array([s.kind for s in found.places])
    reached: list[float] = []
    for least in _GRID:
        scores = []
        for kind in sorted(set(kinds.tolist())):
            here = (each >= least) & (kinds == kind)
            labelled = sum(len(s.kinds) for s in sessions if s.kind == kind)
            scores.append(2 * right[here].sum() / max(1, here.sum() + labelled))
        reached.append(float(sum(scores)) / len(scores))
    return int(1000 * _middle(reached))


def _middle(reached: Sequence[float]) -> float:
    """The middle of the thresholds that come near the best one, since the peak is chance."""
    near = [t for t, f1 in zip(_GRID, reached, strict=True) if f1 >= max(reached) - NEAR_BEST]
    return near[len(near) // 2]


def calibrated(found: Pairs) -> tuple[tuple[int, int, int], list[float]]:
    """Slope, offset and weight of the rank's logarithm, in thousandths, and the probability of
    each score."""
    table = np.array(found)
    slope, weight, offset = line(table[:, :-1], table[:, -1])
    chances = 1 / (1 + np.exp(-(table[:, :-1] @ np.array([slope, weight]) + offset)))
    first, second, third = (round(float(v) * SCALE) for v in (slope, offset, weight))
    return (first, second, third), chances.tolist()


def train(sessions: Sequence[Session]) -> Model:
    """A model of these sessions; thresholds and calibration from inner folds."""
    gate = Model(gate=fit_gate(sessions), gate_least=gate_threshold(sessions))
    rows = rows_of(sessions, gate)
    found = Scored()
    told = [s for s in sessions if s.kind != "single"]
    for fold in folds(sessions, FOLDS):
        weights, bias = fit_sentences(without(sessions, fold), rows)
        for s in fold:
            if s in told:  # single: one reader marks more there than two agree on
                found.add(s, rows, Model(weights=weights, bias=bias))
    message, _ = calibrated(found.messages)
    calibration, chances = calibrated(found.statements)
    weights, bias = fit_sentences(sessions, rows)
    kind_weights, kind_bias = fit_kinds(sessions, rows)
    return Model(
        gate=gate.gate,
        gate_least=gate.gate_least,
        weights=weights,
        bias=bias,
        calibration=calibration,
        message=message,
        least=best_threshold(chances, found, told),
        message_least=MESSAGE_LEAST,
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


class Statement(Struct, frozen=True):
    """A statement that a model reports: its confidence, the label that it states or -1, whether
    it is the first to state it, its type, and whether it is shown without being asked for."""

    confidence: float
    label: int
    first: bool
    kind: str
    shown: bool


class Claims:
    """A model's claims on one session beside its labels.

    Attributes:
        statements: those that count, the likeliest first.
        chosen: messages that hold one, with the probability that they do.
    """

    def __init__(self, s: Session, model: Model) -> None:
        said, labels = gated(s, model)
        self.repository, self.name, self.kind = s.repository, s.name, s.kind
        of = {id(one): label for one, label in zip(said, labels, strict=True)}
        groups = by_message(with_features(s.view, said))
        scores = score_groups(groups, model)
        together = {
            group[0].said.ref.message: scores.message_chance(number)
            for number, group in enumerate(groups)
        }
        self.chosen: dict[int, float] = {}
        self.statements: list[Statement] = []
        gold, seen = set(s.places), set[int]()
        likely = LikelyDecisions(user_requests(s.view))
        called = any(True for _ in s.view.each(Called))
        found = [
            (confidence, candidate, words_of_message(group))
            for group, chosen in select_decisions(groups, model)
            for candidate, confidence in chosen
        ]
        for confidence, candidate, manner in sorted(found, key=lambda f: -f[0]):
            message, label = candidate.said.ref.message, of[id(candidate.said)]
            if message in s.also or candidate.said in s.unsure:
                continue
            self.chosen[message] = together[message]
            if label < 0 and message in s.repeats:
                continue
            kind = model.kind(kind_features(candidate.words, candidate.others, manner))
            first = label >= 0 and label not in seen
            shown = called and likely.has(candidate.said.text, confidence, message)
            self.statements.append(Statement(confidence, label, first, kind, shown))
            seen.add(label)
        self.kinds = s.kinds
        self.truth = gold
        self.kept = len({label for label in labels if label >= 0})
        self.stated = len({label for label in s.labels if label >= 0})
        self.passed, self.sentences = len(said), len(s.said)
