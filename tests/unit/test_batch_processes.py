"""A process for each chunk, by the standard library alone."""

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import wait
from typing import Any

import pytest

from leftoff.batch import pool
from leftoff.batch.pool import ChunkLost, Function, Worker

CONTEXT = multiprocessing.get_context("spawn")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


def call(function: Function, given: bytes, **options: Any) -> bytes:
    return Worker(CONTEXT, function, given, **options).result()


def test_an_answer_and_an_empty_one() -> None:
    assert call(bytes.upper, b"ab") == b"AB"
    assert call(bytes.strip, b"  ") == b""
    large = os.urandom(3_000_000)
    assert call(bytes, large) == large


def test_an_exception_is_handed_on_as_text() -> None:
    with pytest.raises(ChunkLost, match="TypeError"):
        call(bytes.fromhex, b"no text")  # type: ignore[arg-type]


def test_a_process_that_ends_without_an_answer() -> None:
    with pytest.raises(ChunkLost, match="without an answer"):
        call(os._exit, 3)  # type: ignore[arg-type]


def test_a_process_that_takes_too_long_is_killed() -> None:
    with pytest.raises(ChunkLost, match=r"took more than 0\.3 seconds"):
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
    with pytest.raises(ChunkLost, match="without an answer"):
        worker.result()
