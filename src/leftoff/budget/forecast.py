"""How long a window will last: calls and tokens left, from how it has filled so far."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

FEWEST = 4
"""Calls that must have been seen since the last compaction."""

SKIPPED = 0.25
"""Share of the calls at the beginning that say little: a session begins by reading."""

USUAL = 800
PULL = 20
"""Tokens that a call usually adds, and how many calls that knowledge is worth: what is seen of
a short session is pulled towards the usual. From sessions of coding agents that ended in a
compaction (docs/budget.md)."""

_MOST = 240
"""Calls that the slope is taken over; the pairs of more would be slow to look at."""


class Forecast(Struct, frozen=True):
    """What is left of a window.

    Attributes:
        tokens_left: until the usable window is full, at least 0.
        calls_left: API calls until then.
        growth: tokens that a call adds, as estimated.
        calls_seen: calls since the last compaction that it rests on.
    """

    tokens_left: int
    calls_left: int
    growth: float
    calls_seen: int


def growth(counts: Sequence[int]) -> float:
    """Tokens that a call adds: the median slope between any two calls (Theil and Sen), pulled
    towards what is usual where few calls were seen. One huge tool result does not move it."""
    seen = counts[int(len(counts) * SKIPPED) :][-_MOST:]
    slopes = [
        (seen[b] - seen[a]) / (b - a) for a in range(len(seen)) for b in range(a + 1, len(seen))
    ]
    slope = median(slopes) if slopes else float(USUAL)
    return (slope * len(counts) + USUAL * PULL) / (len(counts) + PULL)


def forecast(counts: Sequence[int], usable: int | None) -> Forecast | None:
    """What is left of a window of `usable` tokens; None where that is not known, too few calls
    were seen, or the window does not fill.

    Args:
        counts: tokens in the window at each call since the last compaction.
    """
    if not usable or len(counts) < FEWEST:
        return None
    left = max(0, usable - counts[-1])
    rate = growth(counts)
    if rate <= 0:
        return None
    return Forecast(left, round(left / rate), round(rate, 1), len(counts))
