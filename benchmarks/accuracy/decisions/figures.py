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


def joint(claims: Sequence[Claims]) -> float:
    """F1 of (message, type)."""
    right = sum(len(c.true_types & c.types) for c in claims)
    return 2 * right / max(1, sum(len(c.true_types) + len(c.types) for c in claims))


def at_ten(claims: Sequence[Claims]) -> float:
    """Precision among the first min(10, labelled) messages by confidence, over sessions with
    at least five labelled messages; fewer claims than that are charged."""
    found = []
    for c in claims:
        count = min(10, len(c.truth))
        if len(c.truth) >= 5:
            first = sorted(c.chosen, key=lambda m: (-c.chosen[m], m))[:count]
            found.append(len(c.truth & set(first)) / count)
    return sum(found) / max(1, len(found))


def _pairs(claims: Sequence[Claims]) -> list[tuple[float, float]]:
    return sorted((p, float(m in c.truth)) for c in claims for m, p in c.chosen.items())


def ece(claims: Sequence[Claims]) -> float:
    """Expected calibration error of the claims, ten bins of equal mass."""
    pairs = _pairs(claims)
    bins = min(10, len(pairs))
    total = 0.0
    for k in range(bins):
        cut = pairs[k * len(pairs) // bins : (k + 1) * len(pairs) // bins]
        if cut:
            total += abs(sum(p for p, _ in cut) - sum(y for _, y in cut))
    return total / max(1, len(pairs))


def skill(claims: Sequence[Claims]) -> float:
    """Brier skill of the claims against their base rate."""
    pairs = _pairs(claims)
    if not pairs:
        return 0.0
    base = sum(y for _, y in pairs) / len(pairs)
    brier = sum((p - y) ** 2 for p, y in pairs) / len(pairs)
    return 1 - brier / max(1e-9, base * (1 - base))


def gate_recall(claims: Sequence[Claims]) -> float:
    """Share of the labelled statements that pass the gate."""
    return sum(c.kept for c in claims) / max(1, sum(c.statements for c in claims))


def gate_share(claims: Sequence[Claims]) -> float:
    """Share of all sentences that pass the gate."""
    return sum(c.passed for c in claims) / max(1, sum(c.sentences for c in claims))


FIGURES: dict[str, Figure] = {
    "f1": f1,
    "precision": precision,
    "recall": recall,
    "p_at_10": at_ten,
    "joint_f1": joint,
    "ece": ece,
    "brier_skill": skill,
    "gate_recall": gate_recall,
    "gate_share": gate_share,
}


def table(
    claims: Sequence[Claims], resamples: int = 2000
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
