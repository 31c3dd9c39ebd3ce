"""Whether what was left open was done later, by the words that both share."""

from collections.abc import Sequence
from math import ceil
from sys import intern

from leftoff import lazy_re as re

# Share of the words of an open item that a later report shares if it is about the same work.
# Chosen by hand; not measured.
SAME_WORK = 0.6


class DoneWork:
    """What was done: texts, each with its message.

    A long session has thousands of reports and of open items, so only those are compared that
    share a rare word."""

    def __init__(self, done: Sequence[tuple[int, str]]) -> None:
        self._done = [(message, tuple(content(text))) for message, text in done]
        self._having: dict[str, list[int]] = {}
        for number, (_, words) in enumerate(self._done):
            for word in words:
                self._having.setdefault(word, []).append(number)

    def after(self, message: int, text: str) -> bool:
        """Whether a text of a later message has most of the words of this text."""
        words = content(text)
        if len(words) < 2:
            return False
        needed = SAME_WORK * len(words)
        # With so many words in common, one at least is among these: the others are too few.
        rarest = sorted(words, key=lambda word: len(self._having.get(word, ())))
        rarest = rarest[: len(words) - ceil(needed) + 1]
        near = {number for word in rarest for number in self._having.get(word, ())}
        return any(
            place > message and len(words.intersection(other)) >= needed
            for place, other in map(self._done.__getitem__, near)
        )


def content(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, as far as their length shows."""
    return frozenset(map(intern, re.findall(r"\w{4,}", text.casefold())))
