"""How a batch of many sessions fares: with one process and two, killed, run again, on Ray.

    python -m benchmarks.batch FOLDER [--corpus FOLDER] [--rounds 5] [--files 600] [--ray]
                               [--kills 20] [--json FILE]

FOLDER holds what `benchmarks.batch.data` made. Contestants of one comparison take turns in one
run; figures are wall time, ratios the median of their rounds. Every run begins with no index.
Committed runs hold numbers only.
"""

from __future__ import annotations

import argparse
import datetime as dt
import filecmp
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.batch.kills import Killer
from leftoff.batch.jobs import BatchOptions
from leftoff.batch.outputs import output_files
from leftoff.batch.pool import Engine, Pool, available_processors
from leftoff.batch.run import Report, Run
from leftoff.errors import UsageError


def timed(folder: Path, engine: Engine, scratch: Path) -> tuple[float, Report]:
    """Wall time of a batch from the first look to the last row, with an index of its own."""
    place = scratch / "timed"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    began = time.monotonic()
    run = Run([folder], BatchOptions(), engine, str(place / "index"), os.environ)
    report = run.write([str(place / "out.jsonl")])
    run.close()
    return time.monotonic() - began, report


def some(folder: Path, count: int, scratch: Path) -> Path:
    """A folder with links to the first files of another."""
    place = scratch / f"first-{count}"
    if not place.exists():
        place.mkdir()
        for path in islice(sorted(folder.iterdir()), count):
            os.link(path, place / path.name)
    return place


