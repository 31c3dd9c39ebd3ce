"""Token counts without a tokenizer, where no recorder counted them: estimate and upper bound.

`estimate_tokens` is the expected count; `max_tokens` is a count that none of the public
tokenizers it was built from exceeds. Both divide text into pieces (words, runs of digits, of
punctuation, of white space, of other characters) and add the cost of each piece. The costs are
data in ``tokens.json``, fitted by ``benchmarks/accuracy/tokens/fit.py`` and never changed by
hand:

* ``known``: words that all tokenizers keep whole after a space, by the most tokens that they
  cost without one; ``joints``: other letters that all tokenizers join to one token;
* ``runs``: runs of punctuation by the most tokens that they cost without and with a space;
* ``characters``: characters beyond ASCII by the most tokens that they cost;
* ``families``: for each tokenizer family the weights of the features of `estimate_tokens`."""

import unicodedata
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

from leftoff import lazy_re as re
from leftoff.codec import parse

N = TypeVar("N", bound=float)
# Read at import, since nothing here may open a file later; decoded at the first count.
_DATA = Path(__file__).with_name("tokens.json").read_bytes()
# The tokenizer families that `estimate_tokens` knows by name.
FAMILIES = ("cl100k", "claude", "deepseek", "llama3", "llama4", "mistral", "o200k", "qwen")
# The family of an unknown model: the mean of all families.
DEFAULT_FAMILY = "mean"


# --------------------------------------------------------------------------------------------
# Pieces
# --------------------------------------------------------------------------------------------

# A space goes with the word or punctuation after it, as in every tokenizer of the families.
# What is left of a run of white space before a word is a piece without its last character.
# Each alternative begins with what is not optional: `re` then knows by the first character
# which one to try.
_PIECE = re.compile(
    r"[A-Za-z]+"
    r"| [A-Za-z]+"
    r"|'[A-Za-z]+"
    r"|[0-9]+"
    r"|[!-/:-@\[-`{-~]+"
    r"| [!-/:-@\[-`{-~]+"
    r"|\n+"
    r"|[^\S\n]++\n+"
    r"|[^\S\n]+(?!\S)"
    r"|\s"
    r"|[^\x00-\x7f]+"
    r"|[\x00-\x1f\x7f]",
    re.ASCII,
)
# A word after an apostrophe may be divided once more, where it begins like a contraction.
_CONTRACTED = re.compile("s|t|re|ve|m|ll|d", re.IGNORECASE)
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Cost of pieces is cached. The cache is bounded in bytes (about), since a process may run for
# days and one piece may be a long run of Chinese.
_CACHE_BYTES = 4 << 20
_ENTRY_BYTES = 128


class _Costs(dict[str, N]):
    """The cost of each piece that was asked for, as a function gives it."""

    def __init__(self, cost: Callable[[str], N]) -> None:
        super().__init__()
        self._cost: Callable[[str], N] = cost
        self._cached_bytes = 0

    def __missing__(self, piece: str) -> N:
        cost = self._cost(piece)
        self._cached_bytes += len(piece) + _ENTRY_BYTES
        if self._cached_bytes > _CACHE_BYTES:
            self.clear()
            self._cached_bytes = len(piece) + _ENTRY_BYTES
        self[piece] = cost
        return cost


