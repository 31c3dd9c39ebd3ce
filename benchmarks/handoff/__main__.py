"""A simulated supervisor over real recorded sessions.

    python -m benchmarks.handoff DIR [--kills N] [-o run.json]

Every session in DIR that is written line by line and tells the usage of at least 12 calls is
replayed call by call with a scripted agent. Sessions seldom reach 98 % of their real window,
so each provider's limit is chosen for each session: its largest recorded occupancy in the
first 60 % of its calls is 98.5 % of it. Prints numbers only.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from benchmarks.handoff.replay import Held, Replayed, Session, replay
from leftoff._version import __version__
from leftoff.errors import InputError
from leftoff.evaluation.intervals import bootstrap

FEWEST = 12


def sessions(folder: Path, scratch: Path) -> list[Session]:
    found: list[Session] = []
    for path in sorted(folder.rglob("*.jsonl*")):
        if not path.name.endswith((".jsonl", ".jsonl.gz")):
            continue
        try:
            session = Session(str(path), scratch)
        except (InputError, ValueError):
            continue
        lines = [m.line for m in session.messages]
        if len(session.tokens) >= FEWEST and None not in lines:
            found.append(session)
    return found


def share(hits: Sequence[Sequence[bool]]) -> dict[str, Any]:
    """A share with its 95 % interval, resampled by session."""

    def figure(rows: Sequence[Sequence[bool]]) -> float | None:
        flat = [hit for row in rows for hit in row]
        return sum(flat) / len(flat) if flat else None

    value, interval = figure(hits), bootstrap(hits, figure)
    return {
        "share": None if value is None else round(value, 4),
        "interval": [round(interval.low, 4), round(interval.high, 4)] if interval else None,
        "of": sum(map(len, hits)),
    }


def ratios(held: Sequence[Held]) -> dict[str, Any]:
    history = [h.injected / h.history for h in held if h.history]
    tail = [h.injected / h.tail for h in held if h.tail]
    return {
        "injected_median": statistics.median(h.injected for h in held),
        "of_history_median": round(statistics.median(history), 4),
        "of_tail_median": round(statistics.median(tail), 4),
        "of_history_total": round(
            sum(h.injected for h in held) / sum(h.history for h in held), 4
        ),
        "of_tail_total": round(sum(h.injected for h in held) / sum(h.tail for h in held), 4),
    }


def kills(found: Sequence[Session], whole: Sequence[Replayed], most: int) -> dict[str, Any]:
    """Each session again, killed at up to `most` of its steps, spread over all of them.

    A process is killed, not the power cut, so nothing here waits for the disk.
    """
    runs = wrong = 0
    os.fsync = lambda fd: None  # noqa: ARG005 - its name
    for number, (session, before) in enumerate(zip(found, whole, strict=True)):
        every = max(1, -(-before.steps // most)) if most else 1
        for at in range(1 + number % every, before.steps + 1, every):
            again = replay(session, number, kill=at)
            runs += 1
            if again.end != before.end or again.faults:
                wrong += 1
                told = (again.end == before.end, again.faults[:2])
                print(f"{session.name} killed at {at}: {told}", file=sys.stderr)
    return {"runs": runs, "wrong": wrong, "steps": sum(w.steps for w in whole)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=0, help="kills of each session; 0: none")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        found = sessions(options.folder, Path(scratch))
        whole = [replay(s, n, measure=True) for n, s in enumerate(found)]
        killed = kills(found, whole, options.kills) if options.kills else None
        state = blake2b(digest_size=8)
        for session in found:
            state.update(Path(session.path).read_bytes())
    held = [h for r in whole for h in r.held]
    seconds = sorted(s for r in whole for s in r.seconds)
    interrupted = [r for r in whole if r.handoffs]
    made = [c for r in whole for c in r.capacities]
    value = {
        "leftoff": __version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "recordings": state.hexdigest(),
        "sessions": len(found),
        "calls": sum(r.calls for r in whole),
        "faults": [f"{n}: {f}" for n, r in enumerate(whole) for f in r.faults],
        "crossings": sum(r.crossings for r in whole),
        "calls_refused": sum(r.refused for r in whole),
        "checkpoints": {c: made.count(c) for c in ("90p", "95p", "98p")},
        "saved_within_5_s": share([[s < 5 for s in r.seconds] for r in whole]),
        "seconds": {
            "median": round(statistics.median(seconds), 3),
            "p95": round(seconds[int(0.95 * len(seconds))], 3),
            "worst": round(seconds[-1], 3),
        },
        "markdown_files_checked": sum(r.sections for r in whole),
        "asked": sum(r.asked for r in whole),
        "told_by_agent": sum(r.told_by_agent for r in whole),
        "handoffs": sum(r.handoffs for r in whole),
        "held_everything": share([[h.everything for h in r.held] for r in whole]),
        "held_items": {"held": sum(h.items_held for h in held),
                       "of": sum(h.items for h in held)},
        "held_files": {"held": sum(h.files_held for h in held),
                       "of": sum(h.files for h in held),
                       "in_a_tail_of_the_same_size": sum(h.tail_files_held for h in held)},
        "carried_to_their_end": share([[r.carried] for r in interrupted]),
        "tokens": ratios(held),
        "killed": killed,
        "seconds_of_this_run": round(time.monotonic() - began, 1),
    }  # fmt: skip
    text = json.dumps(value, indent=2) + "\n"
    if options.output:
        options.output.write_text(text, "utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
