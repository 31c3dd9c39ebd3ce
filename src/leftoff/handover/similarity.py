"""How alike two texts are: 1 - Levenshtein distance / length of the longer one, in code points.

The distance of texts of a megabyte takes half a minute to count in full. So the texts are
first divided into lines: lines that stand once in both are matched, what is between them is
compared, and the sum is a distance that is reached and so an upper bound. Characters that the
one has and the other lacks are a lower bound. Where the upper bound is small, counting below it
is exact and quick; where even that takes too long, the bounds are the answer, and only a
threshold between them is asked about.

Work is bounded by counting it, never by the clock, so that the same texts give the same answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

QUICK = 50_000_000
"""Steps of the distance's inner loop (64 cells each) that are always spent: about 40 ms."""

PATIENT = 800_000_000
"""Steps spent on nearly equal texts, and on a threshold between the bounds: about 0.7 s."""

CLOSE = 0.9
"""From this similarity on texts are nearly equal."""

WORTH_TRIMMING = 1_000_000
"""Product of two lengths from which the common ends are looked for before the distance is."""

GAP = 5_000_000
"""Steps spent on one stretch between matched lines; GAPS on all of them."""

GAPS = 40_000_000


SAMPLE, COMMON = 4096, 20
"""Characters of a text that tell which are common, and how many common ones are counted."""

MANY = 600_000
"""Lines, or pieces of long lines; texts of more are not matched line by line."""


class Similarity(Struct, frozen=True):
    """How alike two texts are.

    Attributes:
        low, high: the similarity is not below and not above these, 0 to 1; equal where it is
            exact.
        estimated: a threshold lies between the bounds, and it was not worth the time to say on
            which side the similarity is; `low` is taken, which is near the truth.
        changed, lines: so many lines of so many were changed, added or taken out.
    """

    low: float
    high: float
    estimated: bool = False
    changed: int = 0
    lines: int = 0

    @property
    def exact(self) -> bool:
        """Whether the similarity is known to the last digit."""
        return self.low == self.high

    @property
    def value(self) -> float:
        """The similarity to decide with. It is on the right side of every threshold unless
        `estimated`."""
        return self.low


def measure(a: str, b: str, thresholds: Iterable[float] = ()) -> Similarity:
    """How alike `a` and `b` are.

    Args:
        thresholds: similarities that something is decided by; the answer lies wholly on one
            side of each, unless it is `estimated`.
    """
    lines = max(_line_count(a), _line_count(b))
    if a == b:
        return Similarity(1.0, 1.0, lines=lines)
    longest = max(len(a), len(b))
    upper, changed = _upper(*_trimmed(a, b, whole_lines=True))
    a, b = _trimmed(a, b)
    lower = _lower(a, b)
    lower, upper, estimated = _narrowed(a, b, lower, upper, longest, thresholds)
    return Similarity(1 - upper / longest, 1 - lower / longest, estimated, changed, lines)


def _narrowed(
    a: str, b: str, lower: int, upper: int, longest: int, thresholds: Iterable[float]
) -> tuple[int, int, bool]:
    """Closer bounds of the distance, and whether a threshold is still between them."""
    budget = PATIENT
    steps = _steps(a, b, upper)
    close = 1 - upper / longest >= CLOSE
    if lower < upper and (steps <= QUICK or (close and steps <= budget)):
        lower = upper = _distance(a, b, upper)
    # The strictest threshold has the narrowest band, so it is asked first.
    for threshold in sorted(set(thresholds), reverse=True):
        allowed = _allowed(threshold, longest)
        if not lower <= allowed < upper:
            continue
        budget -= _steps(a, b, allowed)
        if budget < 0:
            return lower, upper, True
        found = _distance(a, b, allowed)
        if found <= allowed:
            return found, found, False
        lower = allowed + 1
    return lower, upper, False


def _allowed(threshold: float, longest: int) -> int:
    """The largest distance whose similarity is not below the threshold."""
    allowed = min(longest, round((1 - threshold) * longest) + 1)
    while allowed >= 0 and 1 - allowed / longest < threshold:
        allowed -= 1
    return allowed


def _steps(a: str, b: str, band: int) -> int:
    """What it costs to look for distances up to `band`."""
    return max(len(a), len(b)) * min(len(a), len(b), 2 * band + 1) // 64


def _distance(a: str, b: str, most: int) -> int:
    """The distance, or `most + 1` if it is larger."""
    from rapidfuzz.distance import Levenshtein  # 80 ms to import: only where texts differ

    return Levenshtein.distance(a, b, score_cutoff=most, score_hint=most)


def _trimmed(a: str, b: str, *, whole_lines: bool = False) -> tuple[str, str]:
    """The texts without their common beginning and end."""
    x, y = len(a), len(b)
    start = _common(min(x, y), lambda low, high: a[low:high] == b[low:high])
    if whole_lines:
        start = a.rfind("\n", 0, start) + 1
    # Slices from the back are counted from the length: `-0` would be no end.
    end = _common(
        min(x, y) - start, lambda low, high: a[x - high : x - low] == b[y - high : y - low]
    )
    if whole_lines and end:
        newline = a.find("\n", x - end)
        end = 0 if newline < 0 else x - newline - 1
    return a[start : x - end], b[start : y - end]


