"""Similarity of two texts: 1 - Levenshtein distance / length of the longer one, in code points.

The exact distance of texts of a megabyte takes half a minute. So the texts are first aligned
by lines, as in a patience diff; the distances of the gaps between matched lines add up to an
upper bound. The characters that only one text has give a lower bound. If the upper bound is
small, the exact distance below it is computed, which is fast; if even that takes too long, the
result is the two bounds, and only the given thresholds between them are decided exactly.

Work is limited by a count of steps, not by time, so that the result is deterministic.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from leftoff import lazy_re as re

# Steps of the distance's inner loop (64 cells each) that are always spent: about 40 ms. The
# step limits were chosen by hand; `benchmarks/compatibility` measures the resulting times.
ALWAYS_STEPS = 50_000_000

# Steps spent on nearly equal texts and on thresholds between the bounds: about 0.7 s.
MAX_STEPS = 800_000_000

# Texts of at least this similarity are nearly equal: up to `MAX_STEPS` are spent on them.
# Chosen by hand.
NEARLY_EQUAL = 0.9

# Product of two lengths above which common ends are removed before the comparison.
MIN_TRIM_PRODUCT = 1_000_000

# Steps spent on one gap between matched lines.
MAX_GAP_STEPS = 5_000_000

# Steps spent on all gaps together.
MAX_ALL_GAPS_STEPS = 40_000_000

# The lower bound counts the `COMMON_CHARACTERS` most frequent characters of the first
# `SAMPLE_LENGTH` characters of each text. Chosen by hand.
SAMPLE_LENGTH, COMMON_CHARACTERS = 4096, 20

# Lines, or chunks of long lines; larger texts are not aligned by lines. Chosen by hand.
MAX_LINES = 600_000


class Similarity(Struct, frozen=True):
    """The similarity of two texts.

    Attributes:
        low, high: bounds of the similarity, 0 to 1; equal if it is exact.
        estimated: whether a threshold lies between the bounds because deciding it would take
            too long; `low` is used then.
        changed, lines: number of lines changed, added or removed, of how many.
    """

    low: float
    high: float
    estimated: bool = False
    changed: int = 0
    lines: int = 0

    @property
    def exact(self) -> bool:
        """Whether the similarity is known exactly."""
        return self.low == self.high

    @property
    def value(self) -> float:
        """The similarity for decisions: on the correct side of every threshold unless
        `estimated`."""
        return self.low


def text_similarity(a: str, b: str, thresholds: Iterable[float] = ()) -> Similarity:
    """The similarity of `a` and `b`.

    Args:
        thresholds: similarities that decisions depend on; both bounds of the result lie on the
            same side of each, unless it is `estimated`.
    """
    lines = max(_line_count(a), _line_count(b))
    if a == b:
        return Similarity(1.0, 1.0, lines=lines)
    longest = max(len(a), len(b))
    upper, changed = _upper_bound(*_strip_common_ends(a, b, whole_lines=True))
    a, b = _strip_common_ends(a, b)
    lower = _lower_bound(a, b)
    lower, upper, estimated = _narrow_bounds(a, b, lower, upper, longest, thresholds)
    return Similarity(1 - upper / longest, 1 - lower / longest, estimated, changed, lines)


def _narrow_bounds(
    a: str, b: str, lower: int, upper: int, longest: int, thresholds: Iterable[float]
) -> tuple[int, int, bool]:
    """Narrower bounds of the distance, and whether a threshold is still between them."""
    budget = MAX_STEPS
    steps = _step_count(a, b, upper)
    nearly_equal = 1 - upper / longest >= NEARLY_EQUAL
    if lower < upper and (steps <= ALWAYS_STEPS or (nearly_equal and steps <= budget)):
        lower = upper = _distance(a, b, upper)
    # The highest threshold has the narrowest band and so the lowest cost: it is tried first.
    for threshold in sorted(set(thresholds), reverse=True):
        allowed = _max_distance(threshold, longest)
        if not lower <= allowed < upper:
            continue
        budget -= _step_count(a, b, allowed)
        if budget < 0:
            return lower, upper, True
        found = _distance(a, b, allowed)
        if found <= allowed:
            return found, found, False
        lower = allowed + 1
    return lower, upper, False


def _max_distance(threshold: float, longest: int) -> int:
    """The largest distance whose similarity is not below the threshold."""
    allowed = min(longest, round((1 - threshold) * longest) + 1)
    while allowed >= 0 and 1 - allowed / longest < threshold:
        allowed -= 1
    return allowed


def _step_count(a: str, b: str, band: int) -> int:
    """The steps needed to compute a distance of at most `band`."""
    return max(len(a), len(b)) * min(len(a), len(b), 2 * band + 1) // 64


def _distance(a: str, b: str, limit: int) -> int:
    """The distance, or `most + 1` if it is larger."""
    from rapidfuzz.distance import Levenshtein  # 80 ms to import: only where texts differ

    return Levenshtein.distance(a, b, score_cutoff=limit, score_hint=limit)


def _strip_common_ends(a: str, b: str, *, whole_lines: bool = False) -> tuple[str, str]:
    """The texts without their common prefix and suffix."""
    x, y = len(a), len(b)
    start = _common_length(min(x, y), lambda low, high: a[low:high] == b[low:high])
    if whole_lines:
        start = a.rfind("\n", 0, start) + 1
    # Slices from the end are computed from the length, since `-0` is not the end.
    end = _common_length(
        min(x, y) - start, lambda low, high: a[x - high : x - low] == b[y - high : y - low]
    )
    if whole_lines and end:
        newline = a.find("\n", x - end)
        end = 0 if newline < 0 else x - newline - 1
    return a[start : x - end], b[start : y - end]


def _common_length(limit: int, same: Callable[[int, int], bool]) -> int:
    """The length of the common prefix, by exponential and then binary search."""
    at, step = 0, 256
    while step:
        if at + step <= limit and same(at, at + step):
            at += step
            step *= 2
        else:
            step //= 2
    return at


def _lower_bound(a: str, b: str) -> int:
    """A lower bound of the distance, from the lengths and the character counts.

    Only the most frequent characters are counted, and all characters beyond Latin-1 count as
    one. That makes the bound lower, never wrong.
    """
    old, new = a.encode("latin-1", "replace"), b.encode("latin-1", "replace")
    common = Counter(old[:SAMPLE_LENGTH] + new[:SAMPLE_LENGTH]).most_common(COMMON_CHARACTERS)
    surplus = [old.count(c) - new.count(c) for c, _ in common]
    missing, added = sum(n for n in surplus if n > 0), -sum(n for n in surplus if n < 0)
    return max(missing, added, abs(len(a) - len(b)))


def _line_count(text: str) -> int:
    return text.count("\n") + (text[-1:] not in {"", "\n"})


# -- the upper bound -------------------------------------------------------------------------

# Code points; longer lines are split into chunks. Chosen by hand.
MAX_LINE_LENGTH = 1000

_CHUNK = re.compile(r"[^\s,;{}]*[\s,;{}]+|[^\s,;{}]+")


def _upper_bound(a: str, b: str) -> tuple[int, int]:
    """An upper bound of the distance, and how many lines differ: the sum of the distances of
    the gaps between matched lines."""
    if max(a.count("\n"), b.count("\n")) > MAX_LINES:
        return max(len(a), len(b)), max(_line_count(a), _line_count(b))
    rows, row_lines = _split_lines(a)
    columns, column_lines = _split_lines(b)
    if max(len(rows), len(columns)) > MAX_LINES:
        return max(len(a), len(b)), max(_line_count(a), _line_count(b))
    budget = MAX_ALL_GAPS_STEPS
    total = 0
    old_lines: set[int] = set()
    new_lines: set[int] = set()
    at_a = at_b = 0
    for i, j in [*match_lines(rows, columns), (len(rows), len(columns))]:
        if i > at_a or j > at_b:
            old, new = "".join(rows[at_a:i]), "".join(columns[at_b:j])
            if len(old) * len(new) > MIN_TRIM_PRODUCT:
                old, new = _strip_common_ends(old, new)
            larger = max(len(old), len(new))
            steps = len(old) * len(new) // 64
            if old and new and steps <= min(MAX_GAP_STEPS, budget):
                budget -= steps
                larger = _distance(old, new, larger)
            total += larger
            old_lines.update(row_lines[at_a:i])
            new_lines.update(column_lines[at_b:j])
        at_a, at_b = i + 1, j + 1
    return min(total, max(len(a), len(b))), max(len(old_lines), len(new_lines))


def _split_lines(text: str) -> tuple[list[str], Sequence[int]]:
    """The lines of a text, long ones in chunks, and the line number of each."""
    lines = text.split("\n")
    ended = [line + "\n" for line in lines[:-1]]
    if lines[-1]:
        ended.append(lines[-1])
    if not any(len(line) > MAX_LINE_LENGTH for line in ended):
        return ended, range(len(ended))
    chunks: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(ended):
        found = [line] if len(line) <= MAX_LINE_LENGTH else _CHUNK.findall(line)
        chunks += found
        numbers += [number] * len(found)
    return chunks, numbers


def match_lines(rows: Sequence[str], columns: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indexes of equal lines, increasing in both texts, as in a patience diff.

    First the longest increasing sequence of lines that are unique in both texts is matched;
    then, in each gap, equal lines from its start and from its end.
    """
    column_of = {line: j for j, line in enumerate(columns)}
    unique_columns = _unique_lines(columns)
    unique = [(i, column_of[row]) for i, row in _unique_rows(rows) if row in unique_columns]
    anchors = _longest_increasing(unique)
    found: list[tuple[int, int]] = []
    i = j = 0
    for next_i, next_j in [*anchors, (len(rows), len(columns))]:
        found += _match_ends(rows, columns, i, j, next_i, next_j)
        if next_i < len(rows) or next_j < len(columns):
            found.append((next_i, next_j))
        i, j = next_i + 1, next_j + 1
    return found


def _unique_lines(lines: Sequence[str]) -> set[str]:
    return {line for line, count in Counter(lines).items() if count == 1}


def _unique_rows(rows: Sequence[str]) -> Iterable[tuple[int, str]]:
    once = _unique_lines(rows)
    return ((i, row) for i, row in enumerate(rows) if row in once)


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs in which the second number increases."""
    ends: list[int] = []  # the smallest last number of a subsequence of each length
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


def _match_ends(
    rows: Sequence[str], columns: Sequence[str], i: int, j: int, end_i: int, end_j: int
) -> list[tuple[int, int]]:
    """Equal lines at the start and at the end of a gap."""
    front: list[tuple[int, int]] = []
    while i < end_i and j < end_j and rows[i] == columns[j]:
        front.append((i, j))
        i, j = i + 1, j + 1
    back: list[tuple[int, int]] = []
    while end_i > i and end_j > j and rows[end_i - 1] == columns[end_j - 1]:
        end_i, end_j = end_i - 1, end_j - 1
        back.append((end_i, end_j))
    return front + back[::-1]
