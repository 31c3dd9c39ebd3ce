"""Kills writers of the file store at every system call, at random, and fails their calls.

    python -m tests.reliability.kill_saves calls  [--store files|packed|first|sqlite] [--every 1]
    python -m tests.reliability.kill_saves faults [--store files|packed|first|sqlite] [--every 1]
    python -m tests.reliability.kill_saves random [--store ...] [--kills 1000] [--seed 1]

`calls`: a save is killed (kill -9) on entering each of its system calls, one run for each.
    With `first` there is no document and no folder before.
`faults`: each of its system calls fails with everything that it can fail with, one run for
    each; a failed fsync must not be tried again on the same file.
`random`: four writers save to four ids of their own and a shared one; all are killed after a
random time; what was acknowledged is known from logs outside of the store.

After each: the old document or the new one is there whole, never less than was acknowledged;
what failed was said by an error of ours; the next start leaves no temporary file; and saving
works again. The first two need strace and the right to trace. Linux only. Not part of the test
suite: it is long; tests/contracts/test_faults.py runs a small part.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.reliability import tracing
from tests.reliability.tracing import Trial, traced, verdict

from leftoff.errors import LeftoffError, Unsure
from leftoff.stores.protocol import Store, open_store

FILLER = "The order of the lines is kept, because the index is built at the end. " * 120


NAMES = ("shared", "own-0", "own-1", "own-2", "own-3")


def document(mark: str) -> dict[str, Any]:
    return {"mark": mark, "words": [mark] * 20, "filler": FILLER}


def text(mark: str) -> str:
    return f"# {mark}\n\n{FILLER}\n{mark}\n"


def opened(root: Path, sort: str) -> Store:
    if sort == "sqlite":
        return open_store(f"sqlite:///{root}/kept.db", patience=5.0)
    return open_store(root, patience=5.0, compress={"task": 0} if sort == "packed" else {})


def mark_of(store: Store, id: str) -> str:
    """The mark of a kept document; an AssertionError where it is not one whole document."""
    kept = store.load("task", id)
    assert kept is not None, f"{id} is gone"
    mark = str(kept.document.get("mark"))
    assert kept.document == document(mark), f"{id}: torn"
    assert kept.text in {"", text(mark)}, f"{id}: the markdown of another"
    codes = {issue.code for issue in kept.issues}
    assert codes <= {"text_differs"}, f"{id}: {kept.issues}"
    return mark


def litter(root: Path) -> list[str]:
    return [str(p) for p in root.rglob("*") if p.name.endswith((".tmp", "-journal"))]


# -- one save, traced ------------------------------------------------------------------------


def save(store: Store, mark: str) -> bytes:
    """What a child does: saves, and says so."""
    store.save("task", "one", document(mark), text=text(mark))
    return b"ok"


def trials(store: Store, root: Path, sort: str, folder: Path, what: str) -> list[Trial]:
    """Every system call of a save, killed or with everything that it can fail with."""
    if sort == "first":
        shutil.rmtree(root)
    done = traced(partial(save, store, "probe"), (), folder / "trace")
    assert done.said == "ok", done.said
    return (
        tracing.failures(done.trace)
        if what == "faults"
        else tracing.kills(done.trace, every=True)
    )


def tried(trial: Trial, root: Path, sort: str, number: int, scratch: Path) -> str:
    """Runs a trial on a store that holds a document and checks what is left: "old" or "new"
    and what was said; an AssertionError where a promise is broken."""
    store = opened(root, sort)
    old, new = f"old {number}", f"new {number}"
    if sort == "first":
        shutil.rmtree(root, ignore_errors=True)
    else:
        store.save("task", "one", document(old), text=text(old))
    outcome = traced(partial(save, store, new), trial.inject, scratch / "trace")
    said = outcome.said
    # SQLite writes the old pages again before it brings them to the disk a second time.
    for wrong in tracing.retried(outcome.trace) if sort != "sqlite" else ():
        raise AssertionError(wrong)
    after = opened(root, sort)
    none = sort == "first" and after.load("task", "one") is None
    mark = old if none else mark_of(after, "one")
    assert mark in {old, new}, f"invented: {mark}"
    if said == "ok":
        assert mark == new, "acknowledged and lost"
    elif said != "killed":
        kind = said.partition(":")[0]
        assert kind in _OURS, f"no error of ours: {said}"
        if mark == new:
            assert kind == Unsure.__name__, f"saved, and said not to be: {said}"
    after.list("task")
    left = litter(root)
    if sort != "sqlite":
        assert not left, f"litter: {left}"
    last = f"last {number}"
    after.save("task", "one", document(last), text=text(last))
    assert mark_of(after, "one") == last, "saving no longer works"
    assert not litter(root), f"litter: {litter(root)}"
    return f"{'old' if mark == old else 'new'}, {said.partition(':')[0]}"


def _all(error: type[LeftoffError]) -> set[str]:
    return {error.__name__}.union(*(_all(e) for e in error.__subclasses__()))


_OURS = _all(LeftoffError)


def traced_run(sort: str, what: str, every: int = 1) -> tuple[Counter[str], list[str]]:
    """All trials, or every n-th: how they ended, and what was wrong."""
    results: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch, root = Path(folder), Path(folder) / "store"
        store = opened(root, sort)
        for mark in ("first", "second", "third"):  # whatever happens once has happened
            store.save("task", "one", document(mark), text=text(mark))
            mark_of(store, "one")
        found = trials(store, root, sort, scratch, what)
        for number, trial in enumerate(found[::every]):
            try:
                results[tried(trial, root, sort, number, scratch)] += 1
            except (AssertionError, LeftoffError) as error:
                wrong.append(f"{trial}: {type(error).__name__}: {error}")
                shutil.rmtree(root, ignore_errors=True)  # the next trial begins anew
                opened(root, sort).save("task", "one", document("x"), text=text("x"))
    return results, wrong


# -- four writers, killed at random ----------------------------------------------------------


def writer(root: Path, sort: str, who: int, start: int, log: Path) -> None:
    """Saves for ever. A line before each save says what is tried, one after it that it is
    acknowledged; both with the time, which all processes share."""
    store = opened(root, sort)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    n = start
    while True:
        n += 1
        name = "shared" if n % 3 == 0 else f"own-{who}"
        mark = f"{who}.{n}"
        os.write(out, f"try {name} {mark} {time.monotonic_ns()}\n".encode())
        store.save("task", name, document(mark), text=text(mark))
        os.write(out, f"ack {name} {mark} {time.monotonic_ns()}\n".encode())


class Log:
    """What writers tried and what was acknowledged, with times."""

    def __init__(self) -> None:
        self.began: dict[tuple[str, str], int] = {}
        self.ended: dict[tuple[str, str], int] = {}
        self.last: dict[int, int] = {}

    def take(self, path: Path) -> int:
        """Reads a writer's log and removes it; tells how many saves it acknowledges."""
        before = len(self.ended)
        for line in path.read_text().splitlines():
            word, name, mark, at = line.split()
            (self.began if word == "try" else self.ended)[name, mark] = int(at)
            who, n = map(int, mark.split("."))
            self.last[who] = max(n, self.last.get(who, 0))
        path.unlink()
        return len(self.ended) - before

    def fault(self, id: str, mark: str) -> str:
        """Why this cannot be what is kept under an id, "" if it can."""
        if (id, mark) not in self.began:
            return f"{id}: {mark} was never saved"
        end = self.ended.get((id, mark))
        if end is None:
            return ""  # killed on the way: it may have come late
        later = [
            other
            for (known, other), at in self.began.items()
            if known == id and at > end and (known, other) in self.ended
        ]
        return f"{id}: {mark} is kept, {later[-1]} was acknowledged after it" if later else ""

    def forget(self, ids: dict[str, str]) -> None:
        """Keeps only what is kept now: earlier saves can no longer matter."""
        now = set(ids.items())
        self.began = {k: v for k, v in self.began.items() if k in now}
        self.ended = {k: v for k, v in self.ended.items() if k in now}


