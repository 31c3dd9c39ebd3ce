"""Matches shell patterns: whole names, and the prefixes or suffixes that ``${x#…}`` removes."""

from __future__ import annotations

from leftoff.shell.ast import BRACKET, QUESTION, STAR

__all__ = ["ends", "matches"]


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern with marks (linear in practice: one backtrack point)."""
    i = j = 0
    star, mark = -1, 0
    while i < len(name):
        if j < len(pattern):
            char = pattern[j]
            if char == STAR:
                star, mark = j, i
                j += 1
                continue
            if char == BRACKET:
                end = pattern.find("]", j + 2)
                if end > 0:
                    if _in_set(name[i], pattern[j + 1 : end]):
                        i, j = i + 1, end + 1
                        continue
                elif name[i] == "[":
                    i, j = i + 1, j + 1
                    continue
            elif char == QUESTION or char == name[i]:
                i, j = i + 1, j + 1
                continue
        if star < 0:
            return False
        mark += 1
        i, j = mark, star + 1
    while j < len(pattern) and pattern[j] == STAR:
        j += 1
    return j == len(pattern)


def ends(value: str, pattern: str, *, last: bool = False) -> tuple[int, int] | None:
    """How many characters the shortest and the longest beginning of a value have that matches
    a pattern with marks, or its shortest and longest end with `last`; None if none does.

    The positions that the pattern so far can reach are the bits of an integer, so that the time
    is linear in the value for each piece of the pattern.
    """
    pieces = _pieces(pattern)
    if last:
        value, pieces = value[::-1], pieces[::-1]
    every = (1 << len(value)) - 1
    fitting = {
        piece: int("".join("01"[_fits(char, piece)] for char in reversed(value)) or "0", 2)
        for piece in set(pieces) - {STAR, QUESTION}
    }
    places = 1
    for piece in pieces:
        if piece == STAR:
            places = (every << 1 | 1) & -(
                places & -places
            )  # the first position and all after it
        else:
            places = (places & fitting.get(piece, every)) << 1
        if not places:
            return None
    return (places & -places).bit_length() - 1, places.bit_length() - 1


def _pieces(pattern: str) -> list[str]:
    """A star, a question mark, a character, or a set of them with its bracket."""
    found: list[str] = []
    at = 0
    while at < len(pattern):
        end = pattern.find("]", at + 2) if pattern[at] == BRACKET else -1
        found.append(pattern[at : end if end > 0 else at + 1])
        at = end + 1 if end > 0 else at + 1
    return found


def _fits(char: str, piece: str) -> bool:
    if piece[0] == BRACKET:
        return _in_set(char, piece[1:]) if len(piece) > 1 else char == "["
    return char == piece


def _in_set(char: str, body: str) -> bool:
    inverse = body[:1] in ("!", "^")
    if inverse:
        body = body[1:]
    found = False
    i = 0
    while i < len(body):
        if i + 2 < len(body) and body[i + 1] == "-":
            found = found or body[i] <= char <= body[i + 2]
            i += 3
        else:
            found = found or body[i] == char
            i += 1
    return found != inverse
