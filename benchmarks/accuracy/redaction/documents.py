"""Secrets planted in whole sessions, and every byte that leftoff then writes.

The other figures ask the gate about single texts. Between a recording and a document texts are
also cut, put on one line, divided into sentences and names, and only then redacted: what is
halved on the way is known to no rule. So a session is written with secrets in every place that
people and tools put them, at every place where texts are cut, all commands are run on it, and
everything they print, log and keep is searched for pieces of the secrets.
"""

from __future__ import annotations

import gzip
import io
import logging
import os
import random
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.accuracy.redaction.planted import GENERIC, STRUCTURED, Planted
from tests.strategies.conversations import Call, Step
from tests.strategies.writers import WRITERS

from leftoff.__main__ import main
from leftoff.redaction.redactor import Redactor

Maker = Callable[[random.Random], Planted]

CUTS = (
    0,
    40,
    80,
    100,
    120,
    150,
    160,
    200,
    300,
    400,
    600,
    1000,
    2000,
    4000,
    8000,
    10_000,
    20_000,
)
"""Code points at which texts are cut somewhere; 0: the secret stands in front."""

PIECE = 8
"""Code points of a secret in a row that tell some of it."""

PLACES = (
    "prompt", "answer", "decision", "finding", "step", "command", "parameter", "result",
    "error", "last line", "path", "edit", "to-do", "last words",
)  # fmt: skip
WORDS = (
    "the parser reads every line and then counts what is left of it before it goes on".split()
)


class Leak(NamedTuple):
    """A piece of a secret that can be read in an output."""

    output: str
    place: str
    kind: str
    at: int
    piece: str


class Plant(NamedTuple):
    """A secret in its place; `at` is where it begins in the text there."""

    planted: Planted
    place: str
    at: int


def _filler(chance: random.Random, size: int) -> str:
    """Words of about this many code points, on lines of some length."""
    words: list[str] = []
    length = 0
    while length < size:
        words.append(chance.choice(WORDS) + ("\n" if chance.random() < 0.07 else ""))
        length += len(words[-1]) + 1
    return " ".join(words)[:size]


def _text(chance: random.Random, planted: Planted, *, flat: bool = False) -> tuple[str, int]:
    """A text with the secret near one of the cuts, and where the secret begins."""
    cut = chance.choice(CUTS)
    begin = max(0, cut - chance.randint(0, len(planted.line) + 2))
    before = _filler(chance, begin - 1) + chance.choice(" \n") if begin else ""
    after = " " + _filler(chance, chance.choice((0, 0, 50, 500, 5000)))
    text = f"{before}{planted.line}{after}"
    return (" ".join(text.split()) if flat else text), begin


def session(chance: random.Random, count: int) -> tuple[list[Step], list[Plant]]:
    """A conversation that holds `count` secrets, each once."""
    makers = [*STRUCTURED, *GENERIC]
    steps: list[Step] = [Step("user", "Make the parser count the lines that it cannot read.")]
    plants: list[Plant] = []
    for number in range(count):
        planted = _known(chance, makers)
        place = PLACES[number % len(PLACES)]
        while place == "path" and (planted.line != planted.secret or "\n" in planted.line):
            planted = _known(chance, STRUCTURED)  # what a name in a path can be
        text, at = _text(chance, planted)
        plants.append(Plant(planted, place, at))
        steps.extend(_steps(chance, f"call_{number}", place, planted, text))
    return [*steps, Step("agent", "All of it is done, and the tests pass.")], plants


def _known(chance: random.Random, makers: Sequence[Maker]) -> Planted:
    """A secret that the gate knows where it stands in a line of text: what it does not know
    there is counted by the other figures."""
    while True:
        planted = chance.choice(makers)(chance)
        shown = Redactor().text(f"use {planted.line} for now")
        if planted.secret.split("\n")[-1] not in shown or "\n" in planted.secret:
            return planted


