"""Tries to make leftoff write where it must not, or so that others can read it.

    python -m tests.fuzz escapes [ids|sessions|links|race|modes ...] [--rounds N]

ids: hostile ids, and twins of one name, through every store. sessions: the same as session ids,
working directories, branches and agents inside recordings, through every command that names a
file for them. links: symbolic and hard links planted at every file and folder that commands
write, at temporary names and at locks. race: a folder that is swapped for a link while documents
are saved. modes: every command under the umasks 000 and 077, also over files that others could
read. strace tells each call: what is opened for writing, made, moved or linked outside of the
scratch folder fails the run, and so does a mode wider than 0600 or 0700.
"""

import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.fuzz import harness
from tests.fuzz.commands import (
    CHANGES,
    COMMANDS,
    SESSION,
    Call,
    Command,
    Scene,
    calls_in,
    plain_session,
    strace,
)
from tests.strategies.conversations import Step
from tests.strategies.writers import WRITERS

from leftoff.errors import LeftoffError, NotPlainName
from leftoff.stores.protocol import open_store

_IDS = json.loads(Path(__file__).with_name("hostile_ids.json").read_text("utf-8"))
PLAIN, PARTS, TWINS = _IDS["plain"], _IDS["parts"], _IDS["twins"]
"""Odd ids that are names of files here or everywhere, what wants out, and pairs of one name."""


def hostile(count: int, seed: int) -> list[str]:
    """Ids that want out, and some that are only odd."""
    chance = random.Random(seed)
    found = dict.fromkeys([*PLAIN, *PARTS, "", *(a for pair in TWINS for a in pair)])
    found |= dict.fromkeys(f"{a}{b}" for a in ("..", ".", "/", "\\") for b in PARTS)
    found |= dict.fromkeys(quote(p, safe="", errors="replace") for p in PARTS)
    while len(found) < count:
        found["".join(chance.choice((*PARTS, *PLAIN)) for _ in range(chance.randint(2, 5)))] = (
            None
        )
    return list(found)[: max(count, len(PARTS))]


# -- what the trace says ---------------------------------------------------------------------

_SAFE = re.compile(r"/dev/(?:null|tty|full|shm/.*)|(?:pipe|socket|anon_inode|/memfd):?.*")
_OPENS = ("open", "openat", "creat")
_WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC)")


def outside(calls: Iterator[Call], root: Path, here: Path) -> list[str]:
    """The calls that opened for writing, made, moved, linked or removed something outside of a
    folder."""
    found: list[str] = []
    inside = (str(root.resolve()) + "/", str(root) + "/")
    for call in calls:
        if not call.done or call.name in ("ftruncate", "fchmod"):
            continue
        if call.name == "chdir":
            here = here / os.fsdecode(call.strings[0])
        elif call.name in _OPENS:
            if _WRITING.search(call.text) and not _SAFE.fullmatch(call.path):
                if not call.path.startswith(inside):
                    found.append(f"{call.name} {call.path}")
        elif call.name == "connect":
            if b"AF_UNIX" not in call.text.encode() and "127.0.0.1" not in call.text:
                found.append(call.text[:200])
        elif call.name in CHANGES.split(","):
            names = call.strings[:2] if call.name != "symlink" else call.strings[1:2]
            folders = re.findall(r"(?:AT_FDCWD|\d+)<([^>]*)>", call.text)
            for n, name in enumerate(names):
                base = Path(_path(folders[min(n, len(folders) - 1)])) if folders else here
                whole = base / os.fsdecode(name)
                path = os.path.realpath(whole.parent) + "/" + whole.name
                if not path.startswith(inside) and not _SAFE.fullmatch(path):
                    found.append(f"{call.name} {path}")
    return found


def _path(text: str) -> str:
    return os.fsdecode(bytes.fromhex(text.replace("\\x", ""))) if "\\x" in text else text