def scaling(folder: Path, rounds: int, scratch: Path) -> dict[str, Any]:
    """Two processes against one."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    size = 0
    for _ in range(rounds):
        for workers, found in taken.items():
            seconds, report = timed(folder, Pool(workers), scratch)
            found.append(seconds)
            size = report.read
    ratios = [one / two for one, two in zip(taken[1], taken[2], strict=True)]
    return {
        "mb": round(size / 1e6, 1),
        "seconds": {str(n): [round(s, 2) for s in found] for n, found in taken.items()},
        "ratios": [round(ratio, 2) for ratio in ratios],
        "median": round(statistics.median(ratios), 2),
    }


def command(paths: list[Path], out: Path, *more: str) -> list[str]:
    given = [str(path) for path in paths]
    return [sys.executable, "-m", "leftoff", "batch", *given, "-o", str(out), "--json", *more]


def batch(paths: list[Path], out: Path, *more: str) -> tuple[float, dict[str, Any]]:
    """One run of the command: wall time of the whole process, and its report."""
    began = time.monotonic()
    done = subprocess.run(command(paths, out, *more), capture_output=True, check=True)
    return time.monotonic() - began, json.loads(done.stdout)


def killed(folder: Path, times: int, scratch: Path) -> dict[str, Any]:
    """A run whose workers are killed, against one in peace; then one over unchanged files."""
    calm, stormy = scratch / "calm.jsonl", scratch / "stormy.jsonl"
    seconds, report = batch([folder], calm, "-w", "2")
    process = subprocess.Popen(
        command([folder], stormy, "-w", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    killer = Killer(process.pid, times, 0.8 * seconds)
    killer.start()
    began = time.monotonic()
    out, errors = process.communicate()
    killer.over.set()
    if process.returncode:
        raise SystemExit(errors.decode())
    after = json.loads(out)
    again = [batch([folder], calm, "-w", "2") for _ in range(5)]
    return {
        "files": report["files"],
        "kills": killer.killed,
        "seconds": round(seconds, 2),
        "seconds_killed": round(time.monotonic() - began, 2),
        "sessions": sum(after["counts"]["formats"].values()),
        "lost": report["files"] - sum(after["counts"]["formats"].values()),
        "failures": after["counts"]["failures"],
        "same_bytes": filecmp.cmp(calm, stormy, shallow=False),
        "again_seconds": sorted(round(s, 2) for s, _ in again),
        "again_read": max(told["read"] for _, told in again),
        "again_known": min(told["known"] for _, told in again),
    }


def on_ray(folder: Path, rounds: int, scratch: Path) -> dict[str, Any]:
    """Ray on this machine against the pool, after Ray has started and is warm."""
    from leftoff.batch.ray import Cluster

    workers = available_processors()
    began = time.monotonic()
    ray = Cluster(workers=workers)
    started = time.monotonic() - began
    try:
        timed(some(folder, 50, scratch), ray, scratch)  # its workers start with the first task
        taken: dict[str, list[float]] = {"pool": [], "ray": []}
        for _ in range(rounds):
            taken["pool"].append(timed(folder, Pool(workers), scratch)[0])
            taken["ray"].append(timed(folder, ray, scratch)[0])
    finally:
        ray.close()
    ratios = [a / b for a, b in zip(taken["pool"], taken["ray"], strict=True)]
    return {
        "start": round(started, 1),
        "seconds": {name: [round(s, 2) for s in found] for name, found in taken.items()},
        "ratios": [round(ratio, 2) for ratio in ratios],
        "median": round(statistics.median(ratios), 2),
    }


def costs(folder: Path, scratch: Path) -> dict[str, Any]:
    """Processor time for each session: of the worker, and of the process that deals out, keeps
    and writes; bytes that are kept and written."""
    count = len(list(folder.iterdir()))
    plan, index = scratch / "costs.jsonl", scratch / "costs.index"
    began = time.process_time()
    run = Run([folder], BatchOptions(), Pool(), str(index), os.environ)
    report = run.write([str(plan)])
    run.close()
    ours = time.process_time() - began
    worked = sum(row[0] for row in sqlite3.connect(index).execute("SELECT seconds FROM jobs"))
    found = {
        "files": count,
        "mb": round(report.read / 1e6, 1),
        "worker_ms": round(1000 * worked / count, 2),
        "worker_mb_per_second": round(report.read / 1e6 / worked, 1),
        "plan_keep_write_ms": round(1000 * ours / count, 3),
        "index_kb": round(index.stat().st_size / 1000 / count, 2),
    }
    for ending in (".jsonl", ".jsonl.gz", ".sqlite", ".parquet"):
        out = scratch / f"more{ending}"
        began = time.process_time()
        run = Run([folder], BatchOptions(), Pool(), str(index), os.environ)
        try:
            run.write([str(out)])
        except UsageError:
            continue  # what it needs is not installed
        finally:
            run.close()
        size = sum(Path(path).stat().st_size for path in output_files(str(out)))
        spent = time.process_time() - began
        found[f"again{ending}"] = {
            "ms": round(1000 * spent / count, 3),
            "kb": round(size / 1000 / count, 2),
        }
    began = time.process_time()
    run = Run([folder], BatchOptions(), Pool(), str(index), os.environ)
    run.write([str(scratch / "more.jsonl")])
    run.close()
    found["unchanged_ms"] = round(1000 * (time.process_time() - began) / count, 3)
    return found


def corpus(folder: Path, scratch: Path) -> dict[str, Any]:
    """Every file of the corpus in one command, and a copy of each, cut in the middle."""
    out = scratch / "corpus.jsonl"
    seconds, report = batch([folder], out)
    rows = [json.loads(line) for line in out.open("rb")]
    told = {row["path"] for row in rows if row["status"] == "ok"}
    for row in rows:
        if row["status"] == "ok":
            told |= {source["path"] for source in row["document"]["session"]["sources"]}
    listed = [
        line.split("\t")[1] for line in (folder / "MANIFEST.tsv").open("r", encoding="utf-8")
    ]
    named = [str(folder / name) for name in listed[1:]]
    cut = scratch / "cut"
    cut.mkdir()
    for number, name in enumerate(named):
        data = Path(name).read_bytes()
        (cut / f"{number:04}-{Path(name).name}").write_bytes(data[: len(data) // 2])
    _, damaged = batch([cut], scratch / "cut.jsonl")
    return {
        "files": report["files"],
        "sessions": len([row for row in rows if row["status"] == "ok"]),
        "formats": dict(sorted(report["counts"]["formats"].items())),
        "failures": report["counts"]["failures"],
        "lines": report["counts"]["lines"],
        "listed": len(named),
        "listed_not_told": len([name for name in named if name not in told]),
        "seconds": round(seconds, 1),
        "cut": {
            "files": damaged["files"],
            "sessions": sum(damaged["counts"]["formats"].values()),
            "failures": damaged["counts"]["failures"],
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--files", type=int, default=600, help="of the comparison of one to two"
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ray", type=int, default=0, metavar="ROUNDS")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {available_processors()} processors, Python "
        f"{platform.python_version()}",
        "load": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory(dir=given.folder.parent) as name:
        scratch = Path(name)
        found["costs"] = costs(given.folder, scratch)
        if given.rounds:
            part = some(given.folder, given.files, scratch)
            found["one_and_two"] = scaling(part, given.rounds, scratch)
        if given.kills:
            found["killed"] = killed(given.folder, given.kills, scratch)
        if given.ray:
            found["ray"] = on_ray(given.folder, given.ray, scratch)
        if given.corpus:
            found["corpus"] = corpus(given.corpus, scratch)
    text = json.dumps(found, indent=2) + "\n"
    print(text, end="")
    if given.json:
        given.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
