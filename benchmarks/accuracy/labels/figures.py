"""The table of `docs/accuracy.md` from committed runs:
`python -m benchmarks.accuracy.labels.figures docs/accuracy.md` rewrites it in place.

A block between `<!-- figures RUN -->` and `<!-- end -->` is replaced; RUN is a file in `runs/`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from leftoff.evaluation.label_runs import LabelRun, Measured
from leftoff.evaluation.metrics import FIGURES
from leftoff.evaluation.report import from_json, span

RUNS = Path(__file__).parent / "runs"

_BLOCK = re.compile(r"(<!-- figures (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SHOWN = ("decisions_f1", "milestones_f1", "directives_f1")
_ROWS = (
    "statements_precision statements_recall first_3 ece_statements ece milestones_precision"
    " milestones_recall stage_accuracy current_stage directives_precision directives_recall"
    " open_items_precision open_items_recall"
).split()
"""Figures of a run that are on the page."""


def rendered(page: str) -> str:
    """The page with every block made anew from its run."""

    def block(match: re.Match[str]) -> str:
        run = from_json((RUNS / match[2]).read_bytes(), LabelRun)
        return f"{match[1]}\n{table(run)}\n{match[3]}"

    return _BLOCK.sub(block, page)


def table(run: LabelRun) -> str:
    """Our figures, then every system's headline figures, as markdown."""
    ours = run.results[0]
    made = ", ".join(word for word in (run.date, run.machine) if word)
    repositories = len({score.repository for score in ours.scores})
    found = {name: ours.figures[name] for name in _ROWS if name in ours.figures}
    lines = [
        f"{len(ours.scores)} sessions of {repositories} repositories; labels `{run.labels}`,"
        f" recordings `{run.recordings}`, leftoff {run.leftoff}, rules `{run.rules}`"
        + (f"; {made}." if made else "."),
        "",
        "| figure | value | items |",
        "|---|---|---|",
        *(
            f"| {FIGURES[name].title} | {_cell(figure)} | {figure.items} |"
            for name, figure in found.items()
        ),
        "",
    ]
    shown = [name for name in _SHOWN if name in ours.figures]
    lines.append("| system | " + " | ".join(FIGURES[n].title for n in shown) + " |")
    lines.append("|---" * (len(shown) + 1) + "|")
    for result in run.results:
        cells = [_cell(result.figures.get(name)) for name in shown]
        lines.append(f"| {result.system} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _value(found: Measured) -> str:
    return "–" if found.value is None else f"{found.value:.3f}"


def _cell(found: Measured | None) -> str:
    return "–" if found is None else f"{_value(found)} {span(found.bounds)}"


def main(arguments: Sequence[str]) -> int:
    for name in arguments:
        path = Path(name)
        path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
