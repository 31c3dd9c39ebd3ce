"""Path operations of a Python script: parts of a path."""

from __future__ import annotations

__all__ = ["PATH_METHODS", "Value", "part_of", "path_method"]

Value = str | list[str] | None
"""What is known of an expression: a text, several, or nothing."""
PATH_METHODS = frozenset(
    ("joinpath", "with_suffix", "with_name", "with_stem", "resolve", "absolute", "expanduser",
     "glob", "rglob", "iterdir")
)  # fmt: skip
"""Methods of a ``Path`` that give another one, or several."""


def part_of(value: Value, part: str) -> str | None:
    """The ``name``, ``stem`` or ``parent`` of a path; None where it is not known."""
    if not isinstance(value, str):
        return None
    head, slash, name = value.rpartition("/")
    if part == "parent":
        return head or "/" if slash else "."
    return name if part == "name" else name.rpartition(".")[0] or name


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
