"""Whether what was left open was done or dropped later, by the words that both share."""

from collections.abc import Sequence
from math import ceil
from sys import intern

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Asked
from leftoff.extraction.requests import is_pasted
from leftoff.session_view import SessionView, once
from leftoff.tables import table

_DROPS = re.patterns(table(__file__, "patterns.toml")["insights"])["drops"]

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


@once
def _drops(view: SessionView) -> list[tuple[Asked, frozenset[str], frozenset[str], str]]:
    """What the person took out of the work: where, its words, its numbers and the verb."""
    found = []
    for asked in view.active(Asked):
        for match in _DROPS.finditer(asked.text):
            if is_pasted(asked, *match.span()):
                continue
            named = _terms(match[2] or match[3]) - _VAGUE
            numbers = frozenset(filter(str.isdigit, named))
            found.append((asked, named - numbers, numbers, (match[1] or "").lower()))
    return found


# In singular; none of them names what is dropped.
_VAGUE = frozenset(
    "all and any anymore anything bother for from here item just now number part please point "
    "rest step task that the then there thi thing thing those to today worry yet".split()
)


def _terms(text: str) -> frozenset[str]:
    """The words of a text without the ending of a plural, and its numbers."""
    return frozenset(w.removesuffix("s") for w in re.findall(r"\w{3,}|\d+", text.casefold()))


def is_dropped(view: SessionView, at: int, step: str, number: int = 0) -> bool:
    """Whether the person took a step out later, by its words or, in answer to the list that
    holds it, by its number there. "Drop the table" orders the step that says so, too."""
    terms = _terms(step)
    return any(
        asked.ref.message > at
        and (words <= terms if words else asked.said == at and f"{number}" in numbers)
        and verb not in terms
        for asked, words, numbers, verb in _drops(view)
    )
