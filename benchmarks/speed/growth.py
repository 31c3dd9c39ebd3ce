"""How cost grows: with the size of a session, with the number of files, with processes.

The exponent is the slope of a line through the logarithms (least squares): 1 means that twice
as much costs twice as much.
"""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.batch.__main__ import scaling, some
from benchmarks.batch.data import build
from benchmarks.speed.data import MB, Sessions, repeated, unit
from benchmarks.speed.processes import median, spend
from leftoff.batch.jobs import BatchOptions
from leftoff.batch.pool import Pool
from leftoff.batch.run import Run

LEFTOFF = (sys.executable, "-m", "leftoff")

SIZES = (1, 3, 10, 30, 100, 300, 500, 1000)
"""Megabytes of one session."""

COUNTS = (100, 300, 1000, 3000)
"""Files of one batch."""

FILE = 100_000
"""Bytes of each of them."""


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the line through (log x, log y)."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum(
        (a - x) ** 2 for a in xs
    )


def summary_of(path: Path, out: Path) -> tuple[str, ...]:
    return (*LEFTOFF, "summarize", str(path), "--json", "-o", str(out))


def by_size(
    sessions: Sessions, scratch: Path, sizes: Sequence[int] = SIZES, rounds: int = 3
) -> dict[str, Any]:
    """The whole command on one session of each size: the same megabyte over and over, with
    fresh ids and fresh commands. Sizes of 100 MB and more are run once."""
    piece = unit(sessions)
    path, out = scratch / "long.jsonl", scratch / "out.json"
    rows: list[dict[str, float]] = []
    for size in sizes:
        told = repeated(piece, size * MB, path)
        found = [spend(summary_of(path, out)) for _ in range(1 if size >= 100 else rounds)]
        spent = median(found)
        rows.append(
            {
                "mb": round(told / MB, 2),
                "cpu": round(spent.cpu, 3),
                "wall": round(spent.wall, 3),
                "peak_mb": round(spent.peak / MB, 1),
                "out_mb": round(out.stat().st_size / MB, 3),
            }
        )
    path.unlink(missing_ok=True)
    # Starting takes as long for every size; what is left is the work.
    start = _start(scratch)
    work = [(row["mb"], row["cpu"] - start) for row in rows]
    return {
        "rows": rows,
        "start": round(start, 3),
        "exponent": round(exponent(work), 3),
        "exponent_from_10": round(exponent([w for w in work if w[0] >= 9]), 3),
    }


def _start(scratch: Path) -> float:
    """Processor time of a summary of two lines: everything but the work."""
    path = scratch / "short.jsonl"
    path.write_bytes(SHORT)
    return median([spend(summary_of(path, scratch / "out.json")) for _ in range(7)]).cpu


SHORT = b"".join(
    b'{"type":"%s","uuid":"0000000%d-0000-4000-8000-000000000000","parentUuid":null,'
    b'"sessionId":"00000000-0000-4000-8000-000000000000","cwd":"/p","version":"2.1.0",'
    b'"timestamp":"2026-01-01T00:00:0%dZ","message":{"role":"%s","content":%s}}\n'
    % (role, number, number, role, words)
    for number, (role, words) in enumerate(
        [
            (b"user", b'"Say hello."'),
            (b"assistant", b'[{"type":"text","text":"Hello to you."}]'),
        ]
    )
)
"""The shortest session."""


def by_count(
    corpus: Path, scratch: Path, counts: Sequence[int] = COUNTS, rounds: int = 3
) -> dict[str, Any]:
    """Processor time of a whole batch, workers and all, by the number of files."""
    folder = scratch / "files"
    build(corpus, folder, max(counts), FILE)
    rows: list[dict[str, float]] = []
    for count in counts:
        part = some(folder, count, scratch)
        found = sorted(_batch(part, scratch / "batch") for _ in range(rounds))
        spent, read = found[len(found) // 2]
        rows.append({"files": count, "mb": round(read / MB, 1), "cpu": round(spent, 3)})
    points = [(row["mb"], row["cpu"]) for row in rows]
    return {"rows": rows, "exponent": round(exponent(points), 3)}


def _batch(folder: Path, place: Path) -> tuple[float, int]:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    index = place / "index"
    began = time.process_time()
    run = Run([folder], BatchOptions(), Pool(1), str(index), os.environ)
    report = run.write([str(place / "out.jsonl")])
    run.close()
    ours = time.process_time() - began
    with sqlite3.connect(index) as known:
        (worked,) = known.execute("SELECT sum(seconds) FROM jobs").fetchone()
    return ours + float(worked), report.read


def by_processes(corpus: Path, scratch: Path, files: int = 600, rounds: int = 5) -> Any:
    """Two processes against one, wall time, sessions of 250 KB."""
    folder = scratch / "sessions"
    build(corpus, folder, files, 250_000)
    return scaling(folder, rounds, scratch)