def wide(calls: Iterator[Call], there: set[str]) -> list[str]:
    """The calls that made a file or folder that others could open.

    Args:
        there: what was there before; opening it again makes nothing.
    """
    found: list[str] = []
    there = set(there)
    for call in calls:
        if not call.done or "/dev/" in call.path:
            continue
        if call.name in _OPENS:
            if call.path in there:
                continue
            there.add(call.path)
        mode = re.search(r"\b(0[0-7]{3,4})\)?$", call.text[: call.text.rfind(")")])
        if call.name in _OPENS and "O_CREAT" in call.text:
            if mode is None or int(mode[1], 8) & 0o077:
                found.append(f"{call.path} made with {mode[1] if mode else '?'}")
        elif call.name in ("mkdir", "mkdirat", "chmod", "fchmod", "fchmodat"):
            if mode is None or int(mode[1], 8) & 0o077:
                words = b" ".join(call.strings).decode("utf-8", "replace")
                found.append(f"{call.name} {words} {mode[1] if mode else '?'}")
    return found


def traced(part: str, rounds: int, root: Path) -> tuple[dict[str, int], list[str]]:
    """Runs a part in a child under strace: what it counted, and what was wrong."""
    log = root.parent / "trace"
    before = strace(log, f"chdir,{CHANGES}")
    words = [*harness.PROGRAM, "escapes", part, "--rounds", str(rounds), "--inside", str(root)]
    done = subprocess.run([*before, *words], capture_output=True, check=False, cwd=root,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(root),
                               "PYTHONDONTWRITEBYTECODE": "1"})  # fmt: skip
    if done.returncode:
        return {}, [f"{part}: exit {done.returncode}: {done.stderr.decode()[-2000:]}"]
    told = json.loads((root / "result.json").read_text())
    escaped = outside(calls_in(log), root, root)
    return told["counts"], [*told["wrong"], *escaped]


# -- ids -------------------------------------------------------------------------------------


def ids(root: Path, rounds: int) -> harness.Found:
    """Every name through every store."""
    counts, wrong = harness.nothing()
    names = hostile(rounds, 7)
    opened: dict[str, Callable[[], Any]] = {
        "files": lambda: open_store(root / "files"),
        "packed": lambda: open_store(root / "packed", compress={"task": 0}),
        "sqlite": lambda: open_store(f"sqlite:///{root}/kept.db"),
        "objects": lambda: open_store("memory://escapes"),
    }
    for sort, make in opened.items():
        store = make()
        for kind in ("task", "resume_log", "resume_state"):
            kept: dict[str, str] = {}
            for name in names if kind == "task" else names[::7]:
                counts[f"{sort}: tried"] += 1
                try:
                    store.save(kind, name, {"mark": repr(name)}, text="# x\n")
                except NotPlainName:
                    counts[f"{sort}: refused"] += 1
                    for method in (store.load, store.delete):
                        try:
                            method(kind, name)
                            wrong.append(f"{sort}: {method.__name__} took {name!r}")
                        except NotPlainName:
                            pass
                    continue
                except LeftoffError as error:
                    wrong.append(f"{sort}: {name!r}: {type(error).__name__}: {error}")
                    continue
                kept[name] = repr(name)
            for name, mark in kept.items():
                found = store.load(kind, name)
                if found is None or found.document.get("mark") != mark:
                    wrong.append(f"{sort}: {name!r} gives {found and found.document}")
            listed = {entry.id for entry in store.list(kind)}
            if listed != set(kept):
                wrong.append(f"{sort}: listed {sorted(listed ^ set(kept))[:5]}")
            wrong += [
                f"{sort}: {name!r} cannot be removed"
                for name in kept
                if not store.delete(kind, name) or store.load(kind, name) is not None
            ]
            if store.list(kind):
                wrong.append(f"{sort}: something is left")
    return counts, wrong


# -- sessions --------------------------------------------------------------------------------


def recordings(id: str, root: Path) -> dict[str, bytes]:
    """Recordings that call themselves, their folder, branch and agent so."""
    steps = [
        Step("user", "Make the totals add up."),
        Step("agent", "I'll use Decimal, since it adds up."),
    ]
    lines = []
    for line in WRITERS["claude_code"](steps).splitlines():
        record = json.loads(line)
        record |= {"sessionId": id, "cwd": id, "gitBranch": id, "version": id}
        lines.append(record)
    lines.append({**lines[-1], "uuid": "x", "isSidechain": True, "agentId": id})
    codex = [json.loads(line) for line in WRITERS["codex"](steps).splitlines()]
    codex[0]["payload"] |= {"id": id, "cwd": id}
    dump = WRITERS["leftoff"](steps).decode().replace(SESSION, json.dumps(id)[1:-1])
    whole = {"claude_code": lines, "codex": codex}
    made = {n: "".join(json.dumps(r) + "\n" for r in rs).encode() for n, rs in whole.items()}
    return {**made, "leftoff": dump.encode()}


