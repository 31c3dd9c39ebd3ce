"""File operations of an inline script, as plain data."""

from typing import NamedTuple

# Longest script, in characters, that is analysed.
MAX_SCRIPT = 60_000
# Steps recorded of one script. Both limits were chosen by hand; not measured.
MAX_STEPS = 200
# Suffixes of files that a later command may run or apply.
RUNNABLE = tuple(
    ".py .sh .bash .zsh .js .mjs .cjs .ts .rb .pl .php .patch .diff .sed .awk".split()
)


class ScriptSteps(NamedTuple):
    """The steps of a script as (verb, path, second path), and whether it has other effects."""

    steps: tuple[tuple[str, str, str], ...]
    partial: bool
