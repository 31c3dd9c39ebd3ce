"""Decisions by general means, on the same sessions and with the same scorer as ours.

python -m benchmarks.accuracy.labels LABELS --transcripts DIR -o run.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.accuracy.labels.spacy_rules import spacy_rules
from benchmarks.accuracy.labels.summarisers import lex_rank, text_rank
from msgspec.structs import replace

from leftoff.evaluation.metrics import score
from leftoff.evaluation.predictions import Predictions
from leftoff.evaluation.reports import measure, table, to_run
from leftoff.evaluation.runs import evaluate_labels, kept
from leftoff.evaluation.sessions import Session

SYSTEMS: dict[str, Callable[[Session], Predictions]] = {
    "TextRank (sumy), ten sentences": text_rank,
    "LexRank (sumy), ten sentences": lex_rank,
    "spaCy token rules": spacy_rules,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.labels")
    parser.add_argument("labels")
    parser.add_argument("--transcripts", required=True)
    parser.add_argument("--train", help="further labels for the linear bag of words")
    parser.add_argument("--without", default="", help="a source repository to leave out")
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--swaps", type=int, default=10_000)
    parser.add_argument("--date", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("-o", "--output", help="write the run here: numbers, no text")
    options = parser.parse_args(arguments)
    finished = evaluate_labels(
        kept(options.labels, held_out=options.without),
        options.transcripts,
        baselines=True,
        train=kept(options.train, held_out=options.without) if options.train else (),
        resamples=options.resamples,
        swaps=options.swaps,
        date=options.date,
        machine=options.machine,
    )
    report = finished.report
    ours = report.results[0].scores
    results = list(report.results)
    for name, system in SYSTEMS.items():
        print(name, file=sys.stderr)
        scores = [score(session, system(session)) for session in finished.sessions]
        results.append(
            measure(name, scores, ours, resamples=options.resamples, swaps=options.swaps)
        )
    report = replace(report, results=tuple(results))
    print(table(report), end="")
    if options.output:
        Path(options.output).write_bytes(to_run(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
