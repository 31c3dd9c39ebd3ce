"""Damages real SpecStory files in many ways; each must be read or refused, never anything else.

    python -m tests.reliability.mutate_markdown PATHS... [--times 200] [--seed 1] [--processes N]

PATHS are recordings, or folders of them. Of each generation (the first line, the client, the
spelling of the headers, and how tool uses are written) --times damaged files are made, whole,
from all its files in turn: lines of markup are dropped, doubled, moved and cut short; fences and tags are put in;
the file is cut, spliced, or gets other line ends. A run fails on any exception but FormatError,
and on a file with headers that gives no message without a refusal. It also counts the headers
that give no turn by the account of `benchmarks.conformance speakers` without an issue that says
so; these do not fail a run, since damage makes quotations too. Not part of the test suite: it is
long.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.conformance.recordings import units
from benchmarks.conformance.speakers_specstory import specstory
from benchmarks.conformance.speakers_turns import text_of

from leftoff import FormatError, Pass, read

_MARKUP = re.compile(
    r"_\*\*|```|---$|</?(?:tool-use|details|think)|<summary>|Tool use: |Result:"
)
_PIECES = (
    "```", "````", "```diff", "```thinking", "---", "_****_", "<think>", "</think>", "<details>",
    "</details>", "</tool-use>", "</details></tool-use>", "Result:", "Read file: x", "_**User**_",
    '<tool-use data-tool-type="shell" data-tool-name="Bash"><details>', "\x00", "\ufeff",
)  # fmt: skip
_GENERATIONS = {
    "tool-use": "<tool-use ",
    "Tool use:": "\nTool use: **",
    "details": "\n<details>",
    "diff": "\n```diff",
}


def generation(text: str) -> str:
    """The generation of the recorder that wrote a file: how it spells what it writes."""
    first = text.partition("\n")[0].strip()[:50]
    header = re.search(r"(?m)^_\*\*(?:Agent|Assistant)( \([^)\n]*)?.*\*\*_", text)
    spelling = ""
    if header is not None:
        inside = header[1] or ""
        spelling = re.sub(r" \(.*", "", header[0].strip("_*"))
        spelling += " model" * bool(inside) + " time" * bool(re.search(r"\d\d:\d\d", inside))
    session = re.search(r"(?m)^<!-- (.+?) Session ", text[:3000])
    client = session[1] if session is not None else "no client"
    written = next((name for name, mark in _GENERATIONS.items() if mark in text), "words")
    return f"{first} | {client} | {spelling} | {written}"


def damaged(text: str, chance: random.Random) -> str:
    """The file after one to five kinds of damage."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 5)):
        marks = [n for n, x in enumerate(lines) if _MARKUP.match(x)] or [0]
        place, other = chance.choice(marks), chance.choice(marks)
        at = chance.randrange(len(lines))
        kind = chance.randrange(10)
        if kind == 0:
            lines = lines[: at + 1]
        elif kind == 1:
            del lines[place]
        elif kind == 2:
            lines.insert(chance.randrange(len(lines) + 1), lines[place])
        elif kind == 3:
            lines[place], lines[other] = lines[other], lines[place]
        elif kind == 4:
            lines[place] = lines[place][: chance.randrange(len(lines[place]) + 1)]
        elif kind == 5:
            lines.insert(at, chance.choice(_PIECES))
        elif kind == 6:
            lines[at : at + chance.randint(1, 60)] = []
        elif kind == 7:
            lines[at:at] = lines[place : place + chance.randint(1, 60)]
        elif kind == 8:
            lines[place : place + 2] = [" ".join(lines[place : place + 2])]
        else:
            lines = [x + "\r" for x in lines] if chance.random() < 0.3 else lines
        lines = lines or [""]
    return "\n".join(lines)


def tried(job: tuple[str, list[str], int, int]) -> tuple[str, Counter[str], list[str]]:
    """Damages the files of one generation in turn."""
    name, paths, times, seed = job
    counts: Counter[str] = Counter()
    said: list[str] = []
    chance = random.Random(f"{seed} {name}")
    texts = [text_of(path) for path in paths]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times):
            text = damaged(texts[number % len(texts)], chance)
            file = Path(folder, "recording.md")
            file.write_text(text, encoding="utf-8", newline="")
            turns = {place for place, _ in specstory(text.replace("\r", "")).turns}
            try:
                places = {message.line for message in read(str(file))}
                unseen = len(turns - places)
                if unseen:
                    reading = Pass("recording.md")
                    reading.feed(file.read_bytes())
                    said_so = "uncertain_turn" in {x.code for x in reading.summary().issues}
                    unseen = 0 if said_so else unseen
            except FormatError:
                counts["refused"] += 1
                continue
            except Exception:  # noqa: BLE001 - to find what else is raised is the point
                counts["failed"] += 1
                said.append(traceback.format_exc())
                continue
            counts["read"] += 1
            counts["silent"] += bool(turns) and not places
            counts["headers"] += len(turns)
            counts["unseen headers"] += unseen
    return name, counts, said


def main(argv: Sequence[str]) -> int:
    """Prints the counts of each generation; 1 if a file failed or was silently empty."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args(argv)
    began = time.monotonic()
    found: dict[str, list[str]] = defaultdict(list)
    for unit in units(args.paths):
        text = text_of(unit.main)
        if re.search(r"(?m)^(?:<!-- Generated by SpecStory|## SpecStory)", text[:3000]):
            found[generation(text)].append(unit.main)
    jobs = [(name, found[name], args.times, args.seed) for name in sorted(found)]
    total: Counter[str] = Counter()
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        for name, counts, said in pool.imap(tried, jobs):
            total += counts
            print(f"{name} ({len(found[name])} files):", dict(counts))
            print("".join(said[:2]), end="")
    print(f"{len(jobs)} generations in {time.monotonic() - began:.0f} s:", dict(total))
    return int(bool(total["failed"] or total["silent"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
