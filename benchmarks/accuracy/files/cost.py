"""What following the commands of recorded sessions costs.

    python -m benchmarks.accuracy.files.cost PATH...

Prints the mean for each recorded command in microseconds, what it parses included; a text that
was parsed before is not parsed again. A command counts with the quickest of several rounds,
since other work on the machine only ever adds. Beside it stands what the bare grammar takes for
the same texts, parse and walk, as a measure of the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from leftoff import api
from leftoff.analysis.files.track import Tracker
from leftoff.errors import InputError
from leftoff.extraction.evidence import Ran
from leftoff.session_view import SessionView
from leftoff.shell import effects
from leftoff.shell.statements import grammar


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.files.cost")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    ran = [
        (view, [act for act in view.all(Ran) if act.language == "bash"])
        for view in stories(options.paths)
    ]
    print(json.dumps(cost(ran, options.rounds), indent=2))
    return 0


def stories(paths: Sequence[str]) -> Iterator[SessionView]:
    """Every thread of every recording below the paths that can be read."""
    for given in paths:
        place = Path(given)
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in files:
            if not path.is_file() or path.name.endswith(
                (".groundtruth.json", ".metadata.json")
            ):
                continue
            try:
                reading = api.open_pass(str(path))
            except InputError:
                continue
            for session in reading.sessions:
                yield from (SessionView(one) for one in session.values() if len(one.thread))


def cost(ran: Sequence[tuple[SessionView, list[Ran]]], rounds: int) -> dict[str, Any]:
    """The figures."""
    texts = list(dict.fromkeys(act.command for _, acts in ran for act in acts))
    total = sum(len(acts) for _, acts in ran)
    followed = [float("inf")] * total
    bare = [float("inf")] * len(texts)
    for _ in range(rounds):
        effects.clear_caches()
        number = 0
        for view, acts in ran:
            tracker, outcomes = Tracker(view), view.outcomes
            for act in acts:
                outcome = outcomes.get((act.ref.message, act.part))
                start = time.perf_counter()
                tracker.apply_command(act, outcome, ())
                followed[number] = min(followed[number], time.perf_counter() - start)
                number += 1
        for number, text in enumerate(texts):
            start = time.perf_counter()
            _walk(grammar().parse(text.encode("utf-8", "replace")).root_node)
            bare[number] = min(bare[number], time.perf_counter() - start)
    return {
        "commands": total,
        "distinct": len(texts),
        "microseconds_for_each_command": round(1e6 * sum(followed) / max(total, 1), 1),
        "bare_grammar_for_each_distinct": round(1e6 * sum(bare) / max(len(texts), 1), 1),
    }


def _walk(node: Any) -> None:
    for child in node.children:
        _walk(child)


if __name__ == "__main__":
    sys.exit(main())
