"""Planted secrets found, benign lines spoiled, and speed: the three figures of the gate.

    python -m benchmarks.accuracy.redaction                     recall, per kind and carrier
    python -m benchmarks.accuracy.redaction --benign DIR        false redactions, speed
    python -m benchmarks.accuracy.redaction --shapes        digests, UUIDs, images spoiled
    python -m benchmarks.accuracy.redaction --repeated      its own literals, 1 MB of each
    python -m benchmarks.accuracy.redaction --documents         pieces that any output shows

Prints one JSON object: numbers, names and positions only.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import orjson
from benchmarks.accuracy.redaction.planted import Planted, plants
from benchmarks.accuracy.redaction.repeated import figures
from benchmarks.accuracy.redaction.shapes import in_text, made

from leftoff.redaction.redactor import Redactor
from leftoff.redaction.rules import rules_digest


def leaks(planted: Planted, out: Any) -> bool:
    """Whether the secret, either half of it, or a spelling of it can still be read."""
    text = json.dumps(out, ensure_ascii=False) if not isinstance(out, str) else out
    text = text.replace("\u200b", "")
    secret = planted.secret
    parts = secret.split("\n")[1:-1] if "\n" in secret else [secret]
    half = [p[: len(p) // 2] for p in parts if len(p) >= 16] + [
        p[len(p) // 2 :] for p in parts if len(p) >= 16
    ]
    wanted = parts + half
    plain = text.replace("\\", "").replace("%2B", "+").replace("%2F", "/").replace("%3D", "=")
    return any(p in text or p in plain or p.encode().hex() in text for p in wanted)


def recall(count: int, seed: int) -> dict[str, Any]:
    found: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    unstable = 0
    for sort, carrier, planted, value in plants(count, seed):
        redactor = Redactor()
        out = redactor.value(value)
        cell = found[sort, planted.kind, carrier]
        cell[1] += 1
        cell[0] += redactor.total > 0 and not leaks(planted, out)
        unstable += Redactor().value(out) != out
    cells: list[dict[str, Any]] = [
        {"sort": s, "kind": k, "carrier": c, "found": hit, "planted": n}
        for (s, k, c), (hit, n) in sorted(found.items())
    ]
    by_carrier: dict[str, dict[str, float]] = {}
    for sort in ("structured", "generic"):
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for entry in cells:
            if entry["sort"] == sort:
                sums[entry["carrier"]][0] += entry["found"]
                sums[entry["carrier"]][1] += entry["planted"]
        by_carrier[sort] = {c: round(hit / n, 5) for c, (hit, n) in sorted(sums.items())}
    return {
        "planted": count,
        "seed": seed,
        "kinds": len({c["kind"] for c in cells}),
        "carriers": len({c["carrier"] for c in cells}),
        "recall": by_carrier,
        "not_idempotent": unstable,
        "missed": [c for c in cells if c["found"] < c["planted"]],
    }


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [s for k, v in value.items() for s in (k, *strings(v))]
    if isinstance(value, list):
        return [s for v in value for s in strings(v)]
    return []


def benign_texts(path: Path) -> list[str]:
    raw = path.read_bytes()
    if path.suffix == ".jsonl":
        found: list[str] = []
        for line in raw.splitlines():
            try:
                found.extend(strings(orjson.loads(line)))
            except ValueError:
                continue
        return found
    if path.suffix == ".json":
        try:
            return strings(orjson.loads(raw))
        except ValueError:
            return []
    return [raw.decode("utf-8", "replace")]


def benign(roots: list[Path]) -> dict[str, Any]:
    """Every redaction counts as false here: the recordings were cleaned before publication."""
    seen: set[str] = set()
    lines = replaced = characters = 0
    spent = 0.0
    kinds: Counter[str] = Counter()
    there: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    files = sorted(
        p for r in roots for p in r.rglob("*") if p.suffix in {".json", ".jsonl", ".md"}
    )
    for path in files:
        texts = [t for t in dict.fromkeys(benign_texts(path)) if t not in seen]
        seen.update(texts)
        whole = "\n".join(texts)
        redactor = Redactor()
        began = time.process_time()
        redactor.text(whole)
        spent += time.process_time() - began
        lines += whole.count("\n") + 1
        characters += len(whole)
        replaced += redactor.total
        kinds.update(redactor.counts)
        found, gone = in_text(whole)
        there.update(found)
        changed.update(gone)
    return {
        "files": len(files),
        "lines": lines,
        "characters": characters,
        "redactions": replaced,
        "per_10000_lines": round(replaced * 10_000 / max(1, lines), 4),
        "kinds": dict(sorted(kinds.items())),
        "shapes": {name: {"there": there[name], "changed": changed[name]} for name in there},
        "megabytes_per_cpu_second": round(characters / 1e6 / max(spent, 1e-9), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--benign", type=Path, action="append", default=[])
    parser.add_argument("--documents", action="store_true")
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--repeated", action="store_true")
    options = parser.parse_args()
    report: dict[str, Any] = {"rules": rules_digest()}
    if options.documents:
        from benchmarks.accuracy.redaction.documents import documents

        report["documents"], _ = documents(options.count, options.seed)
    elif options.shapes:
        report["shapes"] = made(options.count, options.seed)
    elif options.repeated:
        report["repeated"] = figures()
    elif options.benign:
        report["benign"] = benign(options.benign)
    else:
        report["planted"] = recall(options.count, options.seed)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
