"""Damages real recordings in many ways; each must be read or refused, never anything else.

    python -m tests.reliability.mutate FOLDER [--times 200] [--seed 1] [--most MIB]

Every file of FOLDER is cut, spliced, and has lines dropped, doubled, glued and values retyped, and
pieces of markup put in, --times times each. A run fails on any exception but FormatError, on a line that is
not accounted for, and on a summary without a message. Not part of the test suite: it is long.
"""

import random
import re
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.reliability.harness import options

from leftoff import FormatError, Pass
from leftoff.sources.open import open_lines

_VALUE = re.compile(rb':\s*("(?:[^"\\]|\\.){0,80}"|\d+|true|false|null)')
_PIECES = (
    b"\x00", b"\xff\xfe", b"\n", b'"', b"}", b"\r", b"\n```\n", b"\n````\n", b"\n---\n", b"_**User**_",
    b"<think>", b"</think>", b"<details>", b"</details></tool-use>", b"\nResult:\n",
)  # fmt: skip
_VALUES = (b"null", b"7", b'"x"', b"[]", b"{}", b"[1]", b'{"a":1}', b"true", b"-1e9", b'""')


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The recording after one to five kinds of damage."""
    for _ in range(chance.randint(1, 5)):
        kind = chance.randrange(8)
        at = chance.randrange(len(data) or 1)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + data[at + chance.randint(1, 5000) :]
        elif kind == 2:
            other = chance.randrange(len(data) or 1)
            data = data[:at] + data[other : other + chance.randint(1, 5000)] + data[at:]
        elif kind == 3:
            data = data[:at] + chance.choice(_PIECES) + data[at:]
        elif kind == 4:
            data = _VALUE.sub(
                lambda m: b":" + chance.choice(_VALUES) if chance.random() < 0.02 else m[0],
                data,
            )
        else:
            lines = data.split(b"\n")
            place = chance.randrange(len(lines))
            if kind == 5:
                del lines[place]
            elif kind == 6:
                lines.insert(chance.randrange(len(lines)), lines[place])
            else:
                lines[place : place + 2] = [b"".join(lines[place : place + 2])]
            data = b"\n".join(lines)
    return data


def main() -> int:
    args = options(__doc__, "folder", times=200, seed=1, most=1.0)
    began = time.monotonic()
    results: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for path in sorted(p for p in Path(args.folder).rglob("*") if p.is_file()):
        if (
            path.suffix in {".tsv", ".md"}
            and "history" not in path.name
            and "__" not in path.name
        ):
            continue
        if path.name.endswith((".groundtruth.json", ".metadata.json")):
            continue
        with open_lines(str(path)) as stream:
            data = b"".join(stream)[: int(args.most * (1 << 20))]
        chance = random.Random(f"{args.seed} {path.name}")
        for _ in range(args.times):
            reading = Pass(path.name)
            try:
                reading.feed(damaged(data, chance))
                summary = reading.summary()
            except FormatError:
                results["refused"] += 1
                continue
            except Exception:  # noqa: BLE001 - to find what else is raised is the point
                failures[traceback.format_exc().strip().splitlines()[-1]] += 1
                results["failed"] += 1
                if results["failed"] <= 5:
                    traceback.print_exc()
                continue
            lines = summary.stats.lines
            told = lines.parsed + lines.unknown + lines.repaired + lines.skipped
            silent = lines.total != told or summary.stats.message_count == 0
            results["silent" if silent else "read"] += 1
            if silent:
                print(f"silent: {path.name}: {lines}, {summary.stats.message_count} messages")
    print(
        f"{sum(results.values())} damaged recordings in {time.monotonic() - began:.0f} s:",
        end=" ",
    )
    print(", ".join(f"{count} {name}" for name, count in sorted(results.items())))
    for line, count in failures.most_common(20):
        print(f"  {count} x {line}")
    return 1 if results["failed"] or results["silent"] else 0


if __name__ == "__main__":
    sys.exit(main())
