"""corpora/gold from its dialogues.

python -m benchmarks.gold build corpora/gold    write recordings and labels anew
python -m benchmarks.gold check corpora/gold    exit 1 and a list, if they are not what the
                                                dialogues give
python -m benchmarks.gold count corpora/gold    sessions, messages and labels by format
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gold import clients, exports, research
from benchmarks.gold.dialogues import Dialogue, read
from benchmarks.gold.labelling import labels
from benchmarks.gold.layouts import LAYOUTS

WRITERS = (clients, exports, research)
"""The modules that hold the layouts; importing them makes `LAYOUTS` whole."""


def dialogues(gold: Path) -> list[Dialogue]:
    """Every dialogue, by name."""
    return [read(path) for path in sorted((gold / "dialogues").glob("*.txt"))]


def made(dialogue: Dialogue) -> dict[str, bytes]:
    """A dialogue's recording and label file, by path below the gold folder."""
    kind = dialogue.head["format"]
    ending, writer = LAYOUTS[kind]
    file = f"gold__{dialogue.name}{ending}"
    recording, places = writer(dialogue)
    return {
        f"sessions/{kind}/{file}": recording,
        f"labels/{file}.json": labels(dialogue, file, places),
    }


def everything(gold: Path) -> dict[str, bytes]:
    """All recordings and label files."""
    return {path: data for d in dialogues(gold) for path, data in made(d).items()}


def differences(gold: Path) -> list[str]:
    """One line for every file that is not what the dialogues give."""
    wanted = everything(gold)
    present = {
        path.relative_to(gold).as_posix(): path
        for folder in ("sessions", "labels")
        for path in (gold / folder).rglob("*")
        if path.is_file()
    }
    found = [f"{path}: no dialogue gives it" for path in sorted(present.keys() - wanted.keys())]
    found += [f"{path}: is missing" for path in sorted(wanted.keys() - present.keys())]
    return found + [
        f"{path}: not what its dialogue gives"
        for path in sorted(wanted.keys() & present.keys())
        if present[path].read_bytes() != wanted[path]
    ]


def build(gold: Path) -> None:
    """Writes recordings and labels, and takes away those without a dialogue."""
    wanted = everything(gold)
    for folder in ("sessions", "labels"):
        for path in sorted((gold / folder).rglob("*")):
            if path.is_file() and path.relative_to(gold).as_posix() not in wanted:
                path.unlink()
    for name, data in wanted.items():
        path = gold / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def count(gold: Path) -> dict[str, Counter[str]]:
    """Sessions, spoken agent messages and labels, by format and as "all"."""
    found: dict[str, Counter[str]] = {"all": Counter()}
    for dialogue in dialogues(gold):
        places = LAYOUTS[dialogue.head["format"]][1](dialogue)[1]
        said: dict[int, bool] = {}
        for step, place in zip(dialogue.steps, places, strict=True):
            if step.speaker == "agent" and place.words is not None:
                decided = any(mark.what == "decision" for mark in step.marks)
                said[place.words] = said.get(place.words, False) or decided
        typed = [s for s in dialogue.steps if s.speaker == "user"]
        here = Counter(sessions=1, agent=len(said), person=len(typed))
        here.update(f"{mark.what}s" for step in dialogue.steps for mark in step.marks)
        here["with_decision"] = sum(said.values())
        here["stages"] = sum(bool(s.stage) for s in dialogue.steps)
        for name in ("all", dialogue.head["format"]):
            found.setdefault(name, Counter()).update(here)
    return found


def main(arguments: Sequence[str]) -> int:
    """Build, check or count, as the first argument says."""
    if len(arguments) != 2 or arguments[0] not in ("build", "check", "count"):
        print(__doc__, file=sys.stderr)
        return 2
    gold = Path(arguments[1])
    if arguments[0] == "count":
        for name, counted in sorted(count(gold).items()):
            print(name, json.dumps(dict(sorted(counted.items()))))
        return 0
    if arguments[0] == "build":
        build(gold)
    found = differences(gold)
    print("\n".join(found) or "recordings and labels are what the dialogues give")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
