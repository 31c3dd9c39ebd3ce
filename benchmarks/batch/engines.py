"""Pools of processes compared: how fast, and what is lost when workers are killed.

    python -m benchmarks.batch.engines FOLDER [--files 400] [--kills 10] [--json FILE]

Each contestant does the same chunks with the same function, two processes at once, in peace and
with workers killed at random; nobody tries anything again, so that what is lost is counted:
files of which no answer came back, and whether the pool ended or hung. Needs loky.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import pebble

from benchmarks.batch.kills import Killer
from leftoff import codec
from leftoff.batch.files import file_entry
from leftoff.batch.jobs import BatchOptions, ChunkResult, Job, split_into_chunks
from leftoff.batch.work import run_chunk

PATIENCE = 60.0
"""Seconds without any answer after which a pool hangs."""

Submit = Callable[[bytes], "concurrent.futures.Future[bytes]"]


def context() -> Any:
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["leftoff.batch.preload"])
    return found


def futures() -> tuple[Submit, Callable[[], None]]:
    pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=context())
    return (lambda data: pool.submit(run_chunk, data)), lambda: pool.shutdown(False)


def lokys() -> tuple[Submit, Callable[[], None]]:
    pool: Any = import_module("loky").ProcessPoolExecutor(2)
    return (lambda data: pool.submit(run_chunk, data)), lambda: pool.shutdown(
        False, kill_workers=True
    )


def pebbles() -> tuple[Submit, Callable[[], None]]:
    pool = pebble.ProcessPool(2, context=context())
    return (lambda data: pool.schedule(run_chunk, args=(data,), timeout=300)), pool.stop


def apart() -> tuple[Submit, Callable[[], None]]:
    """A process for each chunk, two at once: what leftoff does."""
    free = threading.Semaphore(2)
    options: dict[str, Any] = {"timeout": 300, "context": context()}
    decorate: Any = pebble.concurrent.process
    run = decorate(**options)(run_chunk)

    def submit(data: bytes) -> concurrent.futures.Future[bytes]:
        free.acquire()
        future: concurrent.futures.Future[bytes] = run(data)
        future.add_done_callback(lambda _: free.release())
        return future

    return submit, lambda: None


CONTESTANTS: dict[str, Callable[[], tuple[Submit, Callable[[], None]]]] = {
    "concurrent.futures.ProcessPoolExecutor": futures,
    "loky.ProcessPoolExecutor": lokys,
    "pebble.ProcessPool": pebbles,
    "pebble, a process for each chunk": apart,
}


def answers(submit: Submit, given: Iterable[bytes]) -> tuple[int, bool]:
    """Files of which there is an answer, and whether the pool hung."""
    waiting: set[concurrent.futures.Future[bytes]] = set()
    found = 0
    for data in given:
        try:
            waiting.add(submit(data))
        except Exception:  # noqa: BLE001 - the pool has ended
            break
    while waiting:
        done, waiting = concurrent.futures.wait(
            waiting, PATIENCE, concurrent.futures.FIRST_COMPLETED
        )
        if not done:
            return found, True
        for future in done:
            if future.exception() is None:
                found += len(codec.unpack_state(future.result(), ChunkResult).results)
    return found, False


def contest(name: str, given: list[bytes], files: int, kills: int, seconds: float) -> Any:
    submit, stop = CONTESTANTS[name]()
    answers(submit, given[-1:])  # its processes start
    killer = Killer(os.getpid(), kills, seconds)
    if kills:
        killer.start()
    began = time.monotonic()
    found, hung = answers(submit, given)
    took = time.monotonic() - began
    killer.over.set()
    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    stopping.join(20)
    return {
        "seconds": round(took, 2),
        "kills": killer.killed,
        "answered": found,
        "without_answer": files - found,
        "hung": hung,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--only", choices=CONTESTANTS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    paths = list(islice(sorted(given.folder.iterdir()), given.files))
    jobs = [Job(number, (file_entry(str(path)),)) for number, path in enumerate(paths)]
    frozen = [codec.pack_state(chunk) for chunk in split_into_chunks(BatchOptions(), jobs, 8)]
    found: dict[str, Any] = {"files": len(paths), "chunks": len(frozen)}
    for name in [given.only] if given.only else CONTESTANTS:
        calm = contest(name, frozen, len(paths), 0, 0)
        found[name] = {
            "calm": calm,
            "killed": contest(name, frozen, len(paths), given.kills, 0.8 * calm["seconds"]),
        }
    text = json.dumps(found, indent=2) + "\n"
    print(text, end="")
    if given.json:
        given.json.write_text(text, encoding="utf-8")
    os._exit(0)  # a pool that hangs would keep us


if __name__ == "__main__":
    main()
