"""The figures on docs/budget.md are those of the committed run."""

import json
from pathlib import Path
from typing import Any


def test_the_page_quotes_the_committed_run(root: Path) -> None:
    page = " ".join((root / "docs" / "budget.md").read_text("utf-8").split())
    run = root / "benchmarks" / "accuracy" / "budget" / "runs" / "public.json"
    value: dict[str, Any] = json.loads(run.read_bytes())
    claude = value["spend"]["by_format"]["claude_code"]
    ratio = claude["naive"] / claude["distinct"]
    wanted = [
        f"{claude['recordings']} Claude Code sessions",
        f"{claude['distinct']:,} | {claude['naive']:,} | {ratio:.2f} times too much",
        f"{value['occupancy']['count']} compactions with a median error of "
        f"{value['occupancy']['median']:.2%}".replace("%", " %"),
        f"95th percentile {value['occupancy']['p95']:.1%}".replace("%", " %"),
        f"on {value['forecast']['50%']['calls_left']['count']} stretches",
    ]
    for share, figures in value["forecast"].items():
        cells = [
            f"{100 * f['median']:.{digits}f} % "
            f"({100 * f['interval'][0]:.{digits}f} to {100 * f['interval'][1]:.{digits}f})"
            for name, digits in (("calls_left", 0), ("end", 0), ("tokens_left", 1))
            for f in [figures[name]]
        ]
        wanted.append(f"| {share[:-1]} % of the calls | {' | '.join(cells)} |")
    assert [words for words in wanted if words not in page] == []
    assert value["date"]
    assert value["machine"]
    assert value["corpus"]
