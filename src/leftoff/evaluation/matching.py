"""Matching of predictions and labels: by message, by span of words, one to one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

MIN_SIMILARITY = 0.5
"""Minimum similarity of two spans that match. Chosen by hand."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


class Counts(Struct, frozen=True):
    """True positives, false positives and false negatives; they add up over sessions."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.right + other.right, self.wrong + other.wrong, self.missed + other.missed
        )

    @property
    def precision(self) -> float | None:
        """Share of the predictions that is right; None without predictions."""
        predicted = self.right + self.wrong
        return self.right / predicted if predicted else None

    @property
    def recall(self) -> float | None:
        """Share of the labels that was found; None without labels."""
        labelled = self.right + self.missed
        return self.right / labelled if labelled else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None without labels and predictions."""
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


def compare_sets(
    predicted: Iterable[object], labelled: Iterable[object], ignored: Iterable[object] = ()
) -> Counts:
    """Counts of two sets; items that are ignored and not labelled do not count."""
    gold = set(labelled)
    found = set(predicted) - (set(ignored) - gold)
    return Counts(len(found & gold), len(found - gold), len(gold - found))


def tokens(text: str) -> Counter[str]:
    """Words and punctuation marks of a text, case-folded."""
    return Counter(_TOKEN.findall(text.casefold()))


def similarity(a: Counter[str], b: Counter[str]) -> float:
    """Jaccard similarity of two bags of tokens, 0 to 1."""
    common = sum((a & b).values())
    union = a.total() + b.total() - common
    return common / union if union else 0.0


def assignment(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The one-to-one pairs of rows and columns with the greatest total weight.

    Pairs of weight 0 are left out. Among equal totals the result depends only on the order of
    rows and columns.
    """
    if not weights or not weights[0]:
        return []
    transposed = len(weights) > len(weights[0])
    table = [list(row) for row in (zip(*weights, strict=True) if transposed else weights)]
    assigned = _hungarian([[-value for value in row] for row in table])
    found = [(row, column) for row, column in assigned if table[row][column] > 0]
    return sorted((column, row) if transposed else (row, column) for row, column in found)


def _hungarian(cost: list[list[float]]) -> list[tuple[int, int]]:
    """Hungarian algorithm: assigns every row to a column at least cost (rows <= columns).

    Time: O(rows^2 columns).
    """
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


def match_spans(
    predicted: Sequence[tuple[int, str]],
    labelled: Sequence[tuple[int, str]],
    threshold: float = MIN_SIMILARITY,
) -> list[tuple[int, int]]:
    """Pairs predictions with labels of the same place by the similarity of their words.

    Args:
        predicted, labelled: (place, words).
        threshold: minimum similarity of a pair; 0 pairs everything with a common token.

    Returns:
        Indexes into `predicted` and `labelled`, sorted.
    """
    ours: dict[int, list[int]] = {}
    theirs: dict[int, list[int]] = {}
    for index, (place, _) in enumerate(predicted):
        ours.setdefault(place, []).append(index)
    for index, (place, _) in enumerate(labelled):
        theirs.setdefault(place, []).append(index)
    found: list[tuple[int, int]] = []
    for place in sorted(ours.keys() & theirs.keys()):
        a = [tokens(predicted[i][1]) for i in ours[place]]
        b = [tokens(labelled[j][1]) for j in theirs[place]]
        weights = [[_above(similarity(x, y), threshold) for y in b] for x in a]
        found += [(ours[place][i], theirs[place][j]) for i, j in assignment(weights)]
    return sorted(found)


def _above(value: float, threshold: float) -> float:
    return value if value >= threshold else 0.0