class _Data:
    """The contents of ``tokens.json``, indexed for lookup when it is first needed: an estimate
    needs a quarter of it."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        self.known: dict[str, int] = dict.fromkeys(letters, 1)
        for cost, words in raw["known"].items():
            self.known.update(zip(words.split(), repeat(int(cost))))  # no dict between: 0.6 ms
        self.families: dict[str, dict[str, float]] = raw["families"]

    @cached_property
    def joints(self) -> set[str]:
        found = set(self._raw["joints"].split())
        for word, cost in self.known.items():
            if len(word) < _MAX_JOINT:
                found.add(" " + word)
                if cost == 1:
                    found.add(word)
        return found

    @cached_property
    def runs(self) -> dict[str, tuple[int, int]]:
        return {
            run: (int(costs[0]), int(costs[1]))
            for costs, runs in self._raw["runs"].items()
            for run in runs.split()
        }

    @cached_property
    def characters(self) -> dict[str, int]:
        return {
            character: int(cost)
            for cost, characters in self._raw["characters"].items()
            for character in characters
        }


@lru_cache(maxsize=1)
def _data() -> _Data:
    return _Data(parse(_DATA))


# --------------------------------------------------------------------------------------------
# The upper bound
# --------------------------------------------------------------------------------------------

# More letters than this are no joint. The division treats all tokens of more letters than
# `_MAX_TRACKED` alike.
_MAX_JOINT = 8
_MAX_TRACKED = 4
# More letters than this are no word; each letter counts as a token.
_MAX_WORD = 64
# Signs whose repetition every tokenizer joins, by eight or better.
_JOINED_SIGNS = frozenset("-=*#_./")


def _max_of_letters(text: str) -> int:
    """Gives the most tokens of letters where no two neighbours could still be joined.

    A tokenizer that merges pairs never leaves two neighbours whose union is one of its tokens.
    So the most tokens are those of the finest division in which no two neighbours are a joint.
    """
    joints = _data().joints
    size = len(text)
    if size > _MAX_WORD:
        return size
    # most[i][n]: the most tokens of text[:i] if the last of them has n letters.
    most: list[dict[int, int]] = [{0: 0}]
    for end in range(1, size + 1):
        here: dict[int, int] = {}
        for last in range(1, min(_MAX_TRACKED, end) + 1):
            start = end - last
            best = -1
            for before, count in most[start].items():
                if count > best and (not before or text[start - before : end] not in joints):
                    best = count
            if best >= 0:
                here[last] = best + 1
        if not here:
            # Only a longer token can end here; its start is not known, so take the worst case.
            here[_MAX_TRACKED + 1] = 1 + max(max(counts.values()) for counts in most if counts)
        most.append(here)
    return max(most[size].values())


def _max_of_spaces(run: str) -> int:
    size = len(run)
    if run.count(" ") == size:
        return 1 + size // 48
    if run.count("\t") == size:
        return min(size, 2 + size // 8)
    return size


def _max_of_others(text: str) -> int:
    characters = _data().characters
    total = 0
    for character in text:
        cost = characters.get(character)
        if cost is None:
            # Some tokenizers normalize first, which may write one character as many.
            normal = unicodedata.normalize("NFKC", character)
            cost = max(
                len(character.encode("utf-8", "surrogatepass")),
                len(normal.encode("utf-8", "surrogatepass")),
            )
        total += cost
    return total


def _max_of_run(piece: str) -> int:
    spaced = len(piece) > 1 and piece[0] == " "
    run = piece[1:] if spaced else piece
    costs = _data().runs.get(run)
    if costs is not None:
        return costs[spaced]
    size = len(run)
    if size > 4 and run[0] in _JOINED_SIGNS and run.count(run[0]) == size:
        return 2 + size // 8 + spaced
    return size + spaced


def _max_of_contraction(word: str) -> int:
    """Gives the most tokens of an apostrophe and a word: some divide after "'s" or "'re"."""
    whole = 1 + _max_of_word(word)
    match = _CONTRACTED.match(word)
    if match is None or match.end() == len(word):
        return whole
    # In capitals the contraction itself may be two tokens: the apostrophe and "RE".
    divided = 1 if match.group().islower() else 2
    return max(whole, divided + _max_of_word(word[match.end() :]))


def _max_of_word(piece: str) -> int:
    known = _data().known
    spaced = piece[0] == " "
    word = piece[1:] if spaced else piece
    cost = known.get(word)
    if cost is not None:
        return 1 if spaced else cost
    parts = _PART.findall(word)
    if len(parts) == 1:
        return _max_of_letters(piece)
    total = 0
    upper = doubtful = False
    for index, part in enumerate(parts):
        cost = known.get(part)
        if cost is None:
            total += _max_of_letters(" " + part if spaced and not index else part)
            doubtful = True
        else:
            total += 1 if spaced and not index else cost
        total += upper
        upper = len(part) > 1 and part.isupper()
        doubtful = doubtful or upper
    # A tokenizer that does not divide at capitals may join across them, and lose by it:
    # "WRObject" as "W", "RO", "bject". Between known words it was never seen to lose.
    return max(total, _max_of_letters(piece)) if doubtful else total


def _max_of_piece(piece: str) -> int:
    last = piece[-1]
    if last > "\x7f":
        return _max_of_others(piece)
    if last.isalpha():
        return _max_of_contraction(piece[1:]) if piece[0] == "'" else _max_of_word(piece)
    if last.isdigit():
        return len(piece)
    if last == "\n":
        spaces = piece.rstrip("\n")
        lines = len(piece) - len(spaces)
        total = 1 if lines == 1 else 2 + lines // 4
        return min(len(piece), total + (_max_of_spaces(spaces) if spaces else 0))
    if last.isspace() and last in " \t\r\v\f":
        return _max_of_spaces(piece)
    return _max_of_run(piece)


_max_cost = _Costs(_max_of_piece)


def max_tokens(text: str) -> int:
    """Gives a number of tokens that no tokenizer of `FAMILIES` exceeds on a text.

    It counts the text alone, without what an interface adds around a message. Text that spells
    a tokenizer's control words is counted as the text that it is."""
    return sum(map(_max_cost.__getitem__, _PIECE.findall(text)))


# --------------------------------------------------------------------------------------------
# The estimate
# --------------------------------------------------------------------------------------------

