"""Kills hooks, their workers, commands and batches at random, all at once.

    python -m tests.reliability.kill_at_random [--kills 300] [--seed 1]

Two sessions grow; after each turn their hooks are answered and their workers work. Beside them
resume logs are made and cleaned up, and a batch runs over the recordings. All of them are
killed (kill -9) at a random moment, again and again, over the same folder. A log outside says
what was acknowledged. After each kill: every document can be loaded and none that was
acknowledged is gone; what hooks keep is whole; what one worker had acknowledged is not older
afterwards; a batch's output is whole. From time to time everything is run once more to its end:
the batch gives the bytes of a batch that was never killed, no wish is left, and no litter.
For saves alone see kill_saves.py.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.reliability import writers

from leftoff import codec
from leftoff.errors import LeftoffError
from leftoff.hooks import answer, queue, worker
from leftoff.stores.files import FileStore

LINES = (writers.SESSIONS / "claude_code/prorate.jsonl").read_bytes().splitlines(keepends=True)
EVENTS = ("Stop", "Stop", "Stop", "PreCompact", "SessionEnd", "SessionStart")
KINDS = ("resume_log", "checkpoint")


class Place:
    """The folder that everything happens in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        (folder / "home").mkdir()
        self.home = self.project / ".leftoff"
        self.log = folder / "acknowledged"

    def said(self, *words: object) -> None:
        """Notes on the outside what was acknowledged."""
        with self.log.open("a") as out:
            out.write(" ".join(map(str, words)) + "\n")

    def acknowledged(self) -> int:
        return self.log.read_text().count("\n") if self.log.exists() else 0

    def transcript(self, who: int) -> Path:
        return self.project / f"s{who}.jsonl"


