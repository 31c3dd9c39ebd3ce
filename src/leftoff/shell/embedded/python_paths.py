"""Path operations of a Python script: parts of a path, and names that a pattern matches."""

from __future__ import annotations

from leftoff.shell.ast import STAR, UNKNOWN
from leftoff.shell.embedded.steps import LAST, PATTERN, STEM, WHOLE

__all__ = ["PATH_METHODS", "Value", "folder_prefix", "part_of", "path_method"]

Value = str | list[str] | None
"""What is known of an expression: a text, several, or nothing."""
PATH_METHODS = frozenset(
    ("joinpath", "with_suffix", "with_name", "with_stem", "resolve", "absolute", "expanduser",
     "glob", "rglob", "iterdir")
)  # fmt: skip
"""Methods of a ``Path`` that give another one, or several."""


def folder_prefix(value: Value) -> str:
    """The prefix of the names in a folder; `UNKNOWN` for a folder that is not known."""
    if not isinstance(value, str) or PATTERN in value:
        return UNKNOWN
    return "" if value == "." else value.rstrip("/") + "/"


def part_of(value: Value, part: str) -> str | None:
    """The ``name``, ``stem`` or ``parent`` of a path; None where it is not known."""
    if not isinstance(value, str):
        return None
    if PATTERN not in value:
        head, slash, name = value.rpartition("/")
        if part == "parent":
            return head or "/" if slash else "."
        return name if part == "name" else name.rpartition(".")[0] or name
    head = value[1:].rpartition("/")[0]
    if value.count(PATTERN) > 1 or value[0] != PATTERN or value[-1] not in (WHOLE, LAST):
        return None
    if part == "parent":
        return None if STAR in head or value[-1] == LAST else head or "."
    return value[:-1] + (LAST if part == "name" else STEM)


def path_method(base: str, method: str, extra: str) -> str | None:
    """The path that a method of a path returns; None where it is not known."""
    if method == "joinpath":
        return f"{base.rstrip('/')}/{extra}"
    if method in ("with_name", "with_suffix"):
        parent = part_of(base, "parent")
        name = extra if method == "with_name" else part_of(base, "stem")
        if parent is None or name is None:
            return None
        end = extra if method == "with_suffix" else ""
        return name + end if parent == "." else f"{parent.rstrip('/')}/{name}{end}"
    return base
