"""The figures of docs/scale.md from the committed run.

python -m benchmarks.batch.figures     # writes them into the page
"""

# ruff: noqa: E501, ISC004 - sentences of the page

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scale.md"
RUN = Path(__file__).parent / "runs" / "batch.json"

MILLION = 1_000_000
KB = 250
"""Size of a session in the arithmetic."""


def figures(run: dict[str, Any]) -> str:
    costs, killed, two, ray = (run[n] for n in ("costs", "killed", "one_and_two", "ray"))
    worker = costs["worker_ms"] * KB / (1000 * costs["mb"] / costs["files"])
    base = costs["plan_keep_write_ms"]
    parquet = base - costs["again.jsonl"]["ms"] + costs["again.parquet"]["ms"]
    speed = costs["worker_mb_per_second"]
    rows = [
        ("reading and judging, any number of workers", f"{worker:.1f} ms", hours(worker)),
        ("plan, index, one `.jsonl`: one process", f"{base:.2f} ms", hours(base)),
        ("the same with `.parquet`", f"{parquet:.2f} ms", hours(parquet)),
        (
            "a run in which nothing has changed",
            f"{costs['unchanged_ms']:.3f} ms",
            hours(costs["unchanged_ms"]),
        ),
        ("index", f"{costs['index_kb']:.1f} KB", f"{costs['index_kb']:.1f} GB"),
        *(
            (
                f"`{e}`, all four tables",
                f"{costs['again' + e]['kb']:.1f} KB",
                f"{costs['again' + e]['kb']:.1f} GB",
            )
            for e in (".jsonl", ".jsonl.gz", ".parquet", ".sqlite")
        ),
    ]
    lines = [
        f"Measured on {run['date']} ({run['machine']}; others were using the machine, its load "
        f"was {run['load']:.1f}) with {costs['files']:,} sessions of "
        f"{1000 * costs['mb'] / costs['files']:.0f} KB, made of real Claude Code sessions, each "
        "under ids of its own (`benchmarks/batch`):",
        "",
        f"- one core reads, judges, redacts and encodes {speed:.0f} MB/s (processor time);",
        f"- two processes take 1/{two['median']:.2f} of the time of one (median of "
        f"{len(two['ratios'])}; {min(two['ratios']):.2f} to {max(two['ratios']):.2f});",
        f"- with {killed['kills']} workers killed at random, {killed['lost']} sessions are lost and "
        f"{'the output is the same, byte for byte' if killed['same_bytes'] else 'rows differ'};",
        f"- the whole command over {killed['files']:,} unchanged files takes "
        f"{killed['again_seconds'][2]:.2f} s and reads {killed['again_read']} bytes;",
        f"- Ray on this machine, once it has started ({ray['start']:.0f} s), does the same work in "
        f"1/{ray['median']:.2f} of the time of the local pool (median of {len(ray['ratios'])}; "
        f"{min(ray['ratios']):.2f} to {max(ray['ratios']):.2f}).",
        "",
        f"One million sessions of {KB} KB are {MILLION * KB / 1e6:.0f} GB. From these figures:",
        "",
        "| part | for each session | for a million |",
        "|---|---|---|",
        *(f"| {a} | {b} | {c} |" for a, b, c in rows),
        "",
        f"So 32 cores need {worker * MILLION / 1000 / 32 / 60:.0f} minutes for the work. What one process "
        f"does alone takes {base * MILLION / 1000 / 60:.0f} minutes with `.jsonl` and "
        f"{parquet * MILLION / 1000 / 60:.0f} with `.parquet`: beyond about {worker / base:.0f} or "
        f"{worker / parquet:.0f} cores that decides. Then cut the input into several batches, each with an "
        "output of its own, and query them together (`'out/*.parquet'`). The process that deals out holds "
        "about 1.5 KB for each file in memory. On object stores, listing and requests cost more than the "
        "processor does: a file is fetched twice, once for its header.",
    ]
    return "\n".join(lines)


def hours(milliseconds: float) -> str:
    """Time of one core for a million of them."""
    seconds = milliseconds * MILLION / 1000
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} core-hours"
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} s"


def rendered(page: str) -> str:
    """The page with the figures of the committed run."""
    told = figures(json.loads(RUN.read_bytes()))
    return re.sub(
        r"(<!-- figures -->\n).*?(\n<!-- end -->)",
        lambda m: m[1] + told + m[2],
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text("utf-8")), encoding="utf-8")
