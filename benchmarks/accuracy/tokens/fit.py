"""Fits ``src/leftoff/tokens.json``, and prints how good it is on sources not fitted on.

    python -m benchmarks.accuracy.tokens.fit CORPUS [--write]

``--write`` replaces the file. The words, runs and characters come from the vocabularies; only
the weights of the estimate are fitted on recorded messages, and none of their words is kept.
"""

from __future__ import annotations

import json
import random
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy.tokens import tables
from benchmarks.accuracy.tokens.messages import Sample, samples
from benchmarks.accuracy.tokens.vocabularies import load
from scipy.optimize import nnls

_ROOT = Path(__file__).resolve().parents[3]
_FILE = _ROOT / "src" / "leftoff" / "tokens.json"
sys.path.insert(0, str(_ROOT / "src"))

_ROLES = ("assistant", "call", "system", "tool", "user")
# At most this many messages of one role of one source, so that no source outweighs the others.
_MOST_OF_A_KIND = 250
_FOLDS = 6


def _grouped(values: dict[str, Any]) -> dict[str, str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for value, cost in values.items():
        groups[str(cost)].append(value)
    return {cost: " ".join(sorted(groups[cost])) for cost in sorted(groups)}


def bound_tables(counters: dict[str, Any], found: list[Sample]) -> dict[str, Any]:
    """Gives the part of the file that `max_tokens` reads."""
    most, joints = tables.words(counters)
    runs: dict[str, list[str]] = defaultdict(list)
    for run, (bare, spaced) in tables.runs(counters, found).items():
        runs[f"{bare}{spaced}"].append(run)
    characters: dict[str, list[str]] = defaultdict(list)
    for one, cost in tables.characters(counters).items():
        characters[str(cost)].append(one)
    return {
        "known": _grouped(most),
        "joints": " ".join(sorted(word for word in joints if most.get(word) != 1)),
        "runs": {cost: " ".join(sorted(runs[cost])) for cost in sorted(runs)},
        "characters": {cost: "".join(sorted(characters[cost])) for cost in sorted(characters)},
    }


def chosen(found: list[Sample]) -> list[Sample]:
    """Gives a fixed choice of messages, even over sources and roles, and our own scripts."""
    order = list(found)
    random.Random(3).shuffle(order)
    taken: Counter[tuple[str, str]] = Counter()
    kept: list[Sample] = []
    for sample in order:
        kind = (sample.repository, sample.role)
        if sample.role in _ROLES and taken[kind] < _MOST_OF_A_KIND:
            taken[kind] += 1
            kept.append(sample)
    return kept


def own_samples() -> list[Sample]:
    """Gives sentences of our own in scripts and notations that recordings seldom hold."""
    data = tomllib.loads((Path(__file__).parent / "scripts.toml").read_text("utf-8"))
    return [
        Sample(text, "script", "own", f"own/{name}", name)
        for name, texts in sorted(data["texts"].items())
        for text in texts
    ]


def main(corpus: Path, write: bool) -> None:
    """Fits, reports, and writes if it is told to."""
    counters = load()
    found = samples(corpus)
    data = json.loads(_FILE.read_bytes()) if _FILE.exists() else {}
    if "--weights-only" not in sys.argv:
        data |= bound_tables(counters, found)
    names = _feature_names()
    data["families"] = {family: dict.fromkeys(names, 0.0) for family in sorted(counters)}
    # The features need the words, so these are written before anything imports them.
    if write:
        _save(data)
    from leftoff import tokens

    if not write:
        tokens._data.cache_clear()
        tokens._DATA = json.dumps(data).encode()
    real, own = chosen(found), own_samples()
    every = real + own
    column = {name: index for index, name in enumerate(names)}
    rows = np.zeros((len(every), len(names)))
    for row, sample in zip(rows, every, strict=True):
        for piece, count in Counter(tokens._PIECE.findall(sample.text)).items():
            for name, amount in tokens.features(piece):
                row[column[name]] += amount * count
    sources = sorted({sample.repository for sample in real})
    fold = {source: index % _FOLDS for index, source in enumerate(sources)}
    folds = np.array([fold.get(sample.repository, -1) for sample in every])
    roles = np.array([sample.role for sample in every])
    texts = [sample.text.encode("utf-8", "replace").decode() for sample in every]
    for family in sorted(counters):
        true = np.array(counters[family](texts), float)
        weight = 1 / np.maximum(true, 20)
        weight[folds < 0] *= 3

        def solve(where: Any, true: Any = true, weight: Any = weight) -> Any:
            return nnls(rows[where] * weight[where, None], (true * weight)[where])[0]

        apart = np.zeros(len(every))
        for index in range(_FOLDS):
            apart[folds == index] = rows[folds == index] @ solve(folds != index)
        weights = solve(np.ones(len(every), bool))
        together = rows @ weights
        _report(family, roles, true, apart, together)
        data["families"][family] = {
            name: round(float(weights[column[name]]), 4) for name in names
        }
    if write:
        _save(data)


def _report(family: str, roles: Any, true: Any, apart: Any, together: Any) -> None:
    print(f"{family}:")
    for role in (*_ROLES, "script"):
        line = f"  {role:10}"
        for name, guess in (("by source", apart), ("all", together)):
            if role == "script" and name == "by source":
                continue
            long = (roles == role) & (true >= 50)
            brief = (roles == role) & (true < 50)
            error = 100 * np.mean(np.abs(guess[long] - true[long]) / true[long])
            total = 100 * (guess[brief].sum() / max(1.0, true[brief].sum()) - 1)
            line += f"  {name}: MAPE {error:.1f} % (n={long.sum()}), short {total:+.1f} %"
        print(line)


def _feature_names() -> list[str]:
    scripts = (
        "latin greek cyrillic hebrew arabic indic thai kana han wide hangul box sign emoji"
    )
    return (
        "known_spaced known_bare_1 known_bare_2 known_bare_3 lower_words lower_letters"
        " title_words title_letters upper_words upper_letters far_letters numbers digits"
        " digit_triples line_ends blank_lines spaces indents indent_characters controls runs"
        " run_signs spaced_runs repeated_signs"
    ).split() + [
        f"{script}_{what}"
        for script in [*scripts.split(), "other"]
        for what in ("runs", "characters")
    ]


def _save(data: dict[str, Any]) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True)
    _FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--write" in sys.argv)
