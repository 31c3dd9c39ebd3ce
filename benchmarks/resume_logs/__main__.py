"""Resume logs of every recording in a folder: budget, groundedness, empty sections, time.

    python -m benchmarks.resume_logs FOLDER [--budgets 250 10000] [--json FILE] [--worst N]

For each recording that leftoff reads: is a log within its budget by the upper bound and, where
the packages of `benchmarks/accuracy/tokens/vocabularies.py` are installed, by every tokenizer;
how full is it where something was left out; does every path, number, id and quoted phrase in it
occur in the recording; is a section empty although the summary has something for it. Times are
medians in milliseconds: the log from a ready summary, and its markdown. Exit 1: a budget was
exceeded, or something does not occur in its recording.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leftoff.api import read, summarize
from leftoff.errors import LeftoffError
from leftoff.evaluation.handover_scores import GroundingSource
from leftoff.formats import native
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.sources.open import open_lines, session_paths
from leftoff.summary import ContextSummary
from leftoff.tokens import max_tokens

SECTIONS: dict[str, Callable[[ContextSummary], object]] = {
    "Mission Summary": lambda s: s.user_requests,
    "Accomplishments": lambda s: [m for m in s.progress.milestones if m.evidence == "verified"],
    "Decisions & Rationale": lambda s: s.key_decisions,
    "Next Steps": lambda s: s.next_steps,
    "Critical Context": lambda s: s.session.id or s.session.cwd,
    "Session Metadata": lambda s: [f for f in s.file_modifications if f.action != "read"],
}
"""The sections that must not be empty, and what of the summary says so."""


def tokenizers() -> dict[str, Any]:
    """Every tokenizer that is installed."""
    try:
        from benchmarks.accuracy.tokens.vocabularies import load
    except ImportError:
        return {}
    try:
        return load()
    except SystemExit:
        return {}


def recordings(folder: Path) -> list[Path]:
    """The files below a folder that may be recordings."""
    skip = (".groundtruth.json", ".metadata.json", "MANIFEST.tsv", ".md5")
    files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    return [p for p in files if p.is_file() and not p.name.endswith(skip)]


def grounding_source(path: Path) -> GroundingSource:
    """Everything that a recording says: its name, its bytes, its messages as they are read."""
    main, _ = session_paths(str(path))
    with open_lines(main) as lines:
        raw = [bytes(line) for line in lines]
    messages = native.write(list(read(str(path)))).splitlines()
    return GroundingSource([path.name.encode(), *raw, b"".join(raw), *messages])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=[250, 1000, 10_000, 50_000])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worst", type=int, default=0, help="show so many wrong claims")
    given = parser.parse_args()
    counters = tokenizers()
    counts: Counter[str] = Counter()
    fills: dict[int, list[float]] = {b: [] for b in given.budgets}
    built: list[float] = []
    laid_out: list[float] = []
    grounded: list[tuple[int, int]] = []
    for path in recordings(given.folder):
        try:
            summary = summarize(path)
        except LeftoffError:
            counts["not recordings"] += 1
            continue
        counts["logs"] += 1
        began = time.perf_counter()
        log = ResumeLog.from_summary(summary)
        built.append(time.perf_counter() - began)
        for budget in given.budgets:
            began = time.perf_counter()
            text = log.to_markdown(budget)
            if budget == 10_000:
                laid_out.append(time.perf_counter() - began)
                counts.update(f"empty: {title}" for title in empty(summary, text))
                share, wrong = grounding_source(path).grounded_share(text)
                grounded.append((int(share.part), int(share.whole)))
                for claim in wrong[: given.worst]:
                    print(f"  {path.name}: {claim.kind} {claim.text!r}", file=sys.stderr)
            spent = max_tokens(text)
            counts["over budget"] += spent > budget
            for name, count in counters.items():
                counts[f"over budget, {name}"] += count([text])[0] > budget
            if "left out)" in text:
                fills[budget].append(spent / budget)
    run = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "tokenizers": sorted(counters),
        "counts": dict(sorted(counts.items())),
        "claims": sum(total for _, total in grounded),
        "grounded": sum(hits for hits, _ in grounded) / max(1, sum(t for _, t in grounded)),
        "fill where something was left out": {
            str(b): {
                "logs": len(f),
                "median": round(statistics.median(f), 4),
                "at least 0.95": sum(x >= 0.95 for x in f),
            }
            for b, f in fills.items()
            if f
        },
        "from a ready summary, ms": round(statistics.median(built) * 1000, 3),
        "markdown of 10,000 tokens, ms": round(statistics.median(laid_out) * 1000, 3),
    }
    print(json.dumps(run, indent=2))
    if given.json:
        given.json.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    exceeded = sum(count for name, count in counts.items() if name.startswith("over"))
    return int(bool(exceeded) or run["grounded"] != 1.0)


def empty(summary: ContextSummary, text: str) -> list[str]:
    """The sections of a log that say nothing although there is something to say."""
    found = []
    for title, has in SECTIONS.items():
        body = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        if has(summary) and "(nothing recorded)" in body:
            found.append(title)
    return found


if __name__ == "__main__":
    sys.exit(main())