def sessions(root: Path, rounds: int) -> harness.Found:
    """Recordings with every own, through every command that names a file for it."""
    counts, wrong = harness.nothing()
    scene = Scene(root / "scene", plain_session())
    lines = ("log create S", "checkpoint create S --markdown dumps", "resume --save S",
             "summarize S --since last", "batch S -o rows.jsonl -w 1 -q", "convert S --to leftoff")  # fmt: skip
    saving = tuple(Command(tuple(line.split())) for line in lines)
    for number, own in enumerate(hostile(rounds, 8)):
        made = recordings(own, root)
        name = ("claude_code", "codex", "leftoff")[number % 3]
        scene.session.write_bytes(made[name])
        for command in saving[number % 2 :: 2]:
            counts["commands"] += 1
            ran = scene.run_inside(command)
            counts[f"exit {ran.code}"] += 1
            if ran.code not in (0, 1, 2) or "Traceback" in ran.err:
                wrong.append(f"{own!r}: {ran.name}: {ran.code}: {ran.err[-300:]}")
        for event in ("SessionStart", "Stop", "SessionEnd"):
            told = {
                "session_id": own, "transcript_path": "S", "cwd": "P", "hook_event_name": event,
            }  # fmt: skip
            if number % 5 == 0:
                counts["hooks"] += 1
                scene.run_inside(Command(("hook",), stdin=json.dumps(told), settle=True))
    return counts, wrong


# -- links -----------------------------------------------------------------------------------


def links(root: Path, rounds: int) -> harness.Found:
    """Links at everything that commands write: what they lead to stays as it was."""
    counts, wrong = harness.nothing()
    first = Scene(root / "first", plain_session())
    for command in COMMANDS:
        first.run_inside(command)
    base = first.project.relative_to(first.root)
    names = [n for n in first.written() if n.startswith(f"{base}/")]
    names = [str(Path(n).relative_to(base)) for n in names]
    names.remove("given.txt")  # a program of the user's writes it
    roots = (".", ".leftoff", "dumps")  # those that a user names may be links
    folders = sorted({str(p) for n in names for p in Path(n).parents if str(p) not in roots})
    pid = os.getpid()
    names += [f".{n}.{pid}.part" for n in names if "/" not in n]
    plans: list[tuple[str, list[str]]] = [
        ("file", names), ("hard", names), ("nothing", names),
        *(("folder", [f]) for f in folders if f"{Path(f).parent}" not in folders),
    ]  # fmt: skip
    for what, places in plans:
        scene = Scene(root / f"{what}{counts['scenes']}", plain_session())
        counts["scenes"] += 1
        away = scene.root / "away"
        away.mkdir()
        for number, name in enumerate(places):
            place, victim = scene.project / name, away / f"{number}"
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists() or place.is_symlink():
                continue
            if what == "folder":
                victim.mkdir()
            elif what != "nothing":
                victim.write_bytes(b'{"precious": true}\n')
            counts[what] += 1
            os.link(victim, place) if what == "hard" else place.symlink_to(victim)
        before = _state(away)
        for command in COMMANDS:
            ran = scene.run_inside(command)
            counts["commands"] += 1
            if "Traceback" in ran.err or ran.code not in (0, 1, 2):
                wrong.append(f"{what} links: {ran.name}: {ran.code} {ran.err[-300:]}")
        after = _state(away)
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                where = places[int(Path(name).parts[0])]
                wrong.append(
                    f"{what} link at {where}: {before.get(name)} became {after.get(name)}"
                )
    return counts, wrong


def _state(folder: Path) -> dict[str, Any]:
    return {
        str(p.relative_to(folder)): p.read_bytes()[:60] if p.is_file() else "folder"
        for p in sorted(folder.rglob("*"))
    }


# -- a race ----------------------------------------------------------------------------------


