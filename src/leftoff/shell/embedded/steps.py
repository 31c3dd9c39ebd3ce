"""The steps that a script given inline takes on files."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "LAST",
    "LONGEST_SCRIPT",
    "MANY",
    "PATTERN",
    "RUNNABLE",
    "STEM",
    "WHOLE",
    "Embedded",
]

LONGEST_SCRIPT = 60_000
MANY = 200
RUNNABLE = (
    ".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php",
    ".patch", ".diff", ".sed", ".awk",
)  # fmt: skip
"""Ends of names of files that a later command may run or apply."""

PATTERN, WHOLE, LAST, STEM = "\r", "\n", "\v", "\f"
"""Around a marked pattern in a path: it stands for each name that it matches, which is meant
whole, without its folders, or without these and its suffix."""


class Embedded(NamedTuple):
    """The steps of a script as (verb, path, second path), and whether there is more."""

    steps: tuple[tuple[str, str, str], ...]
    partial: bool