def random_run(
    sort: str, kills: int, seed: int, tell: Callable[[str], None] = lambda _: None
) -> tuple[Counter[str], list[str]]:
    """Kills four writers at random, so many times: what was counted, and what was wrong."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    log = Log()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "store"
        warm = opened(root, sort)
        for name in NAMES:
            warm.save("task", name, document("9.0"), text=text("9.0"))
            log.began[name, "9.0"] = log.ended[name, "9.0"] = time.monotonic_ns()
        for kill in range(kills):
            children = []
            for who in range(4):
                child = os.fork()
                if child == 0:
                    path = Path(folder) / f"log{who}"
                    try:
                        writer(root, sort, who, log.last.get(who, 0), path)
                    except BaseException as error:  # noqa: BLE001 - told below
                        words = f"{type(error).__name__}: {error}"
                        (Path(folder) / f"error{who}").write_text(words)
                    finally:
                        os._exit(1)
                children.append(child)
            time.sleep(chance.uniform(0.002, 0.06))
            for child in children:
                os.kill(child, signal.SIGKILL)
            for child in children:
                os.waitpid(child, 0)
            for who in range(4):
                path = Path(folder) / f"log{who}"
                if path.exists():
                    counts["acknowledged"] += log.take(path)
                told = Path(folder) / f"error{who}"
                if told.exists():
                    wrong.append(f"kill {kill}: writer {who}: {told.read_text()}")
                    told.unlink()
            counts["kills"] += 1
            before = len(litter(root))
            counts["litter before the next start"] += before
            store = opened(root, sort)
            kept: dict[str, str] = {}
            for name in NAMES:
                try:
                    kept[name] = mark_of(store, name)
                except (AssertionError, LeftoffError) as error:
                    wrong.append(f"kill {kill}: {error}")
                    continue
                fault = log.fault(name, kept[name])
                if fault:
                    wrong.append(f"kill {kill}: {fault}")
            if sort == "sqlite":  # it clears a journal away when it next writes
                store.save("task", "other", {})
            left = litter(root)
            if left:
                wrong.append(f"kill {kill}: litter after the next start: {left}")
            log.forget(kept)
            if kill % 100 == 99:
                tell(f"{kill + 1} kills, {len(wrong)} wrong")
    return counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("what", choices=["calls", "faults", "random"])
    parser.add_argument(
        "--store", choices=["files", "packed", "first", "sqlite"], default="files"
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="only each so-many-th call")
    args = parser.parse_args()
    began = time.monotonic()
    if args.what == "random":
        counts, wrong = random_run(args.store, args.kills, args.seed, print)
    else:
        counts, wrong = traced_run(args.store, args.what, args.every)
    return verdict(
        f"{args.what}, {args.store}: {time.monotonic() - began:.0f} s, {len(wrong)} wrong",
        counts,
        wrong,
    )


if __name__ == "__main__":
    sys.exit(main())
