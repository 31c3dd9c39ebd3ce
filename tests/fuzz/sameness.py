"""Runs every command in many surroundings: what it prints and keeps must be the same bytes.

    python -m tests.fuzz sameness [--only NAME ...] [--python PROGRAM ...]

Surroundings: seeds of Python's hash, time zones, locales (C, tr_TR where it is there) with and
without Python's UTF-8 mode, an umask, working directories, the order in which folders give their
names (a copy made backwards), one and two processes of a batch, and other interpreters. What a
clock or a random number of ours writes (ids of checkpoints, times of saving, times that a batch
took) is taken out of both sides before they are compared, as is the place of the scratch home.
"""

import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fuzz import harness
from tests.fuzz.commands import COMMANDS, ROOT, Command, Scene, plain_session

SURROUNDINGS: dict[str, dict[str, str]] = {
    "as it is": {"PYTHONHASHSEED": "0"}, "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed random": {"PYTHONHASHSEED": "random"},
    "TZ Kiritimati": {"TZ": "Pacific/Kiritimati"}, "TZ Marquesas": {"TZ": "Pacific/Marquesas"},
    "LC_ALL C": {"LC_ALL": "C", "LANG": "C"},
    "LC_ALL C, no UTF-8 mode": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "LC_ALL tr_TR.UTF-8": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "PYTHONUTF8 1": {"PYTHONUTF8": "1"}, "optimized": {"PYTHONOPTIMIZE": "1"}, "backwards": {},
    "another cwd": {}, "other processes": {},
}  # fmt: skip

NOT_COMPARED = re.compile(
    r"\.(?:index|lock)$|/manager\.json$|/pass\.(?:head|found)$|/memory\.sqlite3$|\.git/"
)
"""Files that hold inodes, or nothing."""

