"""Words, sentences and names of a text, and whether the text still says a thing in them.

Made for scoring, apart from the engine's own reading of text: nothing here is shared with what
is scored. The same measure is laid on every text that is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

KEPT = 0.6
"""A thing is still said where this share of its content words stand close together."""

TOGETHER = 3
"""Close together: within so many sentences, or so many lines, that follow each other."""

LONGEST = 60
"""Words of a sentence; a longer one (a list without full stops) counts as several."""

GRAM = 8
"""Words in a row that make a repetition."""

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FUNCTION_WORDS = frozenset(
    "a about after all also am an and any are as at be because been before being both but "
    "by can could d did do does doing don down during each few for from further had has "
    "have having he her here hers him his how i if in into is it its just ll m me more "
    "most my no nor not now of off on once only or other our out over own re s same she "
    "should so some such t than that the their them then there these they this those "
    "through to too under until up ve very was we were what when where which while who why "
    "will with would you your let".split()
)

_CANDIDATE = re.compile(r"[\w~@.$-]*[\w~]/[\w./@$~*-]*\w|[\w$][\w.$-]*\w")
_FILE = re.compile(r"[\w@.-]*[\w-]\.(?=[a-z0-9]{1,6}$)[a-z][a-z0-9]*$", re.IGNORECASE)
_MIXED = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|\w_\w|[A-Za-z]\d|\d[A-Za-z]")
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|etc|vs|cf|a\.m|p\.m)\.?$", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+(?:\.\d+)+$")


def words(text: str) -> list[str]:
    """The words of a text, case left aside."""
    return _WORD.findall(text.casefold())


def content_words(text: str) -> frozenset[str]:
    """The words that carry a text's meaning; all its words if there are none ("do so")."""
    every = frozenset(words(text))
    return every - _FUNCTION_WORDS or every


def sentences(line: str) -> Iterator[list[str]]:
    """The sentences of a line as words, long ones in pieces."""
    for sentence in _SENTENCE.split(line):
        found = words(sentence)
        for start in range(0, len(found), LONGEST):
            yield found[start : start + LONGEST]


def names(text: str) -> set[str]:
    """The names in a text: files, paths, identifiers, ids. Plain words and numbers are none.

    A path counts as its last component where that is a name by itself, else as its last two:
    texts name one file by paths of different lengths.
    """
    found: set[str] = set()
    for match in _CANDIDATE.finditer(text):
        name = match.group().strip(".-$@~*/")
        if "/" in name:
            parts = [part for part in name.split("/") if part]
            if not parts:
                continue
            last = parts[-1].strip(".")
            name = last if _is_name(last) else "/".join(parts[-2:])
            if all(len(p) < 3 or p.casefold() in _FUNCTION_WORDS for p in name.split("/")):
                continue  # "and/or", "1/2"
            found.add(name)
        elif _is_name(name):
            found.add(name)
    return found


def _is_name(word: str) -> bool:
    if len(word) < 3 or _ABBREVIATION.match(word):
        return False
    if _VERSION.match(word) is not None:
        return True
    return _FILE.match(word) is not None or _MIXED.search(word) is not None


class Reading:
    """A text that things are looked for in."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [line for line in text.splitlines() if line.strip()]

    @cached_property
    def windows(self) -> list[frozenset[str]]:
        """The words of every few sentences and of every few lines that follow each other."""
        said: list[list[str]] = []
        lines: list[list[str]] = []
        for line in self.lines:
            parts = [part for part in sentences(line) if part]
            said += parts
            lines.append([word for part in parts for word in part])
        found = set(_windows(said))
        found.update(
            window
            for some in (1, TOGETHER)
            for window in _windows(lines, some, most=TOGETHER * LONGEST)
        )
        return sorted(found, key=sorted)

    @cached_property
    def names(self) -> set[str]:
        """The names in the text."""
        return names(self.text)

    def keeps(self, words: frozenset[str]) -> bool:
        """Whether enough of the words stand close together."""
        enough = KEPT * len(words) - 1e-9
        return any(len(words & window) >= enough for window in self.windows)

    @property
    def redundancy(self) -> tuple[int, int]:
        """How many runs of words repeat an earlier one, and how many runs there are."""
        every = words(self.text)
        runs = [tuple(every[i : i + GRAM]) for i in range(len(every) - GRAM + 1)]
        return len(runs) - len(set(runs)), len(runs)


def _windows(
    parts: list[list[str]], size: int = TOGETHER, *, most: int | None = None
) -> Iterator[frozenset[str]]:
    for start in range(max(1, len(parts) - size + 1)):
        some = parts[start : start + size]
        if most is None or sum(map(len, some)) <= most:
            yield frozenset(word for part in some for word in part)


def names_of(texts: Iterable[str]) -> set[str]:
    """The names in several texts."""
    found: set[str] = set()
    for text in texts:
        found |= names(text)
    return found
