"""Bootstrap confidence intervals over sessions, and paired randomisation tests."""

import random
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import TypeVar

from msgspec import Struct

S = TypeVar("S")
RESAMPLES = 2000
SWAPS = 10_000
SEED = 20_261
CONFIDENCE_LEVEL = 0.95


class Interval(Struct, frozen=True):
    """A 95 % confidence interval over randomly drawn sessions."""

    low: float
    high: float


class Difference(Struct, frozen=True):
    """Ours minus another's on the same sessions; `p`: two-sided randomisation test."""

    value: float
    interval: Interval | None
    p: float


def bootstrap(
    sessions: Sequence[S],
    figure: Callable[[Sequence[S]], float | None],
    *,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """The bias-corrected and accelerated (BCa) interval of a figure over sessions.

    None for fewer than two sessions or if the figure has no value. The generator is seeded, so
    the same sessions give the same interval."""
    value = figure(sessions)
    # One session says nothing about how others differ from it.
    if value is None or len(sessions) < 2 or resamples < 2:
        return None
    rng = random.Random(SEED)  # noqa: S311 - must be repeatable
    samples = (figure(rng.choices(sessions, k=len(sessions))) for _ in range(resamples))
    drawn = sorted(found for found in samples if found is not None)
    if not drawn:
        return None
    low, high = _corrected(sessions, figure, value, drawn)
    return Interval(quantile(drawn, low), quantile(drawn, high))


def _corrected(
    sessions: Sequence[S],
    figure: Callable[[Sequence[S]], float | None],
    value: float,
    drawn: Sequence[float],
) -> tuple[float, float]:
    """The two quantiles of the resampled values, corrected for bias and skew."""
    normal = NormalDist()
    tails = (1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2
    below = sum(d < value for d in drawn) + 0.5 * sum(d == value for d in drawn)
    share = below / len(drawn)
    if not 0 < share < 1:
        return tails
    bias = normal.inv_cdf(share)
    left_out = (figure([*sessions[:i], *sessions[i + 1 :]]) for i in range(len(sessions)))
    jackknife = [found for found in left_out if found is not None]
    mean = sum(jackknife) / len(jackknife) if jackknife else 0.0
    cubes = sum((mean - j) ** 3 for j in jackknife)
    squares = sum((mean - j) ** 2 for j in jackknife)
    skew = cubes / (6 * squares**1.5) if squares > 1e-18 else 0.0

    def at(tail: float) -> float:
        z = bias + normal.inv_cdf(tail)
        return normal.cdf(bias + z / (1 - skew * z)) if abs(skew * z) < 1 else tail

    return at(tails[0]), at(tails[1])


def quantile(ordered: Sequence[float], share: float) -> float:
    """A quantile of sorted values, linearly interpolated; IndexError without values."""
    place = share * (len(ordered) - 1)
    lower = min(len(ordered) - 1, max(0, int(place)))
    upper = min(len(ordered) - 1, lower + 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)


def paired(
    ours: Sequence[S],
    theirs: Sequence[S],
    figure: Callable[[Sequence[S]], float | None],
    *,
    swaps: int = SWAPS,
    resamples: int = RESAMPLES,
) -> Difference | None:
    """Ours minus theirs on the same sessions in the same order, with interval and p-value.
    `ValueError` where the two sides have different numbers of sessions.

    The p-value is the share of random exchanges of the two systems' results, session by
    session, whose difference is at least as large. None if either figure has no value."""

    def difference(pairs: Sequence[tuple[S, S]]) -> float | None:
        x, y = figure([o for o, _ in pairs]), figure([t for _, t in pairs])
        return None if x is None or y is None else x - y

    if len(ours) != len(theirs):
        raise ValueError("a paired test needs the same sessions on both sides")
    both = list(zip(ours, theirs, strict=True))
    value = difference(both)
    if value is None:
        return None
    rng = random.Random(SEED)  # noqa: S311 - must be repeatable
    as_extreme = 0
    for _ in range(swaps):
        bits = rng.getrandbits(len(both) or 1)
        swapped = difference(
            [(t, o) if bits >> i & 1 else (o, t) for i, (o, t) in enumerate(both)]
        )
        as_extreme += swapped is not None and abs(swapped) >= abs(value) - 1e-12

    interval = bootstrap(both, difference, resamples=resamples)
    return Difference(value, interval, (as_extreme + 1) / (swaps + 1))
