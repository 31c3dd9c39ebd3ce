"""What commands do to files: our analysis against real runs in a sandbox.

    python -m benchmarks.accuracy.files --seed 7 --count 1600 --json run.json

Needs Linux, root (to become an unprivileged user), unshare, setpriv, strace, git.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.files.fixtures import Tree, trees
from benchmarks.accuracy.files.grammar import STRATA, generate
from benchmarks.accuracy.files.sandbox import Ran, Sandbox, Unavailable, check
from benchmarks.accuracy.files.scoring import (
    Analysis,
    Score,
    interval,
    not_told,
    seed_rule,
    told,
)

SYSTEMS: dict[str, Analysis] = {"told": told, "not told": not_told, "seed 001": seed_rule}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1600)
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--show", type=int, default=0, help="print so many differences")
    parser.add_argument("--only", help="one stratum")
    options = parser.parse_args(arguments)
    try:
        check()
    except Unavailable as why:
        print(f"cannot run commands here: {why}", file=sys.stderr)
        return 2
    rng = random.Random(options.seed)
    made = trees(rng)
    commands = generate(made, options.count, rng)
    runs: list[tuple[Tree, str, str, Ran]] = []
    with Sandbox() as sandbox:
        for tree, stratum, command in commands:
            if options.only and stratum != options.only:
                continue
            runs.append((tree, stratum, command, sandbox.run(tree, command)))
    figures = _score(runs, options.seed, len(made))
    _print(figures)
    if options.show:
        _differences(runs, options.show)
    if options.json:
        text = json.dumps(figures, indent=2, sort_keys=True) + "\n"
        Path(options.json).write_text(text, encoding="utf-8")
    return 0


def _score(runs: list[tuple[Tree, str, str, Ran]], seed: int, count: int) -> dict[str, object]:
    systems: dict[str, object] = {}
    for name, analysis in SYSTEMS.items():
        whole = Score()
        parts: dict[str, Score] = {stratum: Score() for stratum in sorted(STRATA)}
        rows: list[tuple[int, int, int]] = []
        for tree, stratum, command, ran in runs:
            answer = analysis(command, tree, ran)
            before = (whole.right, whole.wrong, whole.missed)
            whole.add(stratum, command, answer, ran.events)
            parts[stratum].add(stratum, command, answer, ran.events)
            rows.append(
                (whole.right - before[0], whole.wrong - before[1], whole.missed - before[2])
            )
        figures = whole.as_dict()
        figures["f1_interval_95"] = interval(rows, random.Random(0))
        figures["f1_by_stratum"] = {
            stratum: round(part.f1, 4) for stratum, part in parts.items() if part.commands
        }
        systems[name] = figures
    events = sum(len(ran.events) for _, _, _, ran in runs)
    return {
        "seed": seed, "commands": len(runs), "trees": count, "events": events,
        "machine": platform.machine(), "python": platform.python_version(), "systems": systems,
    }  # fmt: skip


def _print(figures: dict[str, object]) -> None:
    print(
        f"{figures['commands']} commands, {figures['events']} events, "
        f"{figures['trees']} trees, seed {figures['seed']}"
    )
    head = ("", "F1", "95 %", "P", "R", "exact", "P answ.", "answered", "danger/1000")
    print("{:<10}{:>7}{:>17}{:>7}{:>7}{:>7}{:>9}{:>10}{:>13}".format(*head))
    systems = figures["systems"]
    assert isinstance(systems, dict)
    for name, row in systems.items():
        low, high = row["f1_interval_95"]
        print(
            f"{name:<10}{row['f1']:>7.3f}{f'{low:.3f}-{high:.3f}':>17}{row['precision']:>7.3f}"
            f"{row['recall']:>7.3f}{row['exact']:>7.3f}{row['precision_answered']:>9.3f}"
            f"{row['answered']:>10.3f}{row['dangerous_per_1000']:>13.1f}"
        )
    print()
    for stratum in sorted(STRATA):
        cells = [
            f"{row['f1_by_stratum'][stratum]:>10.3f}"
            for row in systems.values()
            if stratum in row["f1_by_stratum"]
        ]
        if cells:
            print(f"{stratum:<14}{''.join(cells)}")


def _differences(runs: list[tuple[Tree, str, str, Ran]], limit: int) -> None:
    for label, analysis in (("told", told), ("not told", not_told)):
        shown = 0
        for tree, stratum, command, ran in runs:
            answer = analysis(command, tree, ran)
            if answer.events == ran.events and not answer.unknown:
                continue
            if shown >= limit:
                break
            shown += 1
            extra = sorted(set(answer.events.items()) - set(ran.events.items()))
            missed = sorted(set(ran.events.items()) - set(answer.events.items()))
            print(f"\n[{label}] {stratum} exit {ran.exit_code} {tree.name}: {command}")
            print(f"  too much {extra}  missed {missed}  unknown {answer.unknown}")
            if ran.output.strip():
                print("  output:", ran.output.strip()[:200].replace("\n", " / "))


if __name__ == "__main__":
    sys.exit(main())
