"""Everything that works in one project at once, killed at random.

    python -m tests.fuzz crowds kills [--kills 300] [--seed 1]

kills     two sessions grow; after each turn their hooks are answered and their workers work and
          keep the index of the memory. Beside them resume logs are made and cleaned up, and a
          batch runs over the recordings. All of them are killed (kill -9) at a random moment. A
          log outside says what was acknowledged. After each kill: every document can be loaded and
          none that was acknowledged is gone; what hooks keep is whole; what one worker had
          acknowledged is not older afterwards; a batch's output is whole. From time to time
          everything is run once more to its end: the batch gives the bytes of a batch that was
          never killed, what hooks keep of a recording gives the summary of the recording, no
          wish is left, and no litter.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.fuzz import harness, writers
from tests.fuzz.harness import Children
from tests.strategies.hooks import hook_input

import leftoff
from leftoff import codec
from leftoff.analysis.summary_json import to_json
from leftoff.errors import LeftoffError
from leftoff.hooks import answer, queue, worker
from leftoff.incremental.saved_passes import SavedPass
from leftoff.memory import index as memory
from leftoff.stores.files import FileStore

SESSION = writers.SESSIONS / "claude_code/prorate.jsonl"
LINES = SESSION.read_bytes().splitlines(keepends=True)
EVENTS = ("Stop", "Stop", "Stop", "PreCompact", "SessionEnd", "SessionStart")
KINDS = ("resume_log", "checkpoint")
MEMORY = ".local/state/leftoff/memory.sqlite3"


class Place:
    """The folder in which hooks, commands and a batch work."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        (folder / "home").mkdir()
        self.home = self.project / ".leftoff"
        self.log = folder / "acknowledged"
        worker.SUMMARY_TIMEOUT = 0.0
        batch(self, "want.jsonl")
        self.want = {
            p.name.replace("want", "out"): p.read_bytes()
            for p in self.project.glob("want*.jsonl")
        }
        for path in self.project.glob("want*"):
            path.unlink()
        source = self.folder / "whole.jsonl"
        source.write_bytes(b"".join(LINES[:20]))
        for words in (("create", str(source), "--id", "warm"), ("clean", "--keep", "5")):
            writers.warm(self.folder, writers.Command("log", *words))
        writers.warm(self.folder, writers.worker)

    def said(self, *words: object) -> None:
        """Notes on the outside what was acknowledged."""
        with self.log.open("a") as out:
            out.write(" ".join(map(str, words)) + "\n")

    def transcript(self, who: int) -> Path:
        return self.project / f"s{who}.jsonl"

    def works(self, chance: random.Random) -> list[Callable[[], None]]:
        seeds = [chance.randrange(10**9) for _ in range(3)]
        sessions = [partial(hooked, self, who, seeds[who]) for who in range(2)]
        return [*sessions, partial(logged, self, seeds[2]), partial(batched, self)]

    def enter(self) -> None:
        """What each child does first."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        os.chdir(self.project)
        own = environ(self)
        os.environ.clear()
        os.environ.update(own)

    def wrong(self, counts: Counter[str]) -> Iterator[str]:
        yield from wrong(self)
        grown = [self.transcript(n) for n in range(2)]
        if all(p.exists() and p.stat().st_size > 60_000 for p in grown):
            counts["acknowledged"] += self.log.read_text().count("\n")
            shutil.rmtree(self.home)
            for path in (self.log, *grown):
                path.unlink(missing_ok=True)


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
        asked = hook_input(
            chance.choice(EVENTS), f"s{who}", project=place.project, transcript=path,
            prompt="Where do the charges of prorate.py come from?",
        )  # fmt: skip
        answer.answer(asked, {})
        worker.process_jobs(place.home, f"s{who}")
        if not queue.pending_jobs(state):
            place.said("worker", who, _size(state))


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
        [*command, "-q", "-w", "1", "-o", out], cwd=place.project, env=environ(place),
        check=False, stderr=subprocess.DEVNULL,
    ).returncode  # fmt: skip


def batched(place: Place) -> None:
    """A batch, begun anew for ever."""
    while True:
        if batch(place, "out.jsonl") == 0:
            place.said("batch")
            (place.project / "out.jsonl.index").unlink(missing_ok=True)


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
        small = (queue.ABOUT_SESSION, queue.GIVEN, queue.SEEN)
        for name in (queue.WATCH, queue.REPORTED, queue.LOST, *small):
            if (state / name).exists() and not queue.load(state / name):
                yield f"{state.name}/{name} is torn"
        for name in (queue.BRIEFING, queue.BESIDE):
            if (state / name).exists() and not queue.read_briefing(state, name):
                yield f"{state.name}/{name} is torn"
        least = [
            int(w[2]) for line in lines if (w := line.split())[:2] == ["worker", state.name[1:]]
        ]
        size = _size(state)
        if least and size < max(least):
            yield f"{state.name}: read to {size}, {max(least)} was acknowledged"
    yield from writers.whole(place.folder / "home")
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


def _size(state: Path) -> int:
    """Bytes of a transcript that a worker has summarised."""
    seen = queue.load(state / queue.WATCH).get("seen") or [[0, 0, 0]]
    return int(seen[0][2])


def finished(place: Place, want: dict[str, bytes]) -> Iterator[str]:
    """What is wrong when everything is run to its end."""
    for who in range(2):
        worker.process_jobs(place.home, f"s{who}")
        state = place.home / "state" / f"s{who}"
        if queue.pending_jobs(state):
            yield f"s{who}: wishes are left: {queue.pending_jobs(state)}"
        recording, kept = str(place.transcript(who)), SavedPass(state)
        if (
            state.exists()
            and kept.whole(recording)
            and to_json(kept.summary(recording)) != to_json(leftoff.summarize(recording))
        ):
            yield f"s{who}: what was kept is another summary"
    recordings = [place.transcript(n) for n in range(2) if place.transcript(n).exists()]
    index, fresh = (place.folder / "home" / name for name in (MEMORY, "fresh/memory.sqlite3"))
    for path in (index, fresh) if recordings else ():
        memory.update(path, recordings, environ={})
    if recordings and writers.memory_rows(index) != writers.memory_rows(fresh):
        yield "the index is not what an undisturbed update gives"
    shutil.rmtree(fresh.parent, ignore_errors=True)
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


def killed(kills: int, seed: int, folder: Path) -> harness.Found:
    """Kills so many times: what was counted, and what was wrong."""
    chance = random.Random(seed)
    counts, found = harness.nothing()
    place = Place(folder / "place")
    for number in range(kills):
        children = Children(*place.works(chance), enter=place.enter)
        time.sleep(chance.uniform(0.05, 1.2))
        news = children.kill()
        time.sleep(0.02)
        counts["kills"] += 1
        news += place.wrong(counts)
        if number % 25 == 24 or number == kills - 1:
            news += [f"at the end: {w}" for w in finished(place, place.want)]
            harness.tell(f"{number + 1} rounds, {len(found) + len(news)} wrong")
        found += [f"round {number}: {line}" for line in news]
    return counts, found


def main() -> int:
    args = harness.options(__doc__, "what:kills", kills=300, seed=1)

    def work() -> harness.Found:
        with tempfile.TemporaryDirectory() as folder:
            return killed(args.kills, args.seed, Path(folder))

    return harness.tried(args.what, work)
