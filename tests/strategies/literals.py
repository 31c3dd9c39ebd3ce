"""Texts that a regular expression matches, made from the expression itself.

For each alternative of each choice in it there is one text, so that a hostile text can be made of
what a rule itself looks for.
"""

import re
from collections.abc import Iterable, Sequence
from re import _constants as names  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST = 400
"""Texts of one expression; none of the package has more alternatives."""

_CATEGORIES = {
    names.CATEGORY_DIGIT: "7", names.CATEGORY_SPACE: " ", names.CATEGORY_WORD: "w",
    names.CATEGORY_NOT_DIGIT: "x", names.CATEGORY_NOT_SPACE: "x", names.CATEGORY_NOT_WORD: "-",
}  # fmt: skip
_FILLER = " xq7-.,_/:"


def literals(pattern: str, flags: int = 0) -> list[str]:
    """One text for each alternative, shortest form: optional parts appear once."""
    found = dict.fromkeys(_texts(parser.parse(pattern, flags)))
    return [text for text in found if text.strip()][:MOST]


def _texts(items: Iterable[Any]) -> list[str]:
    """The texts of a sequence: the first text of each item, and every other in its place."""
    parts = [_item(operation, value) for operation, value in items]
    heads = [part[0] for part in parts]
    texts = ["".join(heads)]
    for place, part in enumerate(parts):
        texts += ["".join([*heads[:place], other, *heads[place + 1 :]]) for other in part[1:]]
    return texts[: 4 * MOST]


def _item(operation: Any, value: Any) -> list[str]:
    if operation is names.LITERAL:
        return [chr(value)]
    if operation is names.NOT_LITERAL:
        return [next(c for c in _FILLER if ord(c) != value)]
    if operation is names.ANY:
        return ["x"]
    if operation is names.IN:
        return [_one_of(value)]
    if operation is names.BRANCH:
        return [text for branch in value[1] for text in _texts(branch)]
    if operation is names.SUBPATTERN:
        return _texts(value[-1])
    if operation is names.ATOMIC_GROUP:
        return _texts(value)
    if operation in (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT):
        least, _, inner = value
        return [text * max(1, least) for text in _texts(inner)]
    return [""]  # anchors, looks ahead and back, references


def _one_of(choices: Sequence[tuple[Any, Any]]) -> str:
    if choices[0][0] is names.NEGATE:
        inside = re.compile(f"[{''.join(map(_class_source, choices[1:]))}]")
        return next((c for c in _FILLER if not inside.match(c)), "x")
    operation, value = choices[0]
    if operation is names.RANGE:
        return chr(value[0])
    if operation is names.CATEGORY:
        return _CATEGORIES.get(value, "x")
    return chr(value)


def _class_source(choice: tuple[Any, Any]) -> str:
    operation, value = choice
    if operation is names.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    if operation is names.CATEGORY:
        return {
            names.CATEGORY_DIGIT: r"\d", names.CATEGORY_SPACE: r"\s", names.CATEGORY_WORD: r"\w",
            names.CATEGORY_NOT_DIGIT: r"\D", names.CATEGORY_NOT_SPACE: r"\S",
            names.CATEGORY_NOT_WORD: r"\W",
        }[value]  # fmt: skip
    return re.escape(chr(value))
