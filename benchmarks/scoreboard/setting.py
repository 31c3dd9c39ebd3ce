"""What a part of the scoreboard is measured with, and how it runs other programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[2]

Values: TypeAlias = dict[str, float]
"""Figures by their names."""


class NoCorpus(Exception):
    """The recordings or labels that a part needs are not at hand."""


class CannotRun(Exception):
    """A program cannot run here; says why."""


class Setting(Struct, frozen=True):
    """Where a part finds its data.

    Attributes:
        corpora: a folder with `public`, `more` and `labels/{double,single,more}`, or None.
        scratch: an empty folder.
    """

    corpora: Path | None
    scratch: Path

    def corpus(self, *names: str) -> Path:
        """A folder of the corpora.

        Raises:
            NoCorpus: there is none.
        """
        if self.corpora is None or not self.corpora.joinpath(*names).is_dir():
            raise NoCorpus("/".join(names))
        return self.corpora.joinpath(*names)


class Part(Struct, frozen=True):
    """Figures that are measured together.

    Attributes:
        budget: seconds after which it is stopped.
        measure: measures all of them.
        lower: pieces of the names of figures of which less is better.
        neutral: the same of figures of which neither more nor less is better.
    """

    name: str
    budget: float
    measure: Callable[[Setting], Values]
    lower: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()

    def direction(self, figure: str) -> int:
        """1 if more is better, -1 if less is, 0 if neither."""
        if any(piece in figure for piece in self.lower):
            return -1
        return 0 if any(piece in figure for piece in self.neutral) else 1


def ran(*command: str | Path, codes: Sequence[int] = (0,)) -> bytes:
    """What a program of this interpreter prints, run in the root of the checkout.

    Raises:
        CannotRun: it ended with another exit code; says its last line.
    """
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, check=False, cwd=ROOT
    )
    if done.returncode not in codes:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise CannotRun(f"{' '.join(map(str, command[:4]))}: {''.join(last)}")
    return done.stdout


def json_of(*command: str | Path) -> Any:
    """The JSON that a program prints."""
    return json.loads(ran(*command))


def evaluated(what: str, *arguments: str | Path) -> Any:
    """The run of `leftoff eval WHAT`. Intervals are not looked at, so few are drawn."""
    return json_of("-m", "leftoff", "eval", what, *arguments, "--json", "--resamples", "2")
