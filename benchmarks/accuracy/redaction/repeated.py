"""Texts that are hard for redaction: the literals of its own gates and patterns, repeated.

A gate fires on each repetition, and its pattern is tried there: what is quadratic, or tries a
long match at every place, shows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from leftoff.redaction.redactor import Redactor
from leftoff.redaction.rules import RULES, expand_macros

BRANCHES = 60
"""Alternatives of one expression that are written out."""


def literals(expression: str) -> list[str]:
    """A shortest text for each of the alternatives of an expression."""
    plain = re.sub(r"\(\?-?i:|\(\?i\)", lambda m: "(?:" if ":" in m[0] else "", expression)
    return list(dict.fromkeys(_texts(parser.parse(plain))))[:BRANCHES]


def _texts(tree: Any) -> list[str]:
    found = [""]
    for kind, value in tree:
        found = [a + b for a in found for b in _part(kind, value)][:BRANCHES]
    return found


def _part(kind: Any, value: Any) -> list[str]:
    if kind is kinds.LITERAL:
        return [chr(value)]
    if kind is kinds.NOT_LITERAL:
        return ["x" if value != ord("x") else "y"]
    if kind is kinds.IN:
        return [_letter(value)]
    if kind is kinds.ANY:
        return ["x"]
    if kind is kinds.BRANCH:
        return [text for branch in value[1] for text in _texts(branch)]
    if kind is kinds.SUBPATTERN:
        return _texts(value[3])
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        return [text * value[0] for text in _texts(value[2])] if value[0] else [""]
    return [""]  # an assertion or a reference


def _letter(items: Any) -> str:
    """A character of a class: an ordinary one, where it has one."""
    if items[0][0] is kinds.NEGATE:
        pattern = {chr(v) for k, v in items[1:] if k is kinds.LITERAL}
        return next(c for c in "xQ7-" if c not in pattern)
    kind, value = items[0]
    if kind is kinds.CATEGORY:
        return " "
    return chr(value if kind is kinds.LITERAL else value[0])


def repeated() -> Iterator[tuple[str, str]]:
    """Name of a rule and a literal of its gate or its pattern, each once."""
    seen: set[str] = set()
    for rule in RULES:
        for expression in (rule.gate, expand_macros(rule.pattern)):
            for text in literals(expression) if expression else ():
                if text and text not in seen:
                    seen.add(text)
                    yield f"{rule.rank} {rule.kind}", text


def figures(size: int = 1_000_000) -> dict[str, Any]:
    """The slowest and the steepest of all literals, in megabytes per second of CPU time and in
    growth of that time when the text is twice as long."""
    rows = []
    for name, literal in repeated():
        spent = [_time(literal, size // 2), _time(literal, size)]
        rows.append((size / 1e6 / spent[1], spent[1] / spent[0], name, literal[:40]))
    slowest, steepest = sorted(rows)[:5], sorted(rows, key=lambda r: -r[1])[:5]
    return {
        "literals": len(rows),
        "characters_each": size,
        "below_2_megabytes_per_second": sum(row[0] < 2 for row in rows),
        "growth_above_2_3": sum(row[1] > 2.3 for row in rows),
        "slowest": [[round(r[0], 2), r[2], r[3]] for r in slowest],
        "steepest": [[round(r[1], 2), r[2], r[3]] for r in steepest],
    }


def _time(literal: str, size: int) -> float:
    text = (literal * (size // len(literal) + 1))[:size]
    best = 9e9
    for _ in range(2):
        began = time.process_time()
        Redactor().text(text)
        best = min(best, time.process_time() - began)
    return best
