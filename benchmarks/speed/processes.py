"""What a program costs: wall time, processor time, peak of memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

LAUNCHER = Path(__file__).with_name("launcher.py")


class Spent(Struct, frozen=True):
    """What one run of a program took.

    Attributes:
        wall, cpu: seconds; `cpu` is user and system time, children that it waited for included.
        peak: bytes of resident memory at most.
        code: its exit code, None if it was stopped at the time limit.
    """

    wall: float
    cpu: float
    peak: int
    code: int | None


def spend(
    command: Sequence[str],
    *,
    limit: float = 3600,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Spent:
    """Runs a program, what it prints thrown away.

    Args:
        limit: seconds of processor time after which it is stopped.

    Raises:
        RuntimeError: it failed.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(LAUNCHER), str(limit), *command],
        capture_output=True,
        check=True,
        cwd=cwd,
        env=None if env is None else dict(env),
    )
    spent = Spent(**json.loads(done.stdout))
    if spent.code:
        words = done.stderr.decode(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(command)}: exit {spent.code}\n{words}")
    return spent


def medians(
    commands: Mapping[str, Sequence[str]],
    rounds: int,
    *,
    limit: float = 3600,
    env: Mapping[str, str] | None = None,
) -> dict[str, Spent]:
    """The median of several runs of each program; they take turns."""
    taken: dict[str, list[Spent]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(spend(command, limit=limit, env=env))
    return {name: median(found) for name, found in taken.items()}


def median(found: Sequence[Spent]) -> Spent:
    return Spent(
        statistics.median(s.wall for s in found),
        statistics.median(s.cpu for s in found),
        max(s.peak for s in found),
        found[0].code,
    )
