"""A linear bag of words: the plain learned baseline that rules have to beat."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

EPOCHS = 12
RATE = 0.3
DECAY = 1e-3
SEED = 1

_WORD = re.compile(r"\w+")


class Example(Struct, frozen=True):
    """A text of a group (a source repository, say) and whether it is one."""

    text: str
    right: bool
    group: str


def words(text: str) -> list[str]:
    """The distinct lower-case words of a text, sorted."""
    return sorted(set(_WORD.findall(text.casefold())))


class Linear:
    """Logistic regression on which words occur, trained by AdaGrad in a seeded order."""

    def __init__(self, bags: Sequence[Sequence[str]], right: Sequence[bool]) -> None:
        seen = Counter(word for bag in bags for word in bag)
        kept = {word for word, n in seen.items() if n > 1}
        self.weights: dict[str, float] = dict.fromkeys(sorted(kept), 0.0)
        share = (sum(right) + 0.5) / (len(right) + 1)
        self.bias = math.log(share / (1 - share))
        squares = dict.fromkeys(self.weights, 1e-6)
        bias_squares = 1e-6
        known = [[word for word in bag if word in kept] for bag in bags]
        order = list(range(len(bags)))
        rng = random.Random(SEED)  # noqa: S311 - must be repeatable
        weights = self.weights
        for _ in range(EPOCHS):
            rng.shuffle(order)
            for number in order:
                bag = known[number]
                scale = 1.0 / math.sqrt(len(bag) + 1)
                score = self.bias + scale * sum(map(weights.__getitem__, bag))
                error = probability(score) - right[number]
                bias_squares += error * error
                self.bias -= RATE * error / math.sqrt(bias_squares)
                step = error * scale
                for word in bag:
                    slope = step + DECAY * weights[word]
                    squares[word] += slope * slope
                    weights[word] -= RATE * slope / math.sqrt(squares[word])

    def confidence(self, bag: Iterable[str]) -> float:
        """The probability that a bag of words is one."""
        known = [self.weights.get(word) for word in bag]
        found = [weight for weight in known if weight is not None]
        return probability(self.bias + sum(found) / math.sqrt(len(found) + 1))


def probability(score: float) -> float:
    """The logistic function, safe for any number."""
    if score < -700:
        return 0.0
    return 1.0 / (1.0 + math.exp(-score))


class Detector(Struct, frozen=True):
    """A trained model with the threshold from which it says yes."""

    model: Linear
    threshold: float

    @classmethod
    def trained(cls, examples: Sequence[Example], folds: int = 3) -> Detector:
        """Trained on examples; the threshold is the one with the best F1 on groups that were
        left out of training.

        Raises:
            ValueError: no examples.
        """
        if not examples:
            raise ValueError("a linear model needs labelled messages to learn from")
        bags = [words(e.text) for e in examples]
        right = [e.right for e in examples]
        groups = sorted({e.group for e in examples})
        fold = {group: number % folds for number, group in enumerate(groups)}
        held: list[tuple[float, bool]] = []
        for number in range(folds):
            inside = [i for i, e in enumerate(examples) if fold[e.group] != number]
            outside = [i for i, e in enumerate(examples) if fold[e.group] == number]
            if not inside or not outside:
                continue
            model = Linear([bags[i] for i in inside], [right[i] for i in inside])
            held += [(model.confidence(bags[i]), right[i]) for i in outside]
        return cls(Linear(bags, right), best_threshold(held))

    def confidence(self, text: str) -> float:
        """The probability that a text is one."""
        return self.model.confidence(words(text))


def best_threshold(points: Sequence[tuple[float, bool]]) -> float:
    """The confidence from which on saying yes gives the best F1; 0.5 without points.

    It lies half-way to the next lower point, so that a little less is still enough.
    """
    ordered = sorted(points, key=lambda p: (-p[0], p[1]))
    everything = sum(right for _, right in ordered)
    best, last = 0.0, -1
    found = 0
    for number, (_, right) in enumerate(ordered):
        found += right
        f1 = 2 * found / (number + 1 + everything)
        if f1 > best:
            best, last = f1, number
    if last < 0:
        return 0.5
    following = ordered[last + 1][0] if last + 1 < len(ordered) else ordered[last][0]
    return (ordered[last][0] + following) / 2
