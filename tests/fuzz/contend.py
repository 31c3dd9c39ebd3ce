"""Many processes write and read the same documents at once, and locks whose holders are ill.

    python -m tests.fuzz.contend history [--store files|sqlite] [--writers 16] [--seconds 20]
    python -m tests.fuzz.contend updates [--writers 16] [--rounds 25]
    python -m tests.fuzz.contend indexers [--writers 16] [--rounds 25]
    python -m tests.fuzz.contend locks

`history`: each process saves unique marks under three ids and reads them; every call with the
    times of its begin and end. What was read must be explained, id by id, by one order of the
    calls that keeps those times (linearisable), and at the end the last is there.
`updates`: each process changes what others change too: lines in a task's markdown, sessions in
    the memory of `--since last`. None may be lost.
`locks`: the holder of a lock is killed, or stopped for longer than others have patience; the
    file system has no locks; the folder is read only.
"""

import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from tests.fuzz import harness, tracing
from tests.fuzz.harness import Children, Unable, read_only
from tests.fuzz.writers import MEMORY, memory_rows, whole

import leftoff
from leftoff import codec
from leftoff.errors import StateError
from leftoff.live.checkpoints.files import Sandbox
from leftoff.live.last_summarized import exchange_position
from leftoff.memory import index as memory
from leftoff.stores.files import FileStore
from leftoff.stores.naming import file_stem
from leftoff.stores.protocol import Store

IDS = ("a", "b", "c")
SESSION = Path(__file__).resolve().parents[2] / "corpora/sessions/claude_code/prorate.jsonl"


class Call(NamedTuple):
    """A save or a read of a mark, with the times of its begin and end."""

    kind: str
    id: str
    mark: str
    begin: int
    end: int


def call(store: Store, id: str, mark: str) -> Call:
    """Saves a mark, or reads one if there is none to save."""
    begin = time.monotonic_ns()
    if mark:
        harness.save(store, id, mark)
        return Call("save", id, mark, begin, time.monotonic_ns())
    return Call("read", id, harness.mark_of(store, id), begin, time.monotonic_ns())


def play(root: Path, sort: str, seconds: float, log: Path, who: int) -> None:
    """One process: saves and reads, and tells of each when it is done."""
    chance = random.Random(who)
    store = harness.opened(root, sort, 60.0)
    until = time.monotonic() + seconds
    n = 0
    with log.open("w") as out:
        while time.monotonic() < until:
            n += 1
            mark = f"{who}.{n}" if chance.random() < 0.4 else ""
            done = call(store, chance.choice(IDS), mark)
            out.write(" ".join(str(v or "-") for v in done) + "\n")


def together(count: int, work: Callable[[int], None]) -> list[str]:
    """Work in so many processes at once; what went wrong in them."""
    return Children(*(partial(work, who) for who in range(count))).wait()


def faults(calls: Iterable[Call]) -> Iterator[str]:
    """Why the calls on one id are not linearisable; nothing if they are.

    Marks are unique, so the calls fall into clusters: a save and the reads that saw it. A
    cluster that cannot have been at one moment (its first end comes before its last begin)
    holds the register between these; two such may not overlap, and no other cluster may lie
    wholly inside of one (Gibbons and Korach, 1997).
    """
    clusters: dict[str, list[Call]] = defaultdict(list)
    for one in calls:
        clusters[one.mark].append(one)
    held: list[tuple[int, int, str]] = []
    free: list[tuple[int, int, str]] = []
    for mark, found in clusters.items():
        saves = [c for c in found if c.kind == "save"]
        if mark == "-" and not saves:  # what was there before everything
            saves = [Call("save", "", "-", 0, 0)]
            found.extend(saves)
        if len(saves) != 1:
            yield f"{mark} was read and never saved"
            continue
        if any(c.end < saves[0].begin for c in found):
            yield f"{mark} was read before it was saved"
        first, last = min(c.end for c in found), max(c.begin for c in found)
        (held if first < last else free).append((min(first, last), max(first, last), mark))
    held.sort()
    for (_, end, first_mark), (begin, _, other) in pairwise(held):
        if begin < end:
            yield f"{first_mark} and {other} were both there at once"
    for begin, end, mark in free:
        for left, right, other in held:
            if left < begin and end < right:
                yield f"{mark} was saved and lost while {other} was there"


