"""The steps that a script given inline takes on files."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LONGEST_SCRIPT", "MANY", "Embedded"]

LONGEST_SCRIPT = 60_000
MANY = 200


class Embedded(NamedTuple):
    """The steps of a script as (verb, path, second path), and whether there is more."""

    steps: tuple[tuple[str, str, str], ...]
    partial: bool
