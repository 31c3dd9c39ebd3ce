"""Lexical matching: the words, sentences and names of a text, and whether it states a
given sentence.

For scoring (`leftoff audit`, `leftoff eval resume`) and for what a compaction left out of its
summary. It shares no code with the extraction that is scored, and it treats every compared text
in the same way."""

from collections.abc import Iterator
from functools import cached_property

from leftoff import lazy_re as re
from leftoff.tables import table

# A text states a sentence if one window holds at least this share of its content words. Chosen
# by hand; not measured.
MIN_WORD_SHARE = 0.6

# Consecutive sentences, or consecutive lines, of a window. Chosen by hand; not measured.
WINDOW = 3

# Maximum words of a sentence; a longer one (a list without full stops) is split. Chosen by
# hand.
MAX_SENTENCE_WORDS = 60

# Length of the word n-grams that measure repetition. Chosen by hand.
NGRAM_WORDS = 8

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FUNCTION_WORDS = frozenset(table(__file__, "words.toml")["texts"].split())

_CANDIDATE = re.compile(r"[\w~@.$-]*[\w~]/[\w./@$~*-]*\w|[\w$][\w.$-]*\w")
_FILE = re.compile(r"[\w@.-]*[\w-]\.(?=[a-z0-9]{1,6}$)[a-z][a-z0-9]*$", re.IGNORECASE)
# Words that no prose has: camelCase, snake_case, letters beside digits.
_MIXED = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|\w_\w|[A-Za-z]\d|\d[A-Za-z]")
# Words with dots that are no names of files.
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|etc|vs|cf|a\.m|p\.m)\.?$", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+(?:\.\d+)+$")


def words(text: str) -> list[str]:
    """The words of a text, case-folded."""
    return _WORD.findall(text.casefold())


def content_words(text: str) -> frozenset[str]:
    """The words that carry a text's meaning; all its words if there are none ("do so")."""
    every = frozenset(words(text))
    return every - _FUNCTION_WORDS or every


def sentences(line: str) -> Iterator[list[str]]:
    """The words of each sentence of a line; sentences over `MAX_SENTENCE_WORDS` are split."""
    for sentence in _SENTENCE.split(line):
        found = words(sentence)
        for start in range(0, len(found), MAX_SENTENCE_WORDS):
            yield found[start : start + MAX_SENTENCE_WORDS]


def names(text: str) -> set[str]:
    """The names in a text: files, paths, identifiers, ids; not ordinary words or numbers.

    A path counts as its last component if that is a name by itself, else as its last two
    components, because texts name one file by paths of different lengths."""
    found: set[str] = set()
    for match in _CANDIDATE.finditer(text):
        name = match.group().strip(".-$@~*/")
        if "/" in name:
            parts = [part for part in name.split("/") if part]
            last = parts[-1].strip(".")
            name = last if _is_name(last) else "/".join(parts[-2:])
            if all(len(p) < 3 or p.casefold() in _FUNCTION_WORDS for p in name.split("/")):
                continue  # "and/or", "1/2"
            found.add(name)
        elif _is_name(name):
            found.add(name)
    return found


def _is_name(word: str) -> bool:
    if word.isalpha() and word[1:].islower():
        return False  # a word of prose, as nearly all are
    if len(word) < 3 or _ABBREVIATION.match(word):
        return False
    if _VERSION.match(word) is not None:
        return True
    return _FILE.match(word) is not None or _MIXED.search(word) is not None


class TextMatcher:
    """A text, prepared for lookups of sentences and names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [line for line in text.splitlines() if line.strip()]

    @cached_property
    def windows(self) -> set[frozenset[str]]:
        """The word sets of all windows: `WINDOW` sentences, single lines and `WINDOW` lines."""
        parts = [[part for part in sentences(line) if part] for line in self.lines]
        by_sentence = [part for line in parts for part in line]
        by_line = [[word for part in line for word in part] for line in parts]
        most = WINDOW * MAX_SENTENCE_WORDS
        several = _windows(by_line, max_words=most)
        return {*_windows(by_sentence), *_windows(by_line, 1, max_words=most), *several}

    @cached_property
    def names(self) -> set[str]:
        """The names in the text."""
        return names(self.text)

    def states(self, words: frozenset[str]) -> bool:
        """Whether one window holds at least `MIN_WORD_SHARE` of the words."""
        minimum = MIN_WORD_SHARE * len(words) - 1e-9
        return any(len(words & window) >= minimum for window in self.windows)

    @property
    def redundancy(self) -> tuple[int, int]:
        """Number of word n-grams that repeat an earlier one, and number of all n-grams."""
        found = words(self.text)
        starts = range(len(found) - NGRAM_WORDS + 1)
        ngrams = [tuple(found[i : i + NGRAM_WORDS]) for i in starts]
        return len(ngrams) - len(set(ngrams)), len(ngrams)


def _windows(
    parts: list[list[str]], size: int = WINDOW, *, max_words: int | None = None
) -> Iterator[frozenset[str]]:
    for start in range(max(1, len(parts) - size + 1)):
        window = parts[start : start + size]
        if max_words is None or sum(map(len, window)) <= max_words:
            yield frozenset(word for part in window for word in part)
