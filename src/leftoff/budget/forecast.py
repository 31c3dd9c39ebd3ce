"""Forecast of how long a context window will last: calls and tokens left."""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

# Calls since the last compaction without which there is no forecast. Chosen by hand; not
# measured.
MIN_CALLS = 4
# Share of the first calls that is ignored: a session begins by reading, which fills the window
# faster than the work after it. Chosen by hand; not measured.
SKIPPED_SHARE = 0.25
PRIOR_GROWTH = 800
# Prior of the growth: tokens that a call adds, and how many observed calls the prior weighs. A
# short session is pulled towards it. From sessions of coding agents that ended in a compaction
# (docs/budget.md).
PRIOR_CALLS = 20
# The latest calls that the slope is taken over: the number of pairs grows with the square.
_MAX_CALLS = 240


class Forecast(Struct, frozen=True):
    """What is left of a window."""

    tokens_left: int  # until the usable window is full, at least 0
    calls_left: int  # API calls until then
    growth: float  # tokens that a call adds, as estimated
    calls_seen: int  # calls since the last compaction that it rests on


def growth(counts: Sequence[int]) -> float:
    """Tokens that a call adds: the median slope over all pairs of calls (Theil-Sen estimator),
    averaged with the prior by the number of calls. One huge tool result does not move it."""
    seen = counts[int(len(counts) * SKIPPED_SHARE) :][-_MAX_CALLS:]
    slopes = [
        (seen[b] - seen[a]) / (b - a) for a in range(len(seen)) for b in range(a + 1, len(seen))
    ]
    slope = median(slopes) if slopes else float(PRIOR_GROWTH)
    return (slope * len(counts) + PRIOR_GROWTH * PRIOR_CALLS) / (len(counts) + PRIOR_CALLS)


def forecast(counts: Sequence[int], usable: int | None) -> Forecast | None:
    """What is left of a window of `usable` tokens, by what it held at each call since the last
    compaction; None if `usable` is not known, if there are fewer than `MIN_CALLS` calls, or if
    the window does not grow."""
    if not usable or len(counts) < MIN_CALLS:
        return None
    left = max(0, usable - counts[-1])
    rate = growth(counts)
    # A window that does not grow lasts for ever, which is no forecast.
    if rate <= 0:
        return None
    return Forecast(left, round(left / rate), round(rate, 1), len(counts))
