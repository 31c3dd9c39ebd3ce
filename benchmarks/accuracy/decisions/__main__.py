r"""Trains the decision model and says how good it is on repositories it has not seen.

    python -m benchmarks.accuracy.decisions LABELS TRANSCRIPTS \
        --write src/leftoff/extraction/rules/decisions.json

LABELS holds `double/` (trained on and reported) and `single/` (trained on only). Folds are
whole source repositories. Needs numpy; the same labels and transcripts give the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.decisions import figures
from benchmarks.accuracy.decisions.bag import Bag
from benchmarks.accuracy.decisions.labelled import load
from benchmarks.accuracy.decisions.training import Claims, folds, train, without
from msgspec.structs import replace

from leftoff import codec


def main(argv: Sequence[str] | None = None) -> int:
    """Cross-validates, trains on everything, writes weights and figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.decisions")
    parser.add_argument("labels", type=Path)
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("--write", type=Path, help="where the weights go")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--no-validation", action="store_true", help="only train")
    parser.add_argument(
        "--held-out", action="store_true", help="report the held-out repository"
    )
    args = parser.parse_args(argv)
    sessions = load(args.labels, args.transcripts)
    report: dict[str, object] = {}
    if not args.no_validation:
        ours: list[Claims] = []
        theirs: list[set[int]] = []
        for fold in folds(sessions):
            rest = without(sessions, fold)
            model, bag = train(rest), Bag(rest)
            told = [s for s in fold if s.double]
            ours += [Claims(s, model) for s in told]
            theirs += [bag.chosen(s) for s in told]
            print(fold[0].repository, len(told), model.least, figures.f1(ours[-len(told) :]),
                  file=sys.stderr)  # fmt: skip
        report["cross_validated"] = figures.table(ours)
        report["against_bag_of_words"] = figures.paired(ours, theirs)
        report["sessions"] = {c.name: round(figures.f1([c]), 3) for c in ours}
    model = replace(train(sessions), learnt_from=tuple(sorted(s.fingerprint for s in sessions)))
    report["training"] = figures.table([Claims(s, model) for s in sessions if s.double])
    if args.held_out:
        unseen = [s for s in load(args.labels, args.transcripts, held_out=True) if s.double]
        report["held_out"] = figures.table([Claims(s, model) for s in unseen])
    report["model"] = {
        "features": len(model.weights),
        "gate_words": len(model.gate),
        "least": model.least,
        "least_alone": model.least_alone,
        "calibration": model.calibration,
        **model.trained,
    }
    if args.write:
        args.write.write_bytes(codec.dumps(codec.to_builtins(model)) + b"\n")
    text = json.dumps(report, indent=2)
    if args.json:
        args.json.write_text(text + "\n", "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