def race(root: Path, rounds: int) -> harness.Found:
    """Saves while somebody swaps the folder, and the one of the locks, for a link."""
    counts, wrong = harness.nothing()
    store, away = open_store(root / "kept", timeout=2.0), root.parent / "away"
    store.save("task", "a", {"n": 0})
    tasks, aside = root / "kept" / "tasks", root / "kept" / "aside"
    child = os.fork()
    if child == 0:
        chance = random.Random(3)
        while True:
            place = tasks if chance.random() < 0.5 else tasks / ".locks"
            try:
                place.rename(aside)
                place.symlink_to(away if place is tasks else away / ".locks")
                time.sleep(chance.uniform(0, 0.002))
                place.unlink()
                aside.rename(place)
                time.sleep(chance.uniform(0, 0.002))
            except OSError:
                pass
    try:
        for n in range(rounds):
            try:
                store.save("task", "a", {"n": n}, text="x")
                store.load("task", "a")
                store.list("task")
                counts["saved"] += 1
            except LeftoffError:
                counts["refused"] += 1
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        for place in (tasks, tasks / ".locks"):  # what is traced is looked up after the run
            if place.is_symlink():
                place.unlink()
    left = [str(p) for p in away.rglob("*") if p.name != ".locks"]
    if left:
        wrong.append(f"written behind a link: {left[:5]}")
    return counts, wrong


# -- modes -----------------------------------------------------------------------------------


def modes(root: Path, rounds: int) -> harness.Found:
    """Every command under two umasks, then over files that others can read."""
    counts, wrong = harness.nothing()
    for umask in (0o000, 0o077):
        scene = Scene(root / f"umask{umask:o}", plain_session())
        made = set(scene.root.rglob("*"))
        log = root.parent / "trace"
        for opened_up in (False, True):
            if opened_up:
                for path in (p for p in scene.project.rglob("*") if p not in made):
                    path.chmod(0o755 if path.is_dir() else 0o644)
            before = {p: p.stat().st_mtime_ns for p in scene.root.rglob("*") if p.is_file()}
            words = [*harness.PROGRAM, "escapes", "commands", "--inside", str(scene.root)]
            done = subprocess.run(
                [*strace(log, CHANGES), *words], umask=umask, capture_output=True, check=False,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # Python's files, not ours
            )  # fmt: skip
            counts["commands"] += len(COMMANDS)
            wrong += [
                f"umask {umask:03o}: {w}"
                for w in wide(calls_in(log), {str(p.resolve()) for p in before})
            ]
            if done.returncode:
                wrong.append(done.stderr.decode()[-1000:])
            for path in sorted(scene.root.rglob("*")):
                if path in made or path.is_symlink() or ".git" in path.parts:
                    continue
                told = path.stat()
                fresh = path.is_file() and before.get(path) != told.st_mtime_ns
                if not opened_up or fresh:
                    counts["files" if path.is_file() else "folders"] += 1
                    if (
                        stat.S_IMODE(told.st_mode) & 0o077
                        and path.suffix != ".lock"
                        and path.name != "given.txt"
                    ):
                        wrong.append(
                            f"umask {umask:03o}: {path} is {stat.S_IMODE(told.st_mode):o}"
                        )
    return counts, wrong


PARTS_OF = {
    "ids": ids, "sessions": sessions, "links": links, "race": race, "modes": modes,
}  # fmt: skip
ROUNDS = {"ids": 1200, "sessions": 1000, "race": 2000}
UNTRACED = ("modes",)  # it traces each command itself


def main() -> int:
    args = harness.options(
        __doc__, f"parts*:{'|'.join((*PARTS_OF, 'commands'))}", rounds=int, inside=Path
    )
    if args.inside and args.parts == ["commands"]:
        scene = Scene.known(args.inside)
        for command in COMMANDS:
            scene.run_inside(command)
        return 0
    if args.inside:
        counts, wrong = PARTS_OF[args.parts[0]](args.inside, args.rounds)
        written = [w.encode("utf-8", "replace").decode() for w in wrong]
        (args.inside / "result.json").write_text(
            json.dumps({"counts": counts, "wrong": written})
        )
        return 0
    if shutil.which("strace") is None:
        sys.exit("strace is not installed")
    return max(
        harness.tried(part, partial(one, part, args.rounds or ROUNDS.get(part, 1)), show=30)
        for part in args.parts or PARTS_OF
    )


def one(part: str, rounds: int) -> harness.Found:
    """A part in a scratch folder."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        (root.parent / "away" / ".locks").mkdir(parents=True)
        counts, wrong = (
            PARTS_OF[part](root, rounds) if part in UNTRACED else traced(part, rounds, root)
        )
        return Counter(counts), [f"{line!r:.400}" for line in wrong]
