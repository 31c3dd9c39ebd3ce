r"""Trains the decision model and says how good it is on repositories it has not seen.

    python -m benchmarks.accuracy.decisions LABELS TRANSCRIPTS... \
        --write src/leftoff/extraction/rules/decisions.json

LABELS holds `double/` and `more/` (trained on and reported, apart) and `single/` (trained on
only). Folds are whole source repositories. Needs numpy and scipy; the same labels and
transcripts give the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from benchmarks.accuracy.decisions import figures
from benchmarks.accuracy.decisions.bag import Bag
from benchmarks.accuracy.decisions.labelled import KINDS_OF_LABELS, Session, load
from benchmarks.accuracy.decisions.settled import load_disputes
from benchmarks.accuracy.decisions.training import Claims, folds, train, without
from msgspec.structs import replace

from leftoff import codec

_REPORTED = [kind for kind in KINDS_OF_LABELS if kind != "single"]


def main(argv: Sequence[str] | None = None) -> int:
    """Cross-validates, trains on everything, writes weights and figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.decisions")
    parser.add_argument("labels", type=Path)
    parser.add_argument("transcripts", type=Path, nargs="+")
    parser.add_argument("--write", type=Path, help="where the weights go")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--no-validation", action="store_true", help="only train")
    parser.add_argument("--folds", type=int, help="groups of repositories; one each if absent")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--held-out", action="store_true", help="report the held-out repository"
    )
    parser.add_argument("--curve", action="store_true", help="only learning curves")
    parser.add_argument("--settled", type=Path, help="settled disputes to score with as well")
    args = parser.parse_args(argv)
    sessions = load(args.labels, args.transcripts)
    if args.settled:
        disputes = load_disputes(args.settled)
        _settled[:] = load(args.labels, args.transcripts, disputes=disputes)
    if args.curve:
        print(json.dumps(_curves(sessions, args.folds or CURVE_FOLDS), indent=2))
        return 0
    report: dict[str, object] = {}
    if not args.no_validation:
        report |= _validated(args, sessions)
    model = replace(train(sessions), learnt_from=tuple(sorted(s.fingerprint for s in sessions)))
    if args.write:
        args.write.write_bytes(codec.dumps(codec.to_builtins(model)) + b"\n")
    claims = [Claims(s, model) for s in sessions if s.kind != "single"]
    report["training"] = _by_kind(claims)
    if args.held_out:
        unseen = load(args.labels, args.transcripts, held_out=True)
        claims = [Claims(s, model) for s in unseen if s.kind != "single"]
        report["held_out"] = figures.table(claims)
    report["model"] = {
        "features": len(model.weights),
        "gate_words": len(model.gate),
        "least": model.least,
        "message_least": model.message_least,
        "calibration": model.calibration,
        "message": model.message,
        **model.trained,
    }
    text = json.dumps(report, indent=2)
    if args.json:
        args.json.write_text(text + "\n", "utf-8")
    print(text)
    return 0


def _validated(args: argparse.Namespace, sessions: Sequence[Session]) -> dict[str, object]:
    """The figures over repositories that were left out, and against a bag of words."""
    ours: list[Claims] = []
    theirs: list[set[int]] = []
    restated: list[Claims] = []
    count = len(folds(sessions, args.folds))
    _loaded[:] = sessions
    with ProcessPoolExecutor(args.workers, get_context("fork")) as pool:
        every = pool.map(_fold, repeat(args.folds), range(count))
        for claims, bags, again in every:
            ours += claims
            theirs += bags
            restated += again
            print(len(ours), round(figures.statements_f1(ours), 3), file=sys.stderr)
    found = {"settled": _by_kind(restated)} if _settled else {}
    return found | {
        "cross_validated": _by_kind(ours),
        "against_bag_of_words": figures.paired(ours, theirs),
        "sessions": {c.name: round(figures.statements_f1([c]), 3) for c in ours},
    }


CURVE_FOLDS = 4
"""Groups of repositories of the learning curves, which train many models."""

SHARES = (0.125, 0.25, 0.5, 1.0)
"""Shares of the other repositories or of their sessions that the learning curves train on."""


def _curves(sessions: Sequence[Session], count: int) -> dict[str, object]:
    """Figures by the share of sessions, and of repositories, that is trained on."""
    found: dict[str, object] = {}
    for what in ("sessions", "repositories"):
        for share in SHARES:
            claims: list[Claims] = []
            for fold in folds(sessions, count):
                model = train(_sample(without(sessions, fold), what, share))
                claims += [Claims(s, model) for s in fold if s.kind != "single"]
            found[f"{what} {share}"] = _by_kind(claims)
            print(what, share, round(figures.statements_f1(claims), 3), file=sys.stderr)
    return found


def _sample(sessions: Sequence[Session], what: str, share: float) -> list[Session]:
    """A share of the sessions, the larger always with the smaller one: by the hash of each
    session's name, or of its repository's."""
    names = {s.repository if what == "repositories" else s.name for s in sessions}
    ranked = sorted(names, key=lambda name: blake2b(name.encode()).digest())
    chosen = set(ranked[: max(1, round(share * len(ranked)))])
    return [s for s in sessions if {s.repository, s.name} & chosen]


_loaded: list[Session] = []
"""The sessions for the workers, which are forked."""


_settled: list[Session] = []
"""Those of them with settled disputes, with the labels that follow from these."""


def _fold(most: int | None, number: int) -> tuple[list[Claims], list[set[int]], list[Claims]]:
    """The claims of a model, and of a bag of words, on the repositories of one fold, and the
    model's once more beside what was settled."""
    fold = folds(_loaded, most)[number]
    rest = without(_loaded, fold)
    told = [s for s in fold if s.kind != "single"]
    if not told:
        return [], [], []
    model, bag = train(rest), Bag(rest)
    names = {s.name for s in told}
    again = [Claims(s, model) for s in _settled if s.name in names]
    return [Claims(s, model) for s in told], [bag.chosen(s) for s in told], again


def _by_kind(claims: Sequence[Claims]) -> dict[str, object]:
    found: dict[str, object] = {"all": figures.table(claims)}
    for kind in _REPORTED:
        of_kind = [c for c in claims if c.kind == kind]
        if of_kind:
            found[kind] = figures.table(of_kind)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