def _steps(
    chance: random.Random, id: str, place: str, planted: Planted, text: str
) -> Iterator[Step]:
    line = " ".join(planted.line.split("\n"))

    def call(name: str, given: dict[str, Any], result: str, *, bad: bool = False) -> Step:
        return Step("agent", "", (Call(id, name, given, result, bad),))

    if place == "prompt":
        yield Step("user", f"Please fix the counter. {text}")
    elif place == "answer":
        yield Step("agent", text)
    elif place == "decision":
        yield Step("agent", f"I'll use {line} instead of {line[::-1][:3]} because {text}.")
    elif place == "finding":
        yield Step("agent", f"I found the root cause: the client sends {line} with every call.")
    elif place == "step":
        yield Step("agent", f"Next steps:\n\n- rotate {line} on the server\n- run the tests")
    elif place == "command":
        yield call("Bash", {"command": f"cd app && echo {text}"}, "ok")
    elif place == "parameter":
        yield call("Grep", {"pattern": text, "nested": {"deep": [text]}}, "3 matches")
    elif place == "result":
        yield call("Bash", {"command": "npm test"}, f"{text}\n12 passed, 1 failed")
    elif place == "error":
        yield call("Bash", {"command": "npm run build"}, f"Error: {text}", bad=True)
    elif place == "last line":
        said = f"{_filler(chance, 400)}\n{planted.line}"
        yield call("Bash", {"command": "cat notes"}, said, bad=True)
    elif place == "path":
        given = {"file_path": f"/home/ada/ledger/{line}/a.py", "content": "x = 1\n"}
        yield call("Write", given, "File created successfully")
    elif place == "edit":
        path = "/home/ada/ledger/src/a.py"
        given = {"file_path": path, "old_string": "x = 1", "new_string": text}
        yield call("Edit", given, f"The file {path} has been updated.")
    elif place == "to-do":
        items = [{"content": text, "status": "pending", "activeForm": "doing it"}]
        yield call("TodoWrite", {"todos": items}, "ok")
    else:
        yield Step("user", "And what is left?")
        yield Step("agent", text)


COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("summarize", "S", "-f", form) for form in ("text", "json", "markdown", "prompt", "log")),
    ("summarize", "S", "-f", "html"),
    ("summarize", "S", "--explain"),
    ("summarize", "S", "--explain", "--json"),
    ("summarize", "S", "-f", "prompt", "--budget", "400"),
    ("summarize", "S", "-f", "log", "--budget", "700"),
    ("log", "create", "S", "--id", "one"),
    ("log", "create", "S", "--id", "one"),
    ("log", "show", "one"),
    ("log", "show", "one", "--json"),
    ("checkpoint", "create", "S", "--task", "one", "--markdown", "dumps"),
    ("checkpoint", "create", "S", "--markdown", "dumps", "--json"),
    ("checkpoint", "create", "S", "--task", "two", "--markdown", "dumps", "--capacity", "95"),
    ("checkpoint", "list", "--json"),
    ("resume", "--save", "S"),
    ("resume", "--list"),
    ("export", "S"),
    ("convert", "S", "--to", "atif"),
    ("convert", "S", "--to", "leftoff"),
    ("budget", "S"),
    ("budget", "S", "--json"),
    ("show", "S#1-60"),
    ("show", "S#1-60", "--full"),
    ("redact", "S"),
    ("verify", "summary.json"),
    ("verify", "S"),
    ("summarize", "no-such-session"),
)  # fmt: skip


def outputs(recording: bytes) -> Iterator[tuple[str, str]]:
    """What every command prints, logs and keeps for a recorded session: name and text."""
    with TemporaryDirectory() as folder, chdir(folder):
        place = Path(folder)
        (place / "session.jsonl").write_bytes(recording)
        with patch.dict(os.environ, {"HOME": folder, "LEFTOFF_LOG": "debug"}):
            for words in COMMANDS:
                yield " ".join(words), _run(words)
            saved = _run(("resume", "--save", "S")).split("\n")
            for name in saved:
                if name.startswith("workflow_"):
                    yield "resume", _run(("resume", name.split()[0], "--force"))
            for name in sorted(p.name.split(".json")[0] for p in place.rglob("*95p*.json*")):
                yield "checkpoint show", _run(("checkpoint", "show", name, "--json"))
                yield "checkpoint show", _run(("checkpoint", "show", name))
                yield "checkpoint inject", _run(("checkpoint", "inject", name))
        yield from _reviewed(place)
        yield "memory", indexed(place)
        for path in sorted(place.rglob("*")):
            if path.is_file() and path.name not in {"session.jsonl", "summary.json"}:
                data = path.read_bytes()
                data = gzip.decompress(data) if path.suffix == ".gz" else data
                yield f"file {path.relative_to(place)}", data.decode("utf-8", "replace")


