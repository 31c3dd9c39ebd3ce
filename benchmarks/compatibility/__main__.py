"""How fast two versions of a workflow's file are compared, and how close the answer is.

    python -m benchmarks.compatibility [--rounds 3] [--json FILE]

The texts are Python source of this package, each line of the smaller ones once as it stands;
2, 30 or 90 % of the lines are changed, added or taken out, by a fixed seed. `exact` is what
rapidfuzz takes for the whole distance, measured up to 100 KB (1 MB takes half a minute). The
hostile texts are made to be slow. The figures are medians of CPU time.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

import leftoff
from leftoff.handover.compatibility import Workspace, assess
from leftoff.handover.resume_state.document import ResumeState
from leftoff.handover.resume_state.running_workflow import content_hash
from leftoff.handover.similarity import text_similarity

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
SHARES = (0.02, 0.3, 0.9)
THRESHOLDS = (0.8, 0.6, 0.5)
EXACT_UP_TO = 100_000
GOALS = {100_000: 0.050, 1_000_000: 1.0, 10_000_000: 2.0}
"""Seconds; that of 1 MB is for 2 % of the lines."""


def source() -> str:
    package = Path(leftoff.__file__).parent
    return "".join(p.read_text("utf-8") for p in sorted(package.rglob("*.py")))


def pair(text: str, size: int, share: float) -> tuple[str, str]:
    """A text of that size, and the same with a share of its lines changed."""
    rng = random.Random(size + round(share * 100))
    lines: list[str] = []
    length = 0
    while length < size:  # numbered from the second time on, as source lines seldom repeat
        for line in text.splitlines(keepends=True):
            shown = line if length < len(text) else f"{rng.randrange(10**6)} {line}"
            lines.append(shown)
            length += len(shown)
            if length >= size:
                break
    changed: list[str] = []
    for line in lines:
        if rng.random() >= share:
            changed.append(line)
            continue
        words = "".join(rng.choices("abcdefghij   ", k=max(1, len(line))))
        changed += rng.choice([[], [line, f"{words}\n"], [f"{words}\n"]])
    return "".join(lines), "".join(changed)


def hostile() -> dict[str, tuple[str, str]]:
    rng = random.Random(1)
    letters = "abcdefgh"
    count = 10_000_000
    return {
        "other letters": ("a" * count, "b" * count),
        "no line ends": (
            "".join(rng.choices(letters, k=count)),
            "".join(rng.choices(letters, k=count)),
        ),
        "blank lines": ("\n" * count, "\n" * (count - 10) + "x"),
        "swapped lines": ("a\nb\n" * (count // 4), "b\na\n" * (count // 4)),
        "spaces": (" " * count, " ," * (count // 2)),
        "shuffled lines": (
            "\n".join(map(str, range(count // 8))),
            "\n".join(map(str, rng.sample(range(count // 8), count // 8))),
        ),
        "many gaps": (
            "".join(f"u{n}\n" + f"z{n} " * 30 + "\n" for n in range(40_000)),
            "".join(f"u{n}\n" + f"y{n} " * 30 + "\n" for n in range(40_000)),
        ),
    }


def seconds(call: Callable[[], Any], rounds: int) -> float:
    found = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return statistics.median(found)


def row(name: str, a: str, b: str, rounds: int, *, exact: bool) -> dict[str, Any]:
    found = text_similarity(a, b, THRESHOLDS)
    state = ResumeState(original_workflow_content=a, original_workflow_hash=content_hash(a))
    shown: dict[str, Any] = {
        "text": name,
        "low": round(found.low, 4),
        "high": round(found.high, 4),
        "exact": found.exact,
        "estimated": found.estimated,
        "measure_ms": round(
            seconds(lambda: text_similarity(a, b, THRESHOLDS), rounds) * 1000, 1
        ),
        # With hashing, as `leftoff resume` does it.
        "assess_ms": round(
            seconds(
                lambda: assess(state, Workspace(content=b)), 1 if len(a) > 10**6 else rounds
            )
            * 1000,
            1,
        ),
    }
    if exact:
        whole = seconds(lambda: Levenshtein.distance(a, b), 1)
        shown["plain_exact_ms"] = round(whole * 1000, 1)
        truth = 1 - Levenshtein.distance(a, b) / max(len(a), len(b))
        shown["truth"] = round(truth, 4)
        assert found.low <= truth <= found.high
    print(json.dumps(shown), flush=True)
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    text = source()
    rows: list[dict[str, Any]] = []
    missed: list[str] = []
    for size in SIZES:
        for share in SHARES:
            a, b = pair(text, size, share)
            name = f"{size // 1000} KB, {share:.0%} of the lines"
            found = row(name, a, b, options.rounds, exact=size <= EXACT_UP_TO)
            rows.append(found)
            goal = GOALS.get(size)
            counts = size != 1_000_000 or share == min(SHARES)
            if goal and counts and found["measure_ms"] > goal * 1000:
                missed.append(f"{name}: {found['measure_ms']} ms, goal {goal * 1000:.0f} ms")
    rows += [row(name, a, b, 1, exact=False) for name, (a, b) in hostile().items()]
    result = {
        "machine": f"{platform.machine()} {platform.system()}",
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "texts": content_hash(text)[:16],
        "rounds": options.rounds,
        "rows": rows,
        "missed": missed,
    }
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
