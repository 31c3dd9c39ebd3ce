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
        ("one core reads and judges", f"{speed:.0f} MB/s, {worker:.1f} ms a session"),
        ("two processes, one = 1", f"1/{two['median']:.2f} of the time"),
        (
            "Ray on this machine, the local pool = 1",
            f"1/{ray['median']:.2f}, after {ray['start']:.0f} s",
        ),
        (f"{killed['kills']} workers killed", f"{killed['lost']} sessions lost"),
        (
            f"{killed['files']:,} unchanged files",
            f"{killed['again_seconds'][2]:.2f} s, {killed['again_read']} bytes read",
        ),
        (
            "one process alone, `.jsonl` / `.parquet`",
            f"{base:.2f} / {parquet:.2f} ms a session",
        ),
        *(
            (f"`{e}`, four tables", f"{costs['again' + e]['kb']:.1f} KB a session")
            for e in (".jsonl", ".parquet", ".sqlite")
        ),
        ("index", f"{costs['index_kb']:.1f} KB a session"),
    ]
    lines = [
        f"{run['date']}, {run['machine']}, load {run['load']:.1f}; {costs['files']:,} Claude Code "
        f"sessions of {1000 * costs['mb'] / costs['files']:.0f} KB (`benchmarks/batch`):",
        "",
        "| | |",
        "|---|---|",
        *(f"| {a} | {b} |" for a, b in rows),
        "",
        f"A million sessions of {KB} KB need {hours(worker)}, and {hours(base)} in one process: beyond about "
        f"{worker / base:.0f} cores that decides. Then run several batches and query them together "
        "(`'out/*.parquet'`).",
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
