"""What counts as the same: messages, spans of words, one-to-one assignment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

SAME = 0.5
"""Two spans are the same from this share of common tokens on."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


class Counts(Struct, frozen=True):
    """Right, wrong and missed; they add up over sessions."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.right + other.right, self.wrong + other.wrong, self.missed + other.missed
        )

    @property
    def precision(self) -> float | None:
        """Share of what was said that is right; None if nothing was said."""
        said = self.right + self.wrong
        return self.right / said if said else None

    @property
    def recall(self) -> float | None:
        """Share of the labels that were found; None if there are none."""
        labelled = self.right + self.missed
        return self.right / labelled if labelled else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None where nothing was labelled or said."""
        everything = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / everything if everything else None


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of counts."""
    right = wrong = missed = 0
    for one in counts:
        right += one.right
        wrong += one.wrong
        missed += one.missed
    return Counts(right, wrong, missed)


def sets(
    said: Iterable[object], labelled: Iterable[object], ignored: Iterable[object] = ()
) -> Counts:
    """Two sets compared; what is ignored and not labelled counts for nothing."""
    gold = set(labelled)
    found = set(said) - (set(ignored) - gold)
    return Counts(len(found & gold), len(found - gold), len(gold - found))


def tokens(text: str) -> Counter[str]:
    """Words and signs of a text, case left aside."""
    return Counter(_TOKEN.findall(text.casefold()))


def likeness(a: Counter[str], b: Counter[str]) -> float:
    """Common tokens over all tokens, 0 to 1."""
    common = sum((a & b).values())
    union = a.total() + b.total() - common
    return common / union if union else 0.0


def assignment(worth: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The one-to-one pairs of rows and columns with the greatest total worth.

    Pairs that are worth nothing are left out. Among equal totals the result depends on the
    order of rows and columns only.
    """
    if not worth or not worth[0]:
        return []
    flipped = len(worth) > len(worth[0])
    table = [list(row) for row in (zip(*worth, strict=True) if flipped else worth)]
    pairs = _hungarian([[-value for value in row] for row in table])
    found = [(row, column) for row, column in pairs if table[row][column] > 0]
    return sorted((column, row) if flipped else (row, column) for row, column in found)


def _hungarian(cost: list[list[float]]) -> list[tuple[int, int]]:
    """Least-cost assignment of every row to a column (rows <= columns); O(rows^2 columns)."""
    rows, columns = len(cost), len(cost[0])
    above = [0.0] * (rows + 1)
    left = [0.0] * (columns + 1)
    taken = [0] * (columns + 1)
    for row in range(1, rows + 1):
        taken[0] = row
        column = 0
        least = [float("inf")] * (columns + 1)
        before = [0] * (columns + 1)
        used = [False] * (columns + 1)
        while True:
            used[column] = True
            delta, following = float("inf"), 0
            for j in range(1, columns + 1):
                if used[j]:
                    continue
                reduced = cost[taken[column] - 1][j - 1] - above[taken[column]] - left[j]
                if reduced < least[j]:
                    least[j], before[j] = reduced, column
                if least[j] < delta:
                    delta, following = least[j], j
            for j in range(columns + 1):
                if used[j]:
                    above[taken[j]] += delta
                    left[j] -= delta
                else:
                    least[j] -= delta
            column = following
            if not taken[column]:
                break
        while column:
            taken[column] = taken[before[column]]
            column = before[column]
    return sorted((taken[j] - 1, j - 1) for j in range(1, columns + 1) if taken[j])


def pairs(
    said: Sequence[tuple[int, str]],
    labelled: Sequence[tuple[int, str]],
    least: float = SAME,
) -> list[tuple[int, int]]:
    """What was said and what was labelled, paired within each place by the likeness of words.

    Args:
        said, labelled: (place, words).
        least: pairs less alike than this are left out; 0 pairs whatever shares a token.

    Returns:
        Indexes into `said` and `labelled`, sorted.
    """
    ours: dict[int, list[int]] = {}
    theirs: dict[int, list[int]] = {}
    for index, (place, _) in enumerate(said):
        ours.setdefault(place, []).append(index)
    for index, (place, _) in enumerate(labelled):
        theirs.setdefault(place, []).append(index)
    found: list[tuple[int, int]] = []
    for place in sorted(ours.keys() & theirs.keys()):
        a = [tokens(said[i][1]) for i in ours[place]]
        b = [tokens(labelled[j][1]) for j in theirs[place]]
        worth = [[_worth(likeness(x, y), least) for y in b] for x in a]
        found += [(ours[place][i], theirs[place][j]) for i, j in assignment(worth)]
    return sorted(found)


def _worth(like: float, least: float) -> float:
    return like if like >= least else 0.0
