"""How long a client waits for our hooks: python -m benchmarks.hooks --size 500.

A shipped session is repeated with fresh ids until it has the size, in a scratch folder that is
removed afterwards. Each event is asked several times as a client does, by starting the program;
the worker that it starts has ended before the next one. On a busy machine the wall time says
more of the others: the processor time stands beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

SESSION = Path("corpora/sessions/claude_code/prorate.jsonl")
EVENTS = ("Stop", "SessionStart", "SessionEnd", "PreCompact")
_IDS = re.compile(
    r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:toolu|msg|req)_\w+)"
)


def build(path: Path, size: int) -> int:
    """Writes a session of at least `size` bytes; how large it is."""
    text = SESSION.read_text(encoding="utf-8")
    own = json.loads(text.splitlines()[0]).get("sessionId")
    pieces = _IDS.split(text)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            fresh: dict[str, str] = {own: own}
            for at in range(1, len(pieces), 2):
                old = pieces[at]
                if old not in fresh:
                    kind, found, _ = old.partition("_")
                    new = uuid.uuid4()
                    fresh[old] = f"{kind}_{new.hex}" if found else str(new)
            file.write("".join(fresh[p] if n % 2 else p for n, p in enumerate(pieces)))
    return path.stat().st_size


def ask(event: str, transcript: Path, project: Path) -> tuple[float, float]:
    """Wall and processor time of one hook in milliseconds, its worker left aside."""
    payload = {
        "session_id": "big",
        "transcript_path": str(transcript),
        "cwd": str(project),
        "hook_event_name": event,
        "source": "compact",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "leftoff", "hook"],
        input=json.dumps(payload).encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * took, 1000 * spent


def settle(project: Path) -> float:
    """Waits for the worker; for how many seconds."""
    began = time.perf_counter()
    state = project / ".leftoff" / "state" / "big"
    while (state / "busy").exists() or list(state.glob("wants.*")):
        time.sleep(0.05)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=500, help="of the session, in MB")
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "project"
        project.mkdir()
        transcript = Path(scratch) / "session.jsonl"
        size = build(transcript, options.size * 1_000_000)
        print(f"{size:,} bytes; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        first, spent = ask("Stop", transcript, project)
        print(f"first Stop: {first:.0f} ms, {spent:.0f} ms of processor time")
        print(f"read and summarised beside it: {settle(project):.1f} s")
        for event in EVENTS:
            wall: list[float] = []
            used: list[float] = []
            waited = 0.0
            for _ in range(options.times if event != "PreCompact" else 2):
                took, spent = ask(event, transcript, project)
                wall.append(took)
                used.append(spent)
                waited = max(waited, settle(project))
            print(
                f"{event}: median {statistics.median(wall):.0f} ms, most {max(wall):.0f} ms, "
                f"processor {statistics.median(used):.0f} ms; then {waited:.1f} s beside it"
            )


if __name__ == "__main__":
    main()