def environ(place: Place) -> dict[str, str]:
    home = str(place.folder / "home")
    return {"HOME": home, "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}


def hooked(place: Place, who: int, seed: int) -> None:
    """A session that grows, its hooks and its workers, for ever."""
    chance = random.Random(seed)
    path = place.transcript(who)
    state = place.home / "state" / f"s{who}"
    answer.start_worker = lambda *_: None
    worker.SUMMARY_TIMEOUT = 0.0
    os.nice = lambda _: 0
    while True:
        done = path.read_bytes().count(b"\n") if path.exists() else 0
        with path.open("ab") as out:
            out.write(LINES[done] if done < len(LINES) else b"")
        event = chance.choice(EVENTS)
        told = {
            "session_id": f"s{who}",
            "transcript_path": str(path),
            "cwd": str(place.project),
            "hook_event_name": event,
            "prompt": "Where do the charges of prorate.py come from?",
        }
        answer.answer(codec.dumps(told), {})
        worker.process_jobs(place.home, f"s{who}")
        if not queue.pending_jobs(state):
            place.said("worker", who, queue.load(state / queue.WATCH).get("size", 0))


def logged(place: Place, seed: int) -> None:
    """Resume logs that are made, pinned and cleaned up, for ever."""
    chance = random.Random(seed)
    source = place.folder / "whole.jsonl"
    while True:
        name = f"log{chance.randrange(10**9)}"
        run = writers.Command("log", "create", str(source), "--id", name)
        if run(place.folder) == 0:
            place.said("log", name)
        if chance.random() < 0.3:
            place.said("cleaning")
            writers.Command("log", "clean", "--keep", "5")(place.folder)


def batch(place: Place, out: str) -> int:
    command = [sys.executable, "-m", "leftoff", "batch", str(writers.SESSIONS / "claude_code")]
    return subprocess.run(
        [*command, "-q", "-w", "1", "-o", out],
        cwd=place.project,
        env=environ(place),
        check=False,
        stderr=subprocess.DEVNULL,
    ).returncode


def batched(place: Place) -> None:
    """A batch, begun anew for ever."""
    while True:
        if batch(place, "out.jsonl") == 0:
            place.said("batch")
            (place.project / "out.jsonl.index").unlink(missing_ok=True)


def started(place: Place, work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
            os.chdir(place.project)
            own = environ(place)
            os.environ.clear()
            os.environ.update(own)
            work()
        except BaseException as error:  # noqa: BLE001 - told to the parent
            (place.folder / "error").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(1)
    return child


def wrong(place: Place) -> Iterator[str]:
    """What is not as it was promised."""
    lines = place.log.read_text().splitlines() if place.log.exists() else []
    store = FileStore(place.home)
    for kind in KINDS:
        for entry in store.list(kind):
            try:
                kept = store.load(kind, entry.id)
            except LeftoffError as error:
                yield f"{kind} {entry.id}: {error}"
                continue
            codes = {i.code for i in kept.issues} if kept else {"gone"}
            if codes - {"text_differs"}:
                yield f"{kind} {entry.id}: {codes}"
    for state in (place.home / "state").glob("s*"):
        small = (queue.ABOUT_SESSION, queue.RECALL, queue.GIVEN, queue.SEEN)
        for name in (queue.WATCH, queue.REPORTED, queue.LOST, *small):
            if (state / name).exists() and not queue.load(state / name):
                yield f"{state.name}/{name} is torn"
        for name in (queue.BRIEFING, queue.BESIDE):
            if (state / name).exists() and not queue.read_briefing(state, name):
                yield f"{state.name}/{name} is torn"
        least = [
            int(w[2]) for line in lines if (w := line.split())[:2] == ["worker", state.name[1:]]
        ]
        size = queue.load(state / queue.WATCH).get("size", 0)
        if least and size < max(least):
            yield f"{state.name}: read to {size}, {max(least)} was acknowledged"
    names = [line.split()[1] for line in lines[-4:] if line.startswith("log ")]
    cleaned = "cleaning" in lines[-4:]
    for name in names[-1:] if not cleaned else ():
        if store.load("resume_log", name) is None:
            yield f"the resume log {name} was acknowledged and is gone"
    for path in place.project.glob("out*.jsonl"):
        for line in path.read_bytes().splitlines():
            try:
                codec.parse_strict(line)
            except ValueError:
                yield f"{path.name} is torn"
                break


def finished(place: Place, want: dict[str, bytes]) -> Iterator[str]:
    """What is wrong when everything is run to its end."""
    for who in range(2):
        worker.process_jobs(place.home, f"s{who}")
        state = place.home / "state" / f"s{who}"
        if queue.pending_jobs(state):
            yield f"s{who}: wishes are left: {queue.pending_jobs(state)}"
    FileStore(place.home).list("checkpoint")
    writers.in_child(place.folder, writers.Command("log", "list"))
    if batch(place, "out.jsonl"):
        yield "the batch does not work again"
    for name, data in want.items():
        if (place.project / name).read_bytes() != data:
            yield f"{name} is not what an undisturbed batch gives"
    left = writers.litter(place.folder)
    if left:
        yield f"litter: {left}"
    (place.project / "out.jsonl.index").unlink(missing_ok=True)


def killed(
    kills: int, seed: int, tell: Callable[[str], None] = lambda _: None
) -> tuple[Counter[str], list[str]]:
    """Kills so many times: what was counted, and what was wrong."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    found: list[str] = []
    worker.SUMMARY_TIMEOUT = 0.0
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name) / "work")
        batch(place, "want.jsonl")
        want = {
            p.name.replace("want", "out"): p.read_bytes()
            for p in place.project.glob("want*.jsonl")
        }
        for path in place.project.glob("want*"):
            path.unlink()
        source = place.folder / "whole.jsonl"
        source.write_bytes(b"".join(LINES[:20]))
        warm = writers.Command("log", "create", str(source), "--id", "warm")
        writers.warm(place.folder, warm)
        writers.warm(place.folder, writers.Command("log", "clean", "--keep", "5"))
        writers.warm(place.folder, writers.worker)
        for kill in range(kills):
            work: list[Callable[[], None]] = [
                lambda: hooked(place, 0, chance.randrange(10**9)),
                lambda: hooked(place, 1, chance.randrange(10**9)),
                lambda: logged(place, chance.randrange(10**9)),
                lambda: batched(place),
            ]
            chance.random()  # the children's chances differ from kill to kill
            children = [started(place, one) for one in work]
            time.sleep(chance.uniform(0.05, 1.2))
            for child in children:
                for kill_it in (os.killpg, os.kill):
                    try:
                        kill_it(child, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
            for child in children:
                os.waitpid(child, 0)
            time.sleep(0.02)
            counts["kills"] += len(children)
            told = place.folder / "error"
            if told.exists():
                found.append(f"round {kill}: {told.read_text()}")
                told.unlink()
            news = [f"round {kill}: {w}" for w in wrong(place)]
            if kill % 25 == 24 or kill == kills - 1:
                counts["run to their end"] += 1
                news += [f"round {kill}, at the end: {w}" for w in finished(place, want)]
                tell(f"{kill + 1} rounds, {len(found)} wrong")
            for line in news:
                tell(f"WRONG {line}")
            found += news
            grown = [place.transcript(n) for n in range(2)]
            if all(p.exists() and p.stat().st_size > 60_000 for p in grown):
                counts["acknowledged"] += place.acknowledged()
                shutil.rmtree(place.home)
                for path in (place.log, place.transcript(0), place.transcript(1)):
                    path.unlink(missing_ok=True)
        counts["acknowledged"] += place.acknowledged()
    return counts, found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--kills", type=int, default=300, help="rounds; four are killed in each"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.monotonic()
    counts, found = killed(args.kills, args.seed, lambda line: print(line, flush=True))
    told = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
    print(f"random kills: {told}, {time.monotonic() - began:.0f} s, {len(found)} wrong")
    for line in found[:20]:
        print(f"  WRONG {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
