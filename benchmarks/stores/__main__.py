"""How long a save and a load take.

    python -m benchmarks.stores [--rounds 300] [--folder DIR] [--json FILE]

A document of about 30 KB, with a markdown of about 30 KB beside it and without, saved over the
one before and loaded, in files (plain and compressed) and in SQLite. `disk` is DIR (default:
the temporary folder): what a save costs there depends on how fast the disk brings data home.
`memory` is /dev/shm, where that costs nothing. The figure is the median of wall time in
milliseconds. `seed` is what the original design did: no redaction, no checksum, no fsync,
`json.dump` into a file.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leftoff.stores.envelope import redactor_for, sanitize
from leftoff.stores.protocol import open_store

SENTENCE = "The parser keeps the order of the lines because the index is built at the end"


def document(n: int) -> dict[str, Any]:
    """About 30 KB in the shape of a resume log."""
    items = [
        {
            "text": f"{SENTENCE}, step {i}.",
            "path": f"src/orders/module_{i}.py",
            "ref": {"source": 0, "line": i * 7, "message": i, "hash": f"{i:08x}"},
        }
        for i in range(145)
    ]
    return {
        "mission": f"Sort the orders ({n})",
        "accomplishments": items,
        "notes": [SENTENCE] * 20,
    }


def markdown(n: int) -> str:
    lines = [f"- {SENTENCE}, step {i} (`src/orders/module_{i}.py`, #{i})" for i in range(240)]
    return "\n".join([f"# Resume log {n}", "", *lines, ""])


def median_ms(call: Callable[[int], object], rounds: int) -> float:
    taken = []
    for n in range(rounds + 5):
        began = time.perf_counter()
        call(n)
        if n >= 5:  # the first ones warm caches
            taken.append(time.perf_counter() - began)
    return round(statistics.median(taken) * 1000, 3)


def measured(where: str, rounds: int, **options: Any) -> dict[str, float]:
    store = open_store(where, **options)
    return {
        "save": median_ms(lambda n: store.save("task", "one", document(n)), rounds),
        "load": median_ms(lambda _: store.load("task", "one"), rounds),
        "save with markdown": median_ms(
            lambda n: store.save("task", "one", document(n), text=markdown(n)), rounds
        ),
        "load with markdown": median_ms(lambda _: store.load("task", "one"), rounds),
    }


def seed(folder: Path, rounds: int) -> dict[str, float]:
    path = folder / "seed.json"

    def save(n: int) -> None:
        with path.open("w", encoding="utf-8") as file:
            json.dump(document(n), file, indent=2)

    return {
        "save": median_ms(save, rounds),
        "load": median_ms(lambda _: json.loads(path.read_text("utf-8")), rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    size = len(json.dumps(document(1)))
    figures: dict[str, Any] = {
        "making the document": {"save": median_ms(document, args.rounds)},
        "redacting it": {
            "save": median_ms(
                lambda n: sanitize("task", document(n), "", redactor_for), args.rounds
            )
        },
    }
    places = {"disk": args.folder, "memory": Path("/dev/shm")}
    for name, place in places.items():
        if place is not None and not place.is_dir():
            continue
        with tempfile.TemporaryDirectory(dir=place) as folder:
            root = Path(folder)
            packed = {"task": 0}
            figures[f"files, {name}"] = measured(f"{root}/a", args.rounds)
            figures[f"files compressed, {name}"] = measured(
                f"{root}/b", args.rounds, compress=packed
            )
            figures[f"sqlite, {name}"] = measured(f"sqlite:///{root}/c.db", args.rounds)
            figures[f"seed, {name}"] = seed(root, args.rounds)
    result = {
        "machine": f"{platform.machine()} {platform.python_version()}",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rounds": args.rounds,
        "document_bytes": size,
        "median_ms": figures,
    }
    print(f"document of {size:,} bytes, median of {args.rounds} in ms, {result['machine']}")
    for name, taken in figures.items():
        cells = ", ".join(f"{what} {figure:.3f}" for what, figure in taken.items())
        print(f"  {name:26} {cells}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
