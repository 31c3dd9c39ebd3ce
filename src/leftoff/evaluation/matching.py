"""Matching of predictions and labels: by message, by span of words, one to one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

# Minimum similarity of two spans that match. Chosen by hand.
MIN_SIMILARITY = 0.5
# Least share of the shorter one's words that two mentions of one item have in common, in one
# message and in two. Chosen by hand; not measured.
SAME_PLACE, ANYWHERE = 0.3, 0.6
# Least number of words that mentions in two messages share. Chosen by hand.
MIN_SHARED = 3
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Counts(Struct, frozen=True):
    """True positives, false positives and false negatives; they add up over sessions."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return total((self, other))

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
    every = tuple(counts)
    names = ("right", "wrong", "missed")
    return Counts(*(sum(getattr(c, name) for c in every) for name in names))


def compare_sets(predicted: Iterable[object], labelled: Iterable[object]) -> Counts:
    """Counts of two sets."""
    gold, found = set(labelled), set(predicted)
    return Counts(len(found & gold), len(found - gold), len(gold - found))


def tokens(text: str) -> Counter[str]:
    """Words and punctuation marks of a text, case-folded."""
    return Counter(_TOKEN.findall(text.casefold()))


# Least share of the words of the shorter of two statements, and of both together, that they
# have in common. Set by hand: a sentence around a labelled clause, or the other way round.
SAME_SHORTER, SAME_BOTH = 0.7, 0.3
_WORDS = re.compile(r"\w+")


def word_bag(text: str) -> Counter[str]:
    """The words of a text, case-folded."""
    return Counter(_WORDS.findall(text.casefold()))


def same_statement(a: Counter[str], b: Counter[str]) -> bool:
    """Whether two bags of words of one message are one statement."""
    common, least = (a & b).total(), min(a.total(), b.total())
    union = a.total() + b.total() - common
    return least > 0 and common >= SAME_SHORTER * least and common >= SAME_BOTH * union


def similarity(a: Counter[str], b: Counter[str]) -> float:
    """Jaccard similarity of two bags of tokens, 0 to 1."""
    common = sum((a & b).values())
    union = a.total() + b.total() - common
    return common / union if union else 0.0


def assignment(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The one-to-one pairs of rows and columns with the greatest total weight, without those of
    weight 0. Among equal totals the result depends only on the order."""
    if not weights or not weights[0]:
        return []
    transposed = len(weights) > len(weights[0])
    table = [list(row) for row in (zip(*weights, strict=True) if transposed else weights)]
    assigned = _hungarian([[-value for value in row] for row in table])
    found = [(row, column) for row, column in assigned if table[row][column] > 0]
    return sorted((column, row) if transposed else (row, column) for row, column in found)


def _hungarian(cost: list[list[float]]) -> list[tuple[int, int]]:
    """Hungarian algorithm: assigns every row to a column at least cost (rows <= columns), in
    O(rows^2 columns). By hand: scipy takes seconds to import for these 40 lines."""
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
    """Pairs predictions and labels, both (place, words), of the same place by the similarity of
    their words, and returns their indexes, sorted. A threshold of 0 pairs everything with a
    common token."""
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
        weights = [[s if (s := similarity(x, y)) >= threshold else 0.0 for y in b] for x in a]
        found += [(ours[place][i], theirs[place][j]) for i, j in assignment(weights)]
    return sorted(found)


def match_statements(
    predicted: Sequence[tuple[int, str]], labelled: Sequence[tuple[int, str]]
) -> list[int]:
    """For each prediction the label that it states, or -1; several may state one. Both are
    (place, words)."""
    theirs: dict[int, list[tuple[int, Counter[str]]]] = {}
    for number, (place, text) in enumerate(labelled):
        theirs.setdefault(place, []).append((number, word_bag(text)))
    found: list[int] = []
    for place, text in predicted:
        own = word_bag(text)
        of_place = theirs.get(place, ())
        found.append(next((n for n, words in of_place if same_statement(own, words)), -1))
    return found


# Statements of a session that a person is shown at most.
FIRST = 5


def count_statements(
    predicted: Sequence[tuple[int, str, float]],
    labelled: Sequence[tuple[int, str]],
    mixed: Collection[int] = (),
) -> tuple[Counts, tuple[bool, ...]]:
    """Counts of statements (place, words, confidence) by the words that they share with a
    label, and whether each of the first by confidence is labelled; a second one of the same
    label is wrong among the counts only. At `mixed` places, which repeat a label, what matches
    nothing is ignored.
    """
    stated = match_statements([(place, text) for place, text, _ in predicted], labelled)
    judged = [
        (confidence, label)
        for (place, _, confidence), label in zip(predicted, stated, strict=True)
        if label >= 0 or place not in mixed
    ]
    right = len({label for _, label in judged if label >= 0})
    first = sorted(judged, key=lambda one: -one[0])[:FIRST]
    counts = Counts(right, len(judged) - right, len(labelled) - right)
    return counts, tuple(label >= 0 for _, label in first)


def confidence_by_place(predicted: Iterable[tuple[int, str, float]]) -> dict[int, float]:
    """The probability that any of the statements at a place is right, taken as independent."""
    none: dict[int, float] = {}
    for place, _, confidence in predicted:
        none[place] = none.get(place, 1.0) * (1 - confidence)
    return {place: 1 - chance for place, chance in none.items()}


def match_items(
    predicted: Sequence[tuple[int, str]],
    labelled: Sequence[tuple[int, str]],
    further: Sequence[tuple[int, str]] = (),
    around: Sequence[str] = (),
) -> Counts:
    """Labelled items that any prediction mentions, wherever it stands.

    An item that is mentioned twice is found once, without a false alarm. Words beside the quote
    of a place that holds but one item are a mention of it (`around`, by `beside`). Predictions
    in `further` count where they mention an item, and not where they do not.
    """
    alone = Counter(place for place, _ in labelled)
    near = [" ".join(text.split()) for text in around]
    found: set[int] = set()
    wrong = 0
    for index, (place, text) in enumerate((*predicted, *further)):
        said = _words(text)
        shown = " ".join(text.split())
        items = {
            number
            for number, (at, quote) in enumerate(labelled)
            if (at == place and alone[at] == 1 and near and shown in near[number])
            or _mentions(said, _words(quote), at == place)
        }
        found |= items
        wrong += not items and index < len(predicted)
    return Counts(len(found), wrong, len(labelled) - len(found))


# Characters on each side of a labelled quote whose sentences speak of the same item. Chosen by
# hand; not measured.
BESIDE = 200


def beside(text: str, quote: str) -> str:
    """The part of a text around a quote, `BESIDE` characters on each side; "" without it."""
    at = text.find(quote)
    return "" if at < 0 else text[max(0, at - BESIDE) : at + len(quote) + BESIDE]


def _words(text: str) -> Counter[str]:
    return Counter({word: n for word, n in tokens(text).items() if len(word) > 2})


def _mentions(a: Counter[str], b: Counter[str], same_place: bool) -> bool:
    common = (a & b).total()
    least = min(a.total(), b.total())
    if not least or (not same_place and common < MIN_SHARED):
        return False
    return common / least >= (SAME_PLACE if same_place else ANYWHERE)
