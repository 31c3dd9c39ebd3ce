"""Decisions by general means, on the same sessions and with the same scorer as ours.

python -m benchmarks.accuracy.labels LABELS --transcripts DIR -o run.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.labels.linear import bag_of_words
from msgspec.structs import replace

from leftoff.evaluation import systems
from leftoff.evaluation.baselines import RULES
from leftoff.evaluation.label_runs import Predictor, evaluate_labels, select_labels
from leftoff.evaluation.report import as_text, to_json

LINEAR = "linear bag of words"


def further() -> dict[str, Predictor]:
    """The systems that need sumy and spaCy."""
    from benchmarks.accuracy.labels.spacy_rules import spacy_rules
    from benchmarks.accuracy.labels.summarisers import lex_rank, text_rank

    return {
        "TextRank (sumy), ten sentences": text_rank,
        "LexRank (sumy), ten sentences": lex_rank,
        "spaCy token rules": spacy_rules,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.labels")
    parser.add_argument("labels")
    parser.add_argument("--transcripts", required=True)
    parser.add_argument("--train", help="further labels for the linear bag of words")
    parser.add_argument("--plain", action="store_true", help="without sumy and spaCy")
    parser.add_argument("--without", default="", help="a source repository to leave out")
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--swaps", type=int, default=10_000)
    parser.add_argument("--date", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("-o", "--output", help="write the run here: numbers, no text")
    options = parser.parse_args(arguments)
    labels = select_labels(options.labels, held_out=options.without)
    learnt_from = [*labels]
    if options.train:
        learnt_from += select_labels(options.train, held_out=options.without)
    trained = bag_of_words(systems.sessions(learnt_from, options.transcripts)[0])
    finished = evaluate_labels(
        labels,
        options.transcripts,
        others={**RULES, LINEAR: trained, **({} if options.plain else further())},
        resamples=options.resamples,
        swaps=options.swaps,
    )
    report = replace(finished.report, date=options.date, machine=options.machine)
    print(as_text(report.blocks()), end="")
    if options.output:
        Path(options.output).write_bytes(to_json(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