_CHANGING = (
    (r"\d{8}T\d{12}Z", "TIME"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?(?: UTC)?", "TIME"),
    (r"\b20[0-9]{2}-\d\d-\d\d-\d{3}\b", "REVIEW"),
    (r'"(?:checksum|text)": ?"sha256:[0-9a-f]{64}"', "SUM"),
    (r'"(?:full|resumed|median_seconds|seconds|mtime|cost|at|duration_ms|milliseconds|saved|modified|age)": ?[0-9.e+-]+', "NUMBER"),
    (r'"seen": ?\[\[[^a-z"]*\]\]', "STAMPS"),
    (r" *\b\d+(?:\.\d+)? (?:s|ms|MB/s)\b", " DURATION"),
    (r"\(\d+(?:\.\d+)? s\)|read [\d.]+ MB in [\d.]+ s \([\d.]+ MB/s\)", "DURATION"),
    (r"\bnewest \S+|\boldest \S+", "TIME"),
    (r" 0x[0-9a-f]+", "ADDRESS"),
    (r"\b\d+\.\d ?h(?:ours)?\b", "HOURS"),
    (r'"(?:size|bytes)": ?\d+|[\d,]+ (?:bytes|B)\b', "SIZE"),
    (r"index [0-9a-f]{7}\.\.[0-9a-f]{7}", "BLOB"),
)  # fmt: skip


def steady(data: bytes, scene: Scene) -> str:
    """What must be the same."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode("utf-8", "surrogateescape")
    dashed = re.sub(r"\W", "-", str(scene.home / "ledger"))
    text = text.replace(str(scene.root), "ROOT").replace(dashed, "DASHED")
    for pattern, word in _CHANGING:
        text = re.sub(pattern, word, text)
    return text


PRINTING = re.compile(
    r"summarize S|summarize S -f (?:json|markdown|html)|list|show S#1-60|export S|budget S|batch .*"
)
"""What runs in a process of its own: how streams encode shows only there."""


READING = re.compile(r"(?:summarize|audit|export|convert|budget|show|redact) S")
"""What reads a recording and nothing else: the same from any directory."""


def everything(
    scene: Scene, environ: dict[str, str], commands: tuple[Command, ...]
) -> Iterator[tuple[str, str]]:
    """What each command prints, then what is kept: name and steady text."""
    for command in commands:
        alone = PRINTING.fullmatch(command.name) or command.name.startswith("report")
        ran = (
            scene.run(command, environ=environ) if alone else scene.run_inside(command, environ)
        )
        told = f"exit {ran.code}\n{ran.out}\n--\n{ran.err}"
        yield ran.name, steady(told.encode("utf-8", "surrogateescape"), scene)
    for name, data in scene.written().items():
        if NOT_COMPARED.search(name):
            continue
        place = re.sub(r"\d{8}T\d{12}Z|\d{4}-\d\d-\d\d-\d{3}", "TIME", name)
        if name.endswith(".sqlite"):
            with sqlite3.connect(scene.root / name) as base:
                data = "\n".join(base.iterdump()).encode()
            base.close()
        text = steady(data, scene)
        if name.endswith("hooks.log"):
            text = "\n".join(sorted(text.splitlines()))
        yield f"file {place}", text


def told(name: str, folder: Path, commands: tuple[Command, ...]) -> dict[str, str]:
    """What comes out in one of the surroundings, in which this process is."""
    root = folder / "x"
    recording = (ROOT / "corpora/sessions/claude_code/outbox.jsonl").read_bytes()
    scene = Scene(root, plain_session())
    odd = scene.session.with_name("0a000000-0000-4000-8000-000000000002.jsonl")
    odd.write_bytes(recording)
    for n, path in enumerate((scene.session, scene.second, odd)):
        os.utime(path, (1_700_000_000 - n, 1_700_000_000 - n))
    if name == "backwards":  # names are given back in the order of a hash, or as they were made
        held = {p.name: p.read_bytes() for p in scene.session.parent.iterdir()}
        for path in scene.session.parent.iterdir():
            path.unlink()
        for filename in sorted(held, reverse=True):
            path = scene.session.with_name(filename)
            path.write_bytes(held[filename])
        for n, path in enumerate((scene.session, scene.second, odd)):
            os.utime(path, (1_700_000_000 - n, 1_700_000_000 - n))
    if name == "another cwd":
        commands = tuple(c for c in commands if READING.match(c.name) and " -o " not in c.name)
        scene.project = scene.home
    if name == "other processes":
        commands = tuple(
            c._replace(words=tuple("2" if w == "1" and c.words[n - 1] == "-w" else "1" if w == "2" and c.words[n - 1] == "-w" else w for n, w in enumerate(c.words)))
            for c in commands
        )  # fmt: skip
    scene.given |= {odd}
    found = dict(everything(scene, SURROUNDINGS.get(name, {}), commands))
    if name == "another cwd":  # what is kept has its place there
        found = {k: v for k, v in found.items() if not k.startswith("file ")}
    if name == "other processes":
        swap = {"-w 1": "-w 2", "-w 2": "-w 1"}
        found = {re.sub(r"-w [12]", lambda m: swap[m[0]], k): v for k, v in found.items()}
    return found


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """A folder that is gone afterwards."""
    folder.mkdir(0o700)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def difference(one: str, other: str) -> str:
    """The first lines that differ."""
    for a, b in zip(one.splitlines(), other.splitlines(), strict=False):
        if a != b:
            at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
            return f"{a[max(0, at - 30) : at + 60]!r} became {b[max(0, at - 30) : at + 60]!r}"
    return f"{len(one)} characters became {len(other)}"


def main() -> int:
    args = harness.options(__doc__, only=[], python=[], every=1, inside=[])
    if args.inside:
        name, folder = args.inside[0], Path(args.inside[1])
        found = told(name, folder, COMMANDS[:: args.every])
        (folder / "told.json").write_text(json.dumps(found))
        return 0
    locales = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False)
    names = dict.fromkeys(["as it is", *(args.only or SURROUNDINGS)])
    if "tr_TR.utf8" not in locales.stdout and names.pop("LC_ALL tr_TR.UTF-8", "") is None:
        harness.tell("tr_TR is left out (localedef -i tr_TR -f UTF-8 tr_TR.UTF-8)")
    runs = [(name, sys.executable) for name in names]
    first: dict[str, str] = {}

    def one(run: tuple[str, str]) -> harness.Found:
        nonlocal first
        name, program = run
        # Of one name, since how long a path is counts where tokens are counted.
        place = Path(tempfile.gettempdir()) / "leftoff-sameness"
        shutil.rmtree(place, ignore_errors=True)
        with made(place):
            words = [program, *harness.PROGRAM[1:], "sameness", "--inside", name, str(place)]
            environ = {**os.environ, **SURROUNDINGS.get(name, {})}
            done = subprocess.run(
                [*words, "--every", str(args.every)],
                env=environ,
                capture_output=True,
                check=False,
            )
            if done.returncode:
                return Counter(), [f"{name}: {done.stderr.decode()[-2000:]}"]
            found = json.loads((place / "told.json").read_text("utf-8"))
        first = first or found
        keys = found.keys() if name == "another cwd" else first.keys() | found.keys()
        differing = sorted(key for key in keys if first.get(key) != found.get(key))
        harness.tell(f"{name}: {len(found)} outputs, {len(differing)} differ")
        return Counter(outputs=len(found)), [
            f"{name}: {key}: {difference(first.get(key, ''), found.get(key, ''))}"
            for key in differing
        ]

    runs += [(program, program) for program in args.python]
    return harness.tried("sameness", lambda: harness.each(one, runs))
