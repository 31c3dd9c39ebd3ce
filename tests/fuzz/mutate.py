"""Damages real recordings in many ways; each must be read or refused, never anything else.

    python -m tests.fuzz.mutate FOLDER [--times 200] [--seed 1] [--most MIB]

Every file of FOLDER is varied --times times as `tests.strategies.varying` does: cut and spliced, with
records dropped, doubled, moved and glued, and, where it is JSON, with values of other types. A run fails
on any exception but FormatError, on a line that is not accounted for, and on a summary without a
message. Not part of the test suite: it is long.
"""

import random
import sys
import traceback
from collections import Counter
from pathlib import Path

from tests.fuzz import harness
from tests.strategies.varying import varied

from leftoff import FormatError, Pass
from leftoff.sources.open import open_lines


def fault(name: str, data: bytes) -> str:
    """What is wrong with how a recording is read, "refused" or "" where nothing is."""
    reading = Pass(name)
    try:
        reading.feed(data)
        summary = reading.summary()
    except FormatError:
        return "refused"
    except Exception:  # noqa: BLE001 - to find what else is raised is the point
        return "failed: " + traceback.format_exc().strip().splitlines()[-1]
    lines = summary.stats.lines
    told = lines.parsed + lines.unknown + lines.repaired + lines.skipped
    silent = lines.total != told or summary.stats.message_count == 0
    return f"silent: {lines}, {summary.stats.message_count} messages" if silent else ""


def main() -> int:
    args = harness.options(__doc__, "folder", times=200, seed=1, most=1.0)

    def one(path: Path) -> harness.Found:
        with open_lines(str(path)) as stream:
            data = b"".join(stream)[: int(args.most * (1 << 20))]
        chance = random.Random(f"{args.seed} {path.name}")
        found: Counter[str] = Counter()
        for _ in range(args.times):
            shape = chance.choice(("text", "lines", "document"))
            try:
                made = varied(data, shape, chance)
            except (ValueError, RecursionError):  # it is none of that shape
                made = varied(data, "text", chance)
            found[fault(path.name, made)] += 1
        counts = Counter({"refused": found.pop("refused", 0), "read": found.pop("", 0)})
        return counts, [f"{path.name}: {what} ({times} times)" for what, times in found.items()]

    beside = (".tsv", ".groundtruth.json", ".metadata.json")
    paths = [
        p for p in sorted(Path(args.folder).rglob("*")) if p.is_file() and not p.name.endswith(beside)
        and not (p.suffix == ".md" and "history" not in p.name and "__" not in p.name)
    ]  # fmt: skip
    return harness.tried("damaged recordings", lambda: harness.each(one, paths))


if __name__ == "__main__":
    sys.exit(main())
