"""Figures of claims against labels, with intervals over sessions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from benchmarks.accuracy.decisions.training import Claims

Figure = Callable[[Sequence[Claims]], float]


def f1(claims: Sequence[Claims]) -> float:
    """Message-level F1."""
    right = sum(len(c.truth & set(c.chosen)) for c in claims)
    return 2 * right / max(1, sum(len(c.truth) + len(c.chosen) for c in claims))


def precision(claims: Sequence[Claims]) -> float:
    """Message-level precision."""
    right = sum(len(c.truth & set(c.chosen)) for c in claims)
    return right / max(1, sum(len(c.chosen) for c in claims))


def recall(claims: Sequence[Claims]) -> float:
    """Message-level recall."""
    right = sum(len(c.truth & set(c.chosen)) for c in claims)
    return right / max(1, sum(len(c.truth) for c in claims))


def statements_f1(claims: Sequence[Claims]) -> float:
    """F1 of statements; a second one that states the same decision is wrong."""
    right = sum(s.first for c in claims for s in c.statements)
    found = sum(len(c.statements) + len(c.kinds) for c in claims)
    return 2 * right / max(1, found)


def statements_precision(claims: Sequence[Claims]) -> float:
    """Precision of the reported statements."""
    return _precision([s.first for c in claims for s in c.statements])


def statements_recall(claims: Sequence[Claims]) -> float:
    """Share of the labels that a reported statement states."""
    right = sum(s.first for c in claims for s in c.statements)
    return right / max(1, sum(len(c.kinds) for c in claims))


def at(count: int, *, likely: bool = False) -> Figure:
    """Precision of the first `count` statements of each session by confidence, over all
    sessions; `likely`: only of those that are shown without being asked for."""

    def figure(claims: Sequence[Claims]) -> float:
        return _precision(
            [
                s.label >= 0
                for c in claims
                for s in [s for s in c.statements if s.shown or not likely][:count]
            ]
        )

    return figure


def covered(claims: Sequence[Claims]) -> float:
    """Share of the sessions with three or more labels that show a likely statement."""
    wanted = [c for c in claims if len(c.kinds) >= 3]
    shown = sum(any(s.shown for s in c.statements) for c in wanted)
    return shown / max(1, len(wanted))


def types_right(classes: dict[str, str]) -> Figure:
    """Share of the labelled statements that are found whose type is right."""

    def figure(claims: Sequence[Claims]) -> float:
        return _precision(
            [
                classes.get(s.kind, s.kind) == classes.get(c.kinds[s.label], c.kinds[s.label])
                for c in claims
                for s in c.statements
                if s.label >= 0
            ]
        )

    return figure


DESIGN = {"architecture": "design", "implementation": "design"}
"""Types that are one of the three."""


def _precision(right: Sequence[bool]) -> float:
    return sum(right) / max(1, len(right))


def statements_ece(claims: Sequence[Claims]) -> float:
    """Expected calibration error of the reported statements."""
    return _ece([(s.confidence, float(s.label >= 0)) for c in claims for s in c.statements])


def messages_ece(claims: Sequence[Claims]) -> float:
    """Expected calibration error of the messages that hold one, by the messages' own
    probability."""
    return _ece([(p, float(m in c.truth)) for c in claims for m, p in c.chosen.items()])


def _ece(found: Sequence[tuple[float, float]]) -> float:
    """Expected calibration error, ten bins of equal mass."""
    pairs = sorted(found)
    bins = min(10, len(pairs))
    total = 0.0
    for k in range(bins):
        cut = pairs[k * len(pairs) // bins : (k + 1) * len(pairs) // bins]
        if cut:
            total += abs(sum(p for p, _ in cut) - sum(y for _, y in cut))
    return total / max(1, len(pairs))


def gate_recall(claims: Sequence[Claims]) -> float:
    """Share of the labelled statements that pass the gate."""
    return sum(c.kept for c in claims) / max(1, sum(c.stated for c in claims))


def gate_share(claims: Sequence[Claims]) -> float:
    """Share of all sentences that pass the gate."""
    return sum(c.passed for c in claims) / max(1, sum(c.sentences for c in claims))


FIGURES: dict[str, Figure] = {
    "statements_f1": statements_f1,
    "statements_precision": statements_precision,
    "statements_recall": statements_recall,
    "first_3": at(3),
    "first_5": at(5),
    "likely_first_3": at(3, likely=True),
    "likely_first_5": at(5, likely=True),
    "likely_covered": covered,
    "messages_f1": f1,
    "messages_precision": precision,
    "messages_recall": recall,
    "statements_ece": statements_ece,
    "messages_ece": messages_ece,
    "types_right": types_right({}),
    "three_types_right": types_right(DESIGN),
    "gate_recall": gate_recall,
    "gate_share": gate_share,
}


def table(
    claims: Sequence[Claims], resamples: int = 500
) -> dict[str, tuple[float, float, float]]:
    """Each figure with its 95 % interval by bootstrap over sessions."""
    chance = random.Random(1)
    draws = [[chance.choice(claims) for _ in claims] for _ in range(resamples)]
    found = {}
    for name, figure in FIGURES.items():
        values = sorted(figure(d) for d in draws)
        low, high = values[int(0.025 * resamples)], values[int(0.975 * resamples) - 1]
        found[name] = (round(figure(claims), 3), round(low, 3), round(high, 3))
    return found


def paired(
    ours: Sequence[Claims], theirs: Sequence[set[int]], swaps: int = 10_000
) -> dict[str, float]:
    """F1 of both and the p-value of a randomisation test that swaps whole sessions."""
    counts = [
        (
            len(c.truth & set(c.chosen)),
            len(c.chosen),
            len(c.truth & other),
            len(other),
            len(c.truth),
        )
        for c, other in zip(ours, theirs, strict=True)
    ]

    def difference(swap: Sequence[bool]) -> tuple[float, float]:
        a = b = na = nb = truth = 0
        for (x, nx, y, ny, t), turned in zip(counts, swap, strict=True):
            if turned:
                x, nx, y, ny = y, ny, x, nx
            a, na, b, nb, truth = a + x, na + nx, b + y, nb + ny, truth + t
        return 2 * a / max(1, na + truth), 2 * b / max(1, nb + truth)

    first, second = difference([False] * len(counts))
    chance = random.Random(2)
    beyond = 0
    for _ in range(swaps):
        a, b = difference([chance.random() < 0.5 for _ in counts])
        beyond += abs(a - b) >= abs(first - second) - 1e-12
    return {
        "f1": round(first, 3),
        "bag_f1": round(second, 3),
        "p": round((beyond + 1) / (swaps + 1), 4),
    }
