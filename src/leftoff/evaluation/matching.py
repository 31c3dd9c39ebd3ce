"""Matching of predictions and labels: by message, by statement, by item."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

# Least share of the shorter one's words that two mentions of one item have in common, in one
# message and in two. Chosen by hand; not measured.
SAME_PLACE, ANYWHERE = 0.3, 0.6
# Least number of words that mentions in two messages share. Chosen by hand.
MIN_SHARED = 3


class Counts(Struct, frozen=True):
    """True positives, false positives and false negatives; they add up over sessions."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

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


def confidence_by_place(predicted: Iterable[tuple[int, float]]) -> dict[int, float]:
    """The probability that any of the statements at a place is right, taken as independent."""
    none: dict[int, float] = {}
    for place, confidence in predicted:
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
    in `further` count where they mention an item, and not where they do not."""
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
    # Words of one or two letters are in every sentence.
    return Counter({word: n for word, n in word_bag(text).items() if len(word) > 2})


def _mentions(a: Counter[str], b: Counter[str], same_place: bool) -> bool:
    common = (a & b).total()
    least = min(a.total(), b.total())
    if not least or (not same_place and common < MIN_SHARED):
        return False
    return common / least >= (SAME_PLACE if same_place else ANYWHERE)
