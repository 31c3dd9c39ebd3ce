"""Spellings that hide a secret from a pattern: escapes of ASCII, percent codes, invisible
characters, look-alike letters. `reveal` undoes them, `positions` maps the result back."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

import re2

_LATIN: Final = dict(
    zip(
        "АВЕКМНОРСТХаеорсухѕіјԁһΑΒΕΖΗΙΚΜΝΟΡΤΥΧο\u212a\u017f",
        "ABEKMHOPCTXaeopcyxsijdhABEZHIKMNOPTYXoKs",
        strict=True,
    )
)
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
)
DISGUISE = re.compile(
    rf"[{_INVISIBLE}\U000e0000-\U000e0fff]|[\uff01-\uff5e]|[{''.join(_LATIN)}]"
    r"|\\+u00[2-7][0-9a-fA-F]|\\+/|%(?:25){0,3}[2-7][0-9a-fA-F]"
)
_PERCENT = re.compile(r"%(?:25){0,3}[2-7][0-9a-fA-F]")


@cache
def _look_alikes() -> Callable[[bytes], list[int] | None]:
    options = re2.Options()
    options.log_errors = False
    letters = f"[{_INVISIBLE}\uff01-\uff5e{''.join(_LATIN)}\U000e0000-\U000e0fff]"
    fused = re2.Set.SearchSet(options)
    fused.Add(letters)
    fused.Compile()
    match: Callable[[bytes], list[int] | None] = fused.Match
    return match


def disguised(text: str) -> bool:
    """Whether the text contains a spelling that `reveal` would undo."""
    if not text.isascii() and _look_alikes()(text.encode("utf-8", "surrogatepass")):
        return True
    if "\\" in text and ("\\u00" in text or "\\/" in text):
        return True
    return "%" in text and _PERCENT.search(text) is not None


def reveal(match: re.Match[str]) -> str:
    """The character that a match of `DISGUISE` stands for; "" for an invisible one."""
    found = match.group()
    first = found[0]
    if first == "\\":
        return "/" if found[-1] == "/" else chr(int(found[-2:], 16))
    if first == "%":
        return chr(int(found[-2:], 16))
    if "\uff01" <= first <= "\uff5e":
        return chr(ord(first) - 0xFEE0)
    return _LATIN.get(first, "")


def positions(text: str) -> tuple[list[int], list[int]]:
    """The start and end in `text` of each character of the revealed text."""
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for match in DISGUISE.finditer(text):
        starts.extend(range(at, match.start()))
        ends.extend(range(at + 1, match.start() + 1))
        if reveal(match):
            starts.append(match.start())
            ends.append(match.end())
        at = match.end()
    starts.extend(range(at, len(text)))
    ends.extend(range(at + 1, len(text) + 1))
    return starts, ends
