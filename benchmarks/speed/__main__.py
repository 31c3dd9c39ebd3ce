"""How fast leftoff is, as ratios in one run.

    python -m benchmarks.speed FOLDER [--rounds 5] [--memory MIB] [--json FILE]

FOLDER holds line-based recordings (.jsonl, also .gz); they are read into memory first. Every
round runs each contestant once, so that a noisy machine disturbs all alike; the figure is the
median over rounds of CPU time, and the ratio is against `orjson.loads` of every line. Files
are never written to the repository; a committed run holds numbers only.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import msgspec
import orjson

from leftoff.findings import Source
from leftoff.formats.claude_code import Line
from leftoff.judgement import files
from leftoff.summary import Pass, to_json

Sessions = list[tuple[str, bytes]]


def sessions_in(folder: Path) -> Sessions:
    found: Sessions = []
    for path in sorted(folder.rglob("*.jsonl*")):
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            found.append((path.name, data))
    return found


def by_line(decode: Callable[[bytes], object]) -> Callable[[Sessions], None]:
    def run(sessions: Sessions) -> None:
        for _, data in sessions:
            for line in io.BytesIO(data):
                try:
                    decode(line)
                except ValueError:
                    continue

    return run


def read(sessions: Sessions) -> None:
    """The pass alone: messages and evidence, no judgement."""
    for name, data in sessions:
        reading = Pass(name)
        reading.feed(data)
        reading.close()


def summarize(sessions: Sessions) -> None:
    """Everything: the pass, the judgement, the gate, the JSON."""
    for name, data in sessions:
        reading = Pass(name)
        reading.feed(data)
        reading.close()
        to_json(reading.conclude([Source(name)]))


def without_shell(sessions: Sessions) -> None:
    """Everything but the analysis of command lines."""
    with mock.patch.object(files.Tracker, "ran", return_value=None):
        summarize(sessions)


CONTESTANTS: dict[str, Callable[[Sessions], None]] = {
    "orjson.loads of every line": by_line(orjson.loads),
    "msgspec typed decode": by_line(msgspec.json.Decoder(Line).decode),
    "leftoff, the pass alone": read,
    "leftoff, summary without shell analysis": without_shell,
    "leftoff, summary": summarize,
}


def compare(sessions: Sessions, rounds: int) -> dict[str, dict[str, float]]:
    """Median CPU seconds of each contestant, and its speed relative to the first."""
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for number in range(rounds + 1):
        for name, run in CONTESTANTS.items():
            began = time.process_time()
            run(sessions)
            if number:  # the first round warms caches
                times[name].append(time.process_time() - began)
    first = next(iter(times.values()))
    return {
        name: {
            "seconds": round(statistics.median(taken), 4),
            "ratio": round(
                statistics.median(a / b for a, b in zip(first, taken, strict=True)), 3
            ),
        }
        for name, taken in times.items()
    }


_ID = re.compile(rb"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")


def repeated(sessions: Sessions, mebibytes: int, target: Path) -> None:
    """One long session: the given ones over and over, with fresh ids each time."""
    size, number = 0, 0
    with target.open("wb") as file:
        while size < mebibytes << 20:
            for _, data in sessions:
                number += 1
                salt = b"%08x" % number
                part = _ID.sub(salt, data).replace(b'"msg_01', b'"msg_' + salt)
                part = part.replace(b"toolu_01", b"toolu_" + salt)
                size += file.write(part if part.endswith(b"\n") else part + b"\n")
                if size >= mebibytes << 20:
                    break


def peak_memory(sessions: Sessions, mebibytes: int) -> dict[str, float]:
    """Peak resident memory, in MiB, of summarizing one session of that size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.jsonl"
        repeated(sessions, mebibytes, path)
        out = Path(folder) / "out.json"
        command = [sys.executable, "-m", "leftoff", "summarize", str(path), "--json"]
        began = time.monotonic()
        subprocess.run([*command, "-o", str(out)], check=True, capture_output=True)
        taken = time.monotonic() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        size = path.stat().st_size / (1 << 20)
    return {"input_mib": round(size), "peak_mib": round(peak), "seconds": round(taken, 1)}


def start_up(rounds: int = 15) -> dict[str, float]:
    """CPU time of starting, relative to `python -c pass`."""
    commands = {
        "pass": [sys.executable, "-c", "pass"],
        "--version": [sys.executable, "-m", "leftoff", "--version"],
        "--help": [sys.executable, "-m", "leftoff", "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times[name].append(
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            )
    base = statistics.median(times["pass"])
    return {name: round(statistics.median(t) / base, 2) for name, t in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", type=int, default=0, metavar="MIB")
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    sessions = sessions_in(args.folder)
    if not sessions:
        sys.exit(f"{args.folder}: no .jsonl recordings")
    megabytes = sum(len(data) for _, data in sessions) / 1e6
    result: dict[str, object] = {
        "machine": f"{platform.machine()} {platform.python_version()}",
        "sessions": len(sessions),
        "megabytes": round(megabytes, 1),
    }
    if args.memory:  # first: the peak of children is a maximum over all of them
        result["memory"] = peak_memory(sessions, args.memory)
    figures = compare(sessions, args.rounds)
    result["speed"] = figures
    result["start_up"] = start_up()
    print(f"{len(sessions)} sessions, {megabytes:.0f} MB, median of {args.rounds} rounds, CPU")
    for name, figure in figures.items():
        rate = megabytes / figure["seconds"]
        taken, ratio = figure["seconds"], figure["ratio"]
        print(f"  {name:42} {taken:8.3f} s {rate:7.0f} MB/s {ratio:6.2f}x")
    print("start-up against `python -c pass`:", result["start_up"])
    if args.memory:
        print("memory:", result["memory"])
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