def history(sort: str, writers: int, seconds: float) -> tuple[Counter[str], list[str]]:
    """Plays, and checks the history of each id."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        root = folder / "store"
        root.mkdir()
        wrong = together(
            writers, lambda who: play(root, sort, seconds, folder / f"log{who}", who)
        )
        by_id: dict[str, list[Call]] = defaultdict(list)
        counts: Counter[str] = Counter()
        for log in folder.glob("log*"):
            for line in log.read_text().splitlines():
                kind, name, mark, begin, end = line.split()
                by_id[name].append(Call(kind, name, mark, int(begin), int(end)))
                counts[f"{kind}s"] += 1
        store = harness.opened(root, sort, 60.0)
        for name in IDS:
            last = call(store, name, "")
            by_id[name].append(last._replace(mark=last.mark or "-"))
        for name, calls in by_id.items():
            counts["longest wait in ms"] = max(
                counts["longest wait in ms"], *((c.end - c.begin) // 10**6 for c in calls)
            )
            wrong += [f"{name}: {fault}" for fault in faults(calls)]
    return counts, wrong


# -- changes that build on what is there -----------------------------------------------------


def _line(words: str) -> Callable[[str], str]:
    return lambda before: f"{before}{words}\n"


def add_lines(root: Path, rounds: int, who: int) -> None:
    box = Sandbox(root, "shared")
    for n in range(rounds):
        while True:
            try:
                box.update({"project.md": _line(f"{who}.{n}")})
                break
            except StateError as error:  # its patience is short; it says so and changes nothing
                if "held by another" not in str(error):
                    raise


def ask(root: Path, rounds: int, who: int) -> None:
    memory = root / "asked.json"
    summary = leftoff.summarize(str(SESSION))
    for n in range(rounds):
        session = replace(summary.session, id=f"{who}.{n}")
        while True:
            try:
                exchange_position(memory, replace(summary, session=session))
                break
            except StateError as error:
                if "held by another" not in str(error):
                    raise


def index(recordings: Path, path: Path, rounds: int) -> None:
    """Updates an index as often; which of two does the work is left to them."""
    for _ in range(rounds):
        memory.update(path, [recordings], environ={})


def indexers(writers: int, rounds: int) -> tuple[Counter[str], list[str]]:
    """Many update the same index: it is what one makes of the same recordings."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        recordings = SESSION.parent
        alone, shared = root / "alone" / MEMORY, root / "shared" / MEMORY
        wrong = together(writers, lambda _: index(recordings, shared, rounds))
        memory.update(shared, [recordings], environ={})
        memory.update(alone, [recordings], environ={})
        rows = memory_rows(shared)
        counts["rows"] = rows.count("\n")
        if rows != memory_rows(alone):
            wrong.append("the index is not what one update gives")
        wrong += whole(root)
    return counts, wrong


def updates(writers: int, rounds: int) -> tuple[Counter[str], list[str]]:
    """Changes, and looks which were lost."""
    expected = {f"{who}.{n}" for who in range(writers) for n in range(rounds)}
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        wrong = together(writers, lambda who: add_lines(root, rounds, who))
        (page,) = root.rglob("project.md")
        lines = page.read_text().split()
        counts["lines"] = len(lines)
        if Counter(lines) != Counter(expected):
            wrong.append(f"lines: {len(expected - set(lines))} lost")
        wrong += together(writers, lambda who: ask(root, min(rounds, 900 // writers), who))
        known = codec.parse((root / "asked.json").read_bytes())
        counts["sessions"] = len(known)
        lost = {m for m in expected if int(m.split(".")[1]) < 900 // writers} - set(known)
        if lost:
            wrong.append(f"sessions: {len(lost)} lost")
    return counts, wrong


# -- locks -----------------------------------------------------------------------------------


@contextmanager
def held(store: FileStore, id: str) -> Iterator[Children]:
    """A process that holds the lock of a document."""
    read, write = os.pipe()

    def hold() -> None:
        with store._locked_folder("task", file_stem("task", id)):
            os.write(write, b"x")
            time.sleep(3600)

    holder = Children(hold)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    try:
        yield holder
    finally:
        holder.kill()


def locks() -> tuple[Counter[str], list[str]]:
    """Ill locks: what happens, and how long it takes."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []

    def expect(what: str, root: Path, patience: float, work: Callable[[], object]) -> None:
        """Work fails with an error of the store, in time, and changes nothing."""
        began = time.monotonic()
        try:
            work()
            wrong.append(f"{what}: no error")
        except StateError as error:
            counts[f"{what}: {str(error).partition('(')[2][:40]}"] += 1
        took = time.monotonic() - began
        if took > patience + 1.0:
            wrong.append(f"{what}: took {took:.1f} s, patience is {patience}")
        if harness.mark_of(FileStore(root), "one") != "before":
            wrong.append(f"{what}: changed")

    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "store"
        store = FileStore(root, patience=1.0)
        harness.save(store, "one", "before")
        again = partial(harness.save, store, "one", "after")
        with held(store, "one") as holder:
            expect("holder at work", root, 1.0, again)
            holder.stop()
            expect("holder stopped", root, 1.0, again)
            if store.load("task", "one") is None:
                wrong.append("a reader was kept waiting")
        began = time.monotonic()
        again()
        counts["holder killed: saved"] += 1
        if time.monotonic() - began > 0.9:
            wrong.append("the lock of one that was killed was waited for")
        harness.save(store, "one", "before")
        if shutil.which("strace"):
            outcome = tracing.traced(
                lambda: str(again()).encode(),
                ["flock:error=ENOLCK:when=1+"],
                Path(name) / "trace",
            )
            if "StateError" not in outcome.said:
                wrong.append(f"no locks: {outcome.said}")
            counts["no locks on the file system: refused"] += 1
        with suppress(Unable), read_only(root):
            expect("read only", root, 1.0, again)
    return counts, wrong


def main() -> int:
    args = harness.options(
        __doc__, "what:history|updates|indexers|locks", store=("files", "sqlite"),
        writers=16, seconds=20.0, rounds=25,
    )  # fmt: skip
    parts: dict[str, Callable[[], harness.Found]] = {
        "history": lambda: history(args.store, args.writers, args.seconds),
        "updates": lambda: updates(args.writers, args.rounds),
        "indexers": lambda: indexers(args.writers, args.rounds),
        "locks": locks,
    }
    return harness.tried(args.what, parts[args.what])


if __name__ == "__main__":
    sys.exit(main())
