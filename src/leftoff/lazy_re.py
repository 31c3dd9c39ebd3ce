"""Regular expressions that are compiled when they are first used.

    from leftoff import lazy_re as re

The names are those of the standard library's `re`, and so is their meaning, except that
`compile` returns at once: a mistake in a pattern shows when the pattern is first used. Most of
the package's patterns are not needed for most recordings, and to compile all of them took a
quarter of the time of a short one.
"""

from __future__ import annotations

import re
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    Match,
    Pattern,
    error,
    escape,
    findall,
    finditer,
    fullmatch,
    match,
    search,
    split,
    sub,
)
from typing import Any, AnyStr, cast

__all__ = [
    "ASCII",
    "DOTALL",
    "IGNORECASE",
    "MULTILINE",
    "Match",
    "Pattern",
    "compile",
    "error",
    "escape",
    "findall",
    "finditer",
    "fullmatch",
    "match",
    "search",
    "split",
    "sub",
]


class Lazy:
    """Stands for a compiled pattern. Its methods are those of the compiled pattern, each stored
    here when it is first asked for: from then on a call costs what it costs there."""

    __slots__ = (
        "_compiled",
        "_given",
        "findall",
        "finditer",
        "flags",
        "fullmatch",
        "groupindex",
        "groups",
        "match",
        "pattern",
        "search",
        "split",
        "sub",
        "subn",
    )

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        """What has no value yet."""
        if name == "_compiled":
            found: Any = re.compile(*self._given)
        else:
            found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:  # noqa: A001 - as in `re`
    """A pattern that is compiled by its first use."""
    return cast("Pattern[AnyStr]", Lazy(pattern, flags))
