"""Whether a file name is one of those that a shell pattern stands for."""

from __future__ import annotations

from leftoff.extraction.script import BRACKET, QUESTION, STAR

__all__ = ["matches"]


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
