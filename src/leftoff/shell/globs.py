"""Matches shell patterns: whole names, and the prefixes or suffixes that ``${x#…}`` removes."""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

from leftoff.shell.ast import BRACKET, QUESTION, STAR

_MARKS = {STAR: "*", QUESTION: "?", BRACKET: "[", "*": "[*]", "?": "[?]", "[": "[[]"}
# Longest value, in characters, whose ends are tried; chosen by hand, not measured.
MAX_VALUE = 1_000


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern with marks."""
    return _compiled(pattern).match(name) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = "".join(
        _MARKS.get(char, char) for char in pattern.replace(BRACKET + "^", BRACKET + "!")
    )
    return re.compile(fnmatch.translate(text))


def ends(value: str, pattern: str, *, last: bool = False) -> tuple[int, int] | None:
    """How many characters the shortest and the longest beginning of a value have that matches
    a pattern with marks, or its shortest and longest end with `last`; None if none does."""
    size = len(value)
    pieces = (value[size - n :] if last else value[:n] for n in range(min(size, MAX_VALUE) + 1))
    found = [n for n, piece in enumerate(pieces) if matches(piece, pattern)]
    return (found[0], found[-1]) if found else None