def _run(words: tuple[str, ...]) -> str:
    """Both streams and the log of one command."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True)
    logged = logging.StreamHandler(out)
    root = logging.getLogger()
    level = root.level
    root.addHandler(logged)
    root.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(out), redirect_stderr(out):
            code = main([w.replace("S#", "session.jsonl#") if w != "S" else "session.jsonl"
                         for w in words])  # fmt: skip
            print(f"exit {code}")
    finally:
        root.removeHandler(logged)
        root.setLevel(level)
    out.flush()
    text = out.buffer.getvalue().decode("utf-8", "surrogateescape")
    if words[:4] == ("summarize", "S", "-f", "json"):
        Path("summary.json").write_text(text.rpartition("exit ")[0], encoding="utf-8")
    return text


def indexed(place: Path) -> str:
    """What the memory of projects stores of the session, uncompressed, and its index."""
    from leftoff.memory.index import opened, update
    from leftoff.memory.search import edits, entries

    index = place / "index" / "memory.sqlite3"
    update(index, [place / "session.jsonl"], environ={})
    with opened(index) as db:
        found = repr((list(entries(db, "1")), list(edits(db, "1"))))
        words = db.execute("SELECT block FROM terms_data").fetchall()
    stored = b"".join(block for (block,) in words) + index.read_bytes()
    shutil.rmtree(index.parent)
    return found.replace("\\n", "\n") + stored.decode("utf-8", "replace")


def _reviewed(place: Path) -> Iterator[tuple[str, str]]:
    """A review whose rounds say what the session says, kept and sent again."""
    from leftoff.api import read
    from leftoff.handover.review import Review, ReviewRound, full_prompt
    from leftoff.stores.protocol import open_store

    said = [m.text for m in read("session.jsonl") if m.text]
    rounds = tuple(
        ReviewRound(prompt=first, response=second, failure=second)
        for first, second in pairwise(said)
    )
    review = Review("2026-03-02-001", rounds=rounds)
    store = open_store(str(place / "reviews"))
    store.save("review", review.review_id, review.to_dict())
    kept = store.load("review", review.review_id)
    assert kept is not None
    known = Review.from_dict(kept.document).rounds
    for one in range(len(known)):
        yield "review", full_prompt(Review("r", rounds=known[one : one + 1]), "Go on.", 300)


_RUN = re.compile(r"[^\s\x00-\x1f]{8,}")


def pieces(plants: list[Plant]) -> dict[str, Plant]:
    """What tells some of a secret, in small letters: `PIECE` code points in a row that no two
    of the secrets share and that are not plain words."""
    found: dict[str, Plant] = {}
    often: Counter[str] = Counter()
    for plant in plants:
        secret = plant.planted.secret.casefold()
        rows = [row for row in secret.split("\n") if not row.startswith("-----")]
        own = {row[i : i + PIECE] for row in rows for i in range(len(row) - PIECE + 1)}
        often.update(own)
        found.update(dict.fromkeys(own, plant))
    plain = re.compile(r"[a-z_./:-]*")
    return {p: plant for p, plant in found.items() if often[p] == 1 and not plain.fullmatch(p)}


def leaks(text: str, wanted: dict[str, Plant], output: str) -> Iterator[Leak]:
    """The pieces that can be read in a text, one for each secret; escapes undone."""
    seen: set[int] = set()
    for shown in {text, text.replace("\\", "")}:
        for run in set(_RUN.findall(shown.casefold())):
            for i in range(len(run) - PIECE + 1):
                plant = wanted.get(run[i : i + PIECE])
                if plant is not None and id(plant) not in seen:
                    seen.add(id(plant))
                    piece = run[i : i + PIECE]
                    yield Leak(output, plant.place, plant.planted.kind, plant.at, piece)


def documents(count: int, seed: int, each: int = 28) -> tuple[dict[str, Any], list[Leak]]:
    """The report on `count` secrets, and every leak."""
    chance = random.Random(seed)
    found: list[Leak] = []
    written: dict[str, int] = defaultdict(int)
    planted = unknown = 0
    formats = ("claude_code", "codex", "chat", "leftoff")
    for number in range(-(-count // each)):
        steps, plants = session(chance, min(each, count - planted))
        planted += len(plants)
        wanted = pieces(plants)
        recording = WRITERS[formats[number % len(formats)]](steps)
        for output, text in outputs(recording):
            name = re.sub(r"[0-9]{3,}[0-9T_:.-]*|_[0-9a-f]{4}\b", "n", output)
            written[name] += len(text)
            unknown += "Traceback" in text
            found += leaks(text, wanted, name)
    by = Counter(f"{leak.output}: {leak.kind} in {leak.place}" for leak in found)
    return {
        "planted": planted,
        "seed": seed,
        "leaks": len(found),
        "tracebacks": unknown,
        "where": dict(by.most_common(60)),
        "characters": sum(written.values()),
        "outputs": dict(sorted(written.items())),
    }, found
