"""File operations of an inline script, as plain data."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "LAST",
    "MAX_SCRIPT",
    "MAX_STEPS",
    "PATTERN",
    "RUNNABLE",
    "STEM",
    "WHOLE",
    "ScriptSteps",
]

MAX_SCRIPT = 60_000
"""Longest script, in characters, that is analysed."""
MAX_STEPS = 200
"""Steps recorded of one script. Both limits were chosen by hand; not measured."""
RUNNABLE = (
    ".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php",
    ".patch", ".diff", ".sed", ".awk",
)  # fmt: skip
"""Suffixes of files that a later command may run or apply."""

PATTERN, WHOLE, LAST, STEM = "\r", "\n", "\v", "\f"
"""Around a marked pattern in a path: it stands for each name that it matches, which is meant
whole, without its folders, or without these and its suffix."""


class ScriptSteps(NamedTuple):
    """The steps of a script as (verb, path, second path), and whether it has other effects."""

    steps: tuple[tuple[str, str, str], ...]
    partial: bool
