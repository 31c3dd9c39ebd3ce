"""A process for each chunk, by the standard library alone."""

import multiprocessing
import os
import re
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

from leftoff.batch import pool
from leftoff.batch.jobs import BatchOptions
from leftoff.batch.pool import Function, InProcess, Pool, ProcessEnded, Worker
from leftoff.batch.run import Run

CONTEXT = multiprocessing.get_context("spawn")
ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


def call(function: Function, given: bytes, **options: Any) -> bytes:
    return Worker(CONTEXT, function, given, **options).result()


def test_an_answer_and_an_empty_one() -> None:
    assert call(bytes.upper, b"ab") == b"AB"
    assert call(bytes.strip, b"  ") == b""
    large = os.urandom(3_000_000)
    assert call(bytes, large) == large


def test_an_exception_is_handed_on_as_text() -> None:
    with pytest.raises(RuntimeError, match="TypeError"):
        call(bytes.fromhex, b"no text")  # type: ignore[arg-type]


def test_a_process_that_ends_without_an_answer() -> None:
    with pytest.raises(ProcessEnded) as error:
        call(os._exit, 3)  # type: ignore[arg-type]
    assert error.value.exitcode == 3


def test_a_process_that_takes_too_long_is_killed() -> None:
    with pytest.raises(TimeoutError):
        call(time.sleep, 100_000, name="too long", timeout=0.3)  # type: ignore[arg-type]
    assert not [p for p in multiprocessing.active_children() if p.name == "too long"]


def test_a_process_that_stops_in_the_middle_of_its_answer_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer over 64 KiB fills the pipe; the run waited without end for its second half."""
    monkeypatch.setattr(pool, "_ANSWER_TIMEOUT", 0.3)
    worker = Worker(CONTEXT, bytes.upper, b"a" * 3_000_000, timeout=60)
    assert wait([worker.answers], 60)
    assert worker.process.pid
    os.kill(worker.process.pid, signal.SIGSTOP)
    with pytest.raises(ProcessEnded):
        worker.result()


@pytest.fixture
def many(root: Path, tmp_path: Path) -> Path:
    """Twelve sessions: one of ours, each time under other ids."""
    folder = tmp_path / "many"
    folder.mkdir()
    data = (root / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    for number in range(12):
        other = ID.sub(lambda m, n=number: m[0][:-4] + f"{n:04x}".encode(), data)  # type: ignore[misc]
        (folder / f"{number:02}.jsonl").write_bytes(other * 4)
    return folder


def written(paths: list[Path], engine: Any, out: Path) -> tuple[bytes, Any]:
    doing = Run(paths, BatchOptions(), engine, ":memory:", {})
    report = doing.write([str(out)])
    doing.close()
    return out.read_bytes(), report


def test_a_killed_worker_costs_nothing(many: Path, tmp_path: Path) -> None:
    calm, _ = written([many], InProcess(), tmp_path / "calm.jsonl")
    engine, killed, over = Pool(2), set[int](), threading.Event()

    def kill() -> None:
        while not over.is_set() and len(killed) < 4:
            for process in multiprocessing.active_children():
                if process.name == engine._name and process.pid and process.pid not in killed:
                    with suppress(ProcessLookupError):  # it has just ended
                        os.kill(process.pid, signal.SIGKILL)
                        killed.add(process.pid)
                    break
            over.wait(0.03)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    stormy, _ = written([many], engine, tmp_path / "stormy.jsonl")
    over.set()
    killer.join()
    assert killed
    assert stormy == calm
