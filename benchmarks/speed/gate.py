"""Has a summary become slower? Measured on shipped sessions, against the committed run.

    python -m benchmarks.speed gate             # exit 1 if it has
    python -m benchmarks.speed gate --write     # commit what is measured now

What is compared are ratios to `orjson.loads` and to the naive summary, by processor time, all
in one run: they are much the same on any machine. Only if both have fallen below `SLACK` of
what they were, twice, is it said that something has become slower. The week before the run of
2026-11-29 had added what a summary finds out, and taken two fifths of its speed: a run is to be
committed anew for a reason that is known, not because this fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.speed.contestants import FIRST, GATE, turns
from benchmarks.speed.data import MB, parts, sessions_in

SIZE = 3 * MB // 2
ROUNDS = 5
SLACK = 0.6
SUMMARY = "leftoff, summary"


def measure(shipped: Path) -> dict[str, Any]:
    """The speed of a summary as a multiple of that of each other contestant."""
    session = b"".join(parts(sessions_in(shipped / "claude_code"), SIZE))
    times = turns(GATE, [("session.jsonl", session)], ROUNDS)
    # Others on the machine only ever add: the least of each is what it takes.
    best = {name: min(taken) for name, taken in times.items()}
    return {
        "mb": round(len(session) / MB, 2),
        "rounds": ROUNDS,
        "seconds": round(best[SUMMARY], 4),
        "ratios": {
            name: round(taken / best[SUMMARY], 4)
            for name, taken in best.items()
            if name != SUMMARY
        },
    }


def slower(measured: dict[str, Any], committed: dict[str, Any]) -> bool:
    """Whether the summary has fallen behind both yardsticks."""
    now, then = measured["ratios"], committed["ratios"]
    return all(now[name] < SLACK * then[name] for name in (FIRST, "naive"))
