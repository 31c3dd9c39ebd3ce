"""Sets the clock forward and back while thresholds are crossed and documents are kept.

    python -m tests.fuzz clocks [--times 300] [--seed 1]

`sessions`: a running session of the library whose clock jumps by up to ten years between calls
    and which is begun anew from its file between them: each threshold is told once, in order,
    none is left out, and 95 % writes one log.
`hooks`: the same for hooks, whose clock is the system's: what the person is told.
`retention`: a document that was saved a moment ago stays, whatever the others' times say; what
    was saved in the future (the clock was ahead) is not old; pinned ones stay; order is by time,
    ties by id.
"""

import logging
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from tests.fuzz import harness
from tests.strategies.hooks import hook_input

from leftoff import codec
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.hooks import answer, queue
from leftoff.live.resume_logs import ResumeLogGenerator
from leftoff.live.session import SessionManager
from leftoff.live.telemetry import Event
from leftoff.settings import Settings
from leftoff.stores.files import FileStore
from leftoff.stores.retention import Retention, prune

YEARS = 10 * 365 * 86_400
MODEL = "claude-haiku-4-5"
WINDOW = 167_000
"""Usable tokens of that model in its client."""

Wrong = Callable[[str], None]


def rising(chance: random.Random) -> list[int]:
    """Percentages of a window, ever higher, in small steps and jumps."""
    found, at = [], chance.uniform(5, 60)
    while at < 99.9:
        found.append(round(1000 * at))
        at += chance.choice((0.5, 3, 12, 30)) * chance.random()
    return [*found, 99_950]


def sessions(chance: random.Random, folder: Path, wrong: Wrong) -> None:
    now = [datetime(2026, 6, 1, tzinfo=UTC)]
    path = folder / "running.json"
    path.unlink(missing_ok=True)
    told: list[str] = []

    def note(event: Event) -> None:
        if event.crossing is not None and "task_id" in event.fields:
            told.append(event.crossing.threshold.name)

    def begun() -> SessionManager:
        manager = SessionManager(path=path, clock=lambda: now[0])
        manager.subscribe(note)
        return manager

    manager = begun()
    manager.set_task_budget("t", MODEL, 100_000)
    for n, used in enumerate(rising(chance)):
        now[0] += timedelta(seconds=chance.uniform(-YEARS, YEARS) / 10)
        if chance.random() < 0.3:
            manager = begun()
        manager.update_token_usage(
            used, 0, "end_turn", cache_read_tokens=0, message_id=f"m{n}", task_id="t",
            provider=MODEL,
        )  # fmt: skip
    if told != sorted(set(told), key=told.index) or len(told) != 4:
        wrong(f"sessions: told {told}")


def call(folder: Path, number: int, used: int) -> None:
    usage = {"input_tokens": used, "output_tokens": 0}
    message = {"id": f"m{number}", "model": MODEL, "role": "assistant", "usage": usage}
    line = {"type": "assistant", "uuid": f"u{number}", "version": "2.1.0", "message": message}
    with (folder / "s.jsonl").open("ab") as out:
        out.write(codec.dumps(line))


def lines_of(reply: bytes) -> list[str]:
    told = codec.parse(reply).get("systemMessage", "") if reply else ""
    return [line for line in told.splitlines() if "%" in line]


def hooks(chance: random.Random, folder: Path, wrong: Wrong) -> None:
    shutil.rmtree(folder / ".leftoff", ignore_errors=True)
    (folder / "s.jsonl").unlink(missing_ok=True)
    shown: list[str] = []
    # The size of the window is what a worker found out.
    session = queue.folder_of(folder / ".leftoff", "s1")
    assert session is not None
    queue.make_folder(folder / ".leftoff", session)
    queue.write(session / queue.WATCH, codec.dumps({"usable": WINDOW}))
    real = time.time
    for n, used in enumerate(rising(chance)):
        ahead = chance.uniform(-YEARS, YEARS)
        call(folder, n, used * WINDOW // 100_000)
        with (
            patch.object(time, "time", lambda ahead=ahead: real() + ahead),
            patch.object(answer, "start_worker", lambda *_: None),
            patch.object(answer, "WORKER_TIMEOUT", 0.0),
        ):
            shown += lines_of(
                answer.answer(
                    hook_input("Stop", project=folder, transcript=folder / "s.jsonl"), {}
                )
            )
    names = [line.split(":")[0] for line in shown]
    if len(names) != 3 or len(set(names)) != 3:
        wrong(f"hooks: told {names}")


def retention(chance: random.Random, folder: Path, wrong: Wrong) -> None:
    root = folder / "kept"
    shutil.rmtree(root, ignore_errors=True)
    store = FileStore(root / ".leftoff")
    now = time.time()
    times = {}
    for n in range(chance.randint(8, 14)):
        path = Path(store.save("resume_log", f"n{n}", {"session_id": f"n{n}"}))
        times[f"n{n}"] = now + chance.uniform(-YEARS, YEARS)
        os.utime(path, (now, times[f"n{n}"]))
    pinned = chance.choice(list(times))
    store.pin("resume_log", pinned, True)
    order = [entry.id for entry in store.list("resume_log")]
    if order != sorted(times, key=lambda i: (-times[i], i)):
        wrong(f"retention: order {order}")
    days = chance.uniform(0, 4000)
    done = prune(store, "resume_log", Retention(days=days), now=now)
    gone = {entry.id for entry in done.removed}
    if gone != {i for i, at in times.items() if now - at > days * 86_400 and i != pinned}:
        wrong(f"retention: {gone} of {times} after {days} days")
    maker = ResumeLogGenerator(Settings(), project=root)
    where = maker.save_resume_log(ResumeLog.from_dict({"session_id": "fresh"}))
    if not where.exists() or maker.load_resume_log("fresh") is None:
        wrong("retention: what was saved a moment ago is gone")
    if store.load("resume_log", pinned) is None:
        wrong("retention: a pinned one is gone")


def tried(times: int, seed: int) -> harness.Found:
    """All of it: what was counted, and what was wrong."""
    chance = random.Random(seed)
    counts, found = harness.nothing()
    # In memory where that can be: that files come to the disk is not what is looked at here.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name)
        for _ in range(times):
            for part in (sessions, hooks, retention):
                part(chance, folder, found.append)
                counts[part.__name__] += 1
    return counts, found


def main() -> int:
    args = harness.options(__doc__, times=300, seed=1)
    logging.disable()
    return harness.tried("clocks", lambda: tried(args.times, args.seed))