def _common(limit: int, same: Callable[[int, int], bool]) -> int:
    """How far two texts agree, by ever larger, then ever smaller steps."""
    at, step = 0, 256
    while step:
        if at + step <= limit and same(at, at + step):
            at += step
            step *= 2
        else:
            step //= 2
    return at


def _lower(a: str, b: str) -> int:
    """A distance that is not undercut: by length, and by characters that only one text has.

    Only the commonest characters are counted, and those beyond Latin-1 count as one: that
    makes the bound lower, never wrong.
    """
    old, new = a.encode("latin-1", "replace"), b.encode("latin-1", "replace")
    common = Counter(old[:SAMPLE] + new[:SAMPLE]).most_common(COMMON)
    surplus = [old.count(c) - new.count(c) for c, _ in common]
    missing, added = sum(n for n in surplus if n > 0), -sum(n for n in surplus if n < 0)
    return max(missing, added, abs(len(a) - len(b)))


def _line_count(text: str) -> int:
    return text.count("\n") + (text[-1:] not in {"", "\n"})


# -- the upper bound -------------------------------------------------------------------------

LONG = 1000
"""Code points; a longer line is matched in pieces."""

_PIECE = re.compile(r"[^\s,;{}]*[\s,;{}]+|[^\s,;{}]+")


def _upper(a: str, b: str) -> tuple[int, int]:
    """A distance that is reached, and how many lines differ: matched lines are kept, each gap
    between them is redone."""
    if max(a.count("\n"), b.count("\n")) > MANY:
        return max(len(a), len(b)), max(_line_count(a), _line_count(b))
    rows, row_lines = _pieces(a)
    columns, column_lines = _pieces(b)
    if max(len(rows), len(columns)) > MANY:
        return max(len(a), len(b)), max(_line_count(a), _line_count(b))
    budget = GAPS
    total = 0
    old_lines: set[int] = set()
    new_lines: set[int] = set()
    at_a = at_b = 0
    for i, j in [*matched(rows, columns), (len(rows), len(columns))]:
        if i > at_a or j > at_b:
            old, new = "".join(rows[at_a:i]), "".join(columns[at_b:j])
            if len(old) * len(new) > WORTH_TRIMMING:
                old, new = _trimmed(old, new)
            larger = max(len(old), len(new))
            steps = len(old) * len(new) // 64
            if old and new and steps <= min(GAP, budget):
                budget -= steps
                larger = _distance(old, new, larger)
            total += larger
            old_lines.update(row_lines[at_a:i])
            new_lines.update(column_lines[at_b:j])
        at_a, at_b = i + 1, j + 1
    return min(total, max(len(a), len(b))), max(len(old_lines), len(new_lines))


def _pieces(text: str) -> tuple[list[str], Sequence[int]]:
    """The lines of a text, long ones in pieces, and the number of the line that each is of."""
    lines = text.split("\n")
    ended = [line + "\n" for line in lines[:-1]]
    if lines[-1]:
        ended.append(lines[-1])
    if not any(len(line) > LONG for line in ended):
        return ended, range(len(ended))
    pieces: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(ended):
        found = [line] if len(line) <= LONG else _PIECE.findall(line)
        pieces += found
        numbers += [number] * len(found)
    return pieces, numbers


def matched(rows: Sequence[str], columns: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of equal lines, in order in both texts.

    Lines that stand once in both are matched first, as many as keep the order; then, in each
    gap, equal lines from its front and from its back.
    """
    where = {line: j for j, line in enumerate(columns)}
    once_b = _once(columns)
    unique = [(i, where[row]) for i, row in _once_rows(rows) if row in once_b]
    anchors = _increasing(unique)
    found: list[tuple[int, int]] = []
    i = j = 0
    for next_i, next_j in [*anchors, (len(rows), len(columns))]:
        found += _greedy(rows, columns, i, j, next_i, next_j)
        if next_i < len(rows) or next_j < len(columns):
            found.append((next_i, next_j))
        i, j = next_i + 1, next_j + 1
    return found


def _once(lines: Sequence[str]) -> set[str]:
    return {line for line, count in Counter(lines).items() if count == 1}


def _once_rows(rows: Sequence[str]) -> Iterable[tuple[int, str]]:
    once = _once(rows)
    return ((i, row) for i, row in enumerate(rows) if row in once)


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, not adjacent, in which the second number grows."""
    ends: list[int] = []  # the smallest second number that a run of each length ends in
    last: list[int] = []  # the pair that it belongs to
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        place = bisect_left(ends, j)
        if place == len(ends):
            ends.append(j)
            last.append(number)
        else:
            ends[place], last[place] = j, number
        before.append(last[place - 1] if place else -1)
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _greedy(
    rows: Sequence[str], columns: Sequence[str], i: int, j: int, end_i: int, end_j: int
) -> list[tuple[int, int]]:
    """Equal lines from the front and from the back of a gap."""
    front: list[tuple[int, int]] = []
    while i < end_i and j < end_j and rows[i] == columns[j]:
        front.append((i, j))
        i, j = i + 1, j + 1
    back: list[tuple[int, int]] = []
    while end_i > i and end_j > j and rows[end_i - 1] == columns[end_j - 1]:
        end_i, end_j = end_i - 1, end_j - 1
        back.append((end_i, end_j))
    return front + back[::-1]