_SCRIPT = re.compile(
    "(?P<latin>[\u0080-\u024f\u1e00-\u1eff]+)|(?P<greek>[\u0370-\u03ff]+)"
    "|(?P<cyrillic>[\u0400-\u052f]+)|(?P<hebrew>[\u0590-\u05ff]+)|(?P<arabic>[\u0600-\u07ff]+)"
    "|(?P<indic>[\u0900-\u0dff]+)|(?P<thai>[\u0e00-\u0eff]+)|(?P<kana>[\u3040-\u30ff]+)"
    "|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff]+)|(?P<wide>[\u3000-\u303f\uff00-\uffef]+)"
    "|(?P<hangul>[\uac00-\ud7af\u1100-\u11ff]+)|(?P<box>[\u2500-\u259f]+)"
    "|(?P<sign>[\u2000-\u24ff\u25a0-\u2bff]+)"
    "|(?P<emoji>[\U0001f000-\U0001faff\u200d\ufe0f]+)|(?P<other>[^\x00-\x7f])"
)


def features(piece: str) -> list[tuple[str, int]]:
    """Gives the features of a piece, each with its amount; a cost is their weighted sum.

    Public for the fit alone."""
    last = piece[-1]
    if last > "\x7f":
        found = []
        for match in _SCRIPT.finditer(piece):
            script = match.lastgroup
            amount = match.end() - match.start()
            if script == "other":
                amount = len(match.group().encode("utf-8", "surrogatepass"))
            found += [(f"{script}_runs", 1), (f"{script}_characters", amount)]
        return found
    if last.isalpha():
        if piece[0] == "'":
            return [*features("'"), *_features_of_word(piece[1:])]
        return _features_of_word(piece)
    size = len(piece)
    if last.isdigit():
        return [("numbers", 1), ("digits", size), ("digit_triples", -(-size // 3))]
    if last == "\n":
        return [("line_ends", 1), ("blank_lines", size > 1)]
    if last in " \t\r\v\f":
        return [("spaces", 1)] if size == 1 else [("indents", 1), ("indent_characters", size)]
    if last < " " or last == "\x7f":
        return [("controls", 1)]
    spaced = size > 1 and piece[0] == " "
    run = size - spaced
    return [
        ("runs", 1),
        ("run_signs", min(run, 8) - 1),
        ("spaced_runs", spaced),
        ("repeated_signs", max(0, run - 8)),
    ]


def _features_of_word(piece: str) -> list[tuple[str, int]]:
    known = _data().known
    found: list[tuple[str, int]] = []
    spaced = piece[0] == " "
    whole = known.get(piece[1:] if spaced else piece)
    parts = [piece[1:] if spaced else piece] if whole else _PART.findall(piece)
    for part in parts:
        cost = known.get(part)
        size = len(part)
        if cost is not None:
            found.append(("known_spaced" if spaced else f"known_bare_{min(cost, 3)}", 1))
        else:
            kind = "lower" if part[0].islower() else "upper" if part[1:2].isupper() else "title"
            found += [(f"{kind}_words", 1), (f"{kind}_letters", size)]
            if size > 12:
                found.append(("far_letters", size - 12))
        spaced = False
    return found


@lru_cache(maxsize=len(FAMILIES) + 1)
def _costs_of(family: str) -> _Costs[float]:
    families = _data().families
    weights = families.get(family) or {  # else the mean
        name: sum(families[one][name] for one in FAMILIES) / len(FAMILIES)
        for name in families[FAMILIES[0]]
    }
    return _Costs(lambda piece: sum(weights[name] * n for name, n in features(piece)))


# Of a text longer than this, as many equal slices as fit are read and the rest is like them.
_MAX_READ = 200_000
_SLICE = 4_000


def estimate_tokens(text: str, family: str | None = None) -> int:
    """Gives the number of tokens to expect of a text, by its kinds of words and its scripts.

    It counts the text alone, without what an interface adds around a message. Of a text of more
    than 200,000 characters fifty even slices are read. `family` is one of `FAMILIES`, None for
    the mean of all; `ValueError` where it is not known."""
    if family is not None and family not in FAMILIES and family != DEFAULT_FAMILY:
        raise ValueError(
            f"unknown tokenizer family {family!r}; known are {', '.join(FAMILIES)}"
        )
    if not text:
        return 0
    weigh = _costs_of(family or DEFAULT_FAMILY).__getitem__
    size = len(text)
    if size <= _MAX_READ:
        total = sum(map(weigh, _PIECE.findall(text)))
    else:
        slices = _MAX_READ // _SLICE
        step = (size - _SLICE) / (slices - 1)
        read = 0.0
        for index in range(slices):
            start = int(index * step)
            read += sum(map(weigh, _PIECE.findall(text, start, start + _SLICE)))
        total = read * size / (slices * _SLICE)
    return max(1, round(total))
