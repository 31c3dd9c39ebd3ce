"""What it costs to start, and what one more turn costs in a session that was read before."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.hooks.__main__ import ask, settle
from benchmarks.speed.data import MB, Sessions, repeated
from benchmarks.speed.growth import LEFTOFF, SHORT, summary_of
from benchmarks.speed.processes import Spent, medians, spend

_READ_ON = """
import sys
from pathlib import Path
from leftoff.incremental.saved_passes import SavedPass
kept = SavedPass(Path(sys.argv[1]))
kept.read_on(sys.argv[2])
if len(sys.argv) > 3:
    from leftoff.analysis.summary_json import to_json
    Path(sys.argv[3]).write_bytes(to_json(kept.summary(sys.argv[2])))
"""


def start_up(scratch: Path, rounds: int = 15) -> dict[str, Any]:
    """Medians of whole processes that take turns, and their cost as a multiple of `pass`."""
    path = scratch / "short.jsonl"
    path.write_bytes(SHORT)
    found = medians(
        {
            "python -c pass": (sys.executable, "-c", "pass"),
            "--version": (*LEFTOFF, "--version"),
            "--help": (*LEFTOFF, "--help"),
            "import leftoff": (sys.executable, "-c", "import leftoff"),
            "summarize, two lines": summary_of(path, scratch / "out.json"),
        },
        rounds,
    )
    base = found["python -c pass"].cpu
    return {
        name: {
            "wall_ms": round(1000 * s.wall, 1),
            "cpu_ms": round(1000 * s.cpu, 1),
            "times": round(s.cpu / base, 2),
        }
        for name, s in found.items()
    }


def one_more_turn(
    sessions: Sessions, scratch: Path, size: int = 500 * MB, rounds: int = 5
) -> dict[str, Any]:
    """A session of that size is read once; then a turn is appended, again and again, and read
    on, each time by a process of its own."""
    path, kept, out = scratch / "long.jsonl", scratch / "kept", scratch / "out.json"
    told = repeated(sessions, size, path)
    read_on = (sys.executable, "-c", _READ_ON, str(kept), str(path))
    first, whole = spend(read_on), spend(summary_of(path, out))
    news: list[Spent] = []
    summed: list[Spent] = []
    for number in range(rounds):
        turn = _turn(number)
        for command, found in ((read_on, news), ((*read_on, str(out)), summed)):
            with path.open("ab") as file:
                file.write(turn)
            found.append(spend(command))
    start = spend((sys.executable, "-c", _READ_ON.partition("kept =")[0]))
    path.unlink()
    return {
        "mb": round(told / MB, 1),
        "turn_bytes": len(_turn(0)),
        "first": _told([first]),
        "whole": _told([whole]),
        "imports": _told([start]),
        "read_on": _told(news),
        "read_on_and_summary": _told(summed),
    }


def _turn(number: int) -> bytes:
    """A question and an answer, with ids of their own."""
    return SHORT.replace(b'"uuid":"', b'"uuid":"%08d-' % number)


def _told(found: list[Spent]) -> dict[str, float]:
    return {
        "wall": round(statistics.median(s.wall for s in found), 3),
        "cpu": round(statistics.median(s.cpu for s in found), 3),
        "peak_mb": round(max(s.peak for s in found) / MB, 1),
    }


def hooks(sessions: Sessions, scratch: Path, size: int = 500 * MB, times: int = 10) -> Any:
    """How long a client waits for a hook: wall and processor milliseconds, medians."""
    project = scratch / "project"
    project.mkdir()
    path = scratch / "long.jsonl"
    told = repeated(sessions, size, path)
    ask("Stop", path, project)
    settle(project)
    found: dict[str, Any] = {"mb": round(told / MB, 1)}
    for event in ("Stop", "SessionStart"):
        wall: list[float] = []
        cpu: list[float] = []
        for number in range(times):
            with path.open("ab") as file:
                file.write(_turn(number))
            took, spent = ask(event, path, project)
            wall.append(took)
            cpu.append(spent)
            settle(project)
        found[event] = {
            "wall_ms": round(statistics.median(wall), 1),
            "most_ms": round(max(wall), 1),
            "cpu_ms": round(statistics.median(cpu), 1),
        }
    path.unlink()
    return found
