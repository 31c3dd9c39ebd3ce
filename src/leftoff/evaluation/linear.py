"""A linear bag-of-words classifier: the learned baseline."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

# Chosen by hand; not tuned, because this is only a baseline.
EPOCHS = 12
LEARNING_RATE = 0.3
WEIGHT_DECAY = 1e-3
SEED = 1

_WORD = re.compile(r"\w+")


class Example(Struct, frozen=True):
    """A training example; `right`: positive; `group`: for example its source repository."""

    text: str
    right: bool
    group: str


def words(text: str) -> list[str]:
    """The distinct lower-case words of a text, sorted."""
    return sorted(set(_WORD.findall(text.casefold())))


class Linear:
    """Logistic regression on the words that occur, trained with AdaGrad in a seeded order."""

    def __init__(self, bags: Sequence[Sequence[str]], right: Sequence[bool]) -> None:
        counts = Counter(word for bag in bags for word in bag)
        vocabulary = {word for word, n in counts.items() if n > 1}
        self.weights: dict[str, float] = dict.fromkeys(sorted(vocabulary), 0.0)
        share = (sum(right) + 0.5) / (len(right) + 1)
        self.bias = math.log(share / (1 - share))
        squares = dict.fromkeys(self.weights, 1e-6)
        bias_squares = 1e-6
        known = [[word for word in bag if word in vocabulary] for bag in bags]
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
                self.bias -= LEARNING_RATE * error / math.sqrt(bias_squares)
                step = error * scale
                for word in bag:
                    slope = step + WEIGHT_DECAY * weights[word]
                    squares[word] += slope * slope
                    weights[word] -= LEARNING_RATE * slope / math.sqrt(squares[word])

    def confidence(self, bag: Iterable[str]) -> float:
        """The probability that a bag of words is positive."""
        known = [self.weights.get(word) for word in bag]
        found = [weight for weight in known if weight is not None]
        return probability(self.bias + sum(found) / math.sqrt(len(found) + 1))


def probability(score: float) -> float:
    """The logistic function, without overflow for any number."""
    if score < -700:
        return 0.0
    return 1.0 / (1.0 + math.exp(-score))


class Detector(Struct, frozen=True):
    """A trained model with its decision threshold."""

    model: Linear
    threshold: float

    @classmethod
    def trained(cls, examples: Sequence[Example], folds: int = 3) -> Detector:
        """Trains a model; the threshold has the best F1 in cross-validation by group.

        Raises:
            ValueError: no examples.
        """
        if not examples:
            raise ValueError("a linear model needs labelled messages to learn from")
        bags = [words(e.text) for e in examples]
        right = [e.right for e in examples]
        groups = sorted({e.group for e in examples})
        fold = {group: number % folds for number, group in enumerate(groups)}
        held_out: list[tuple[float, bool]] = []
        for number in range(folds):
            training = [i for i, e in enumerate(examples) if fold[e.group] != number]
            test = [i for i, e in enumerate(examples) if fold[e.group] == number]
            if not training or not test:
                continue
            model = Linear([bags[i] for i in training], [right[i] for i in training])
            held_out += [(model.confidence(bags[i]), right[i]) for i in test]
        return cls(Linear(bags, right), best_threshold(held_out))

    def confidence(self, text: str) -> float:
        """The probability that a text is positive."""
        return self.model.confidence(words(text))


def best_threshold(points: Sequence[tuple[float, bool]]) -> float:
    """The threshold on the confidence with the best F1; 0.5 without points.

    It lies half-way between the last accepted point and the next lower one.
    """
    ordered = sorted(points, key=lambda p: (-p[0], p[1]))
    positives = sum(right for _, right in ordered)
    best, last = 0.0, -1
    found = 0
    for number, (_, right) in enumerate(ordered):
        found += right
        f1 = 2 * found / (number + 1 + positives)
        if f1 > best:
            best, last = f1, number
    if last < 0:
        return 0.5
    following = ordered[last + 1][0] if last + 1 < len(ordered) else ordered[last][0]
    return (ordered[last][0] + following) / 2
