"""The local engine: a pool of processes in which a killed process loses only its own chunk.

Every chunk runs in a process of its own, with a pipe of its own, forked from a server in which
everything is loaded (docs/decisions/005). So a process that dies, hangs or is killed takes
only its chunk with it. The files of a lost chunk are tried again, each alone, so that only the
file that caused the loss fails.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from msgspec.structs import replace

from leftoff import codec
from leftoff.batch.jobs import BatchOptions, Chunk, ChunkResult, FileHeader
from leftoff.batch.processes import ProcessEnded, Runner
from leftoff.batch.work import failed_result, run_chunk
from leftoff.errors import UsageError

# Seconds that a session may take by default. Chosen by hand; not measured.
TIME_LIMIT = 300.0
# Attempts at a session whose process is killed. Chosen by hand; not measured.
MAX_ATTEMPTS = 3
# Exit code of a process that was killed with SIGKILL.
_KILLED = -9
# Seconds to wait for killed processes to end. Chosen by hand; not measured.
_SHUTDOWN_TIMEOUT = 5.0


class Engine(Protocol):
    """Does chunks, in any order."""

    workers: int  # how many chunks it does at once

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, ChunkResult]]:
        """Each chunk that was done, as soon as it is; chunks may come back in parts."""
        ...

    def close(self) -> None:
        """Stops everything that is still being done."""
        ...


def split_chunk(chunk: Chunk) -> list[Chunk]:
    """A chunk as chunks of one job or header each."""
    jobs = [replace(chunk, jobs=(job,), heads=()) for job in chunk.jobs]
    return jobs + [replace(chunk, jobs=(), heads=(file,)) for file in chunk.heads]


def failed_chunk(chunk: Chunk, failure: str, reason: str) -> ChunkResult:
    """The result of a chunk that could not be done."""
    results = tuple(failed_result(job, failure, reason) for job in chunk.jobs)
    return ChunkResult(results, tuple(FileHeader() for _ in chunk.heads))


class InProcess:
    """Does the work in this process, one chunk after the other, without a time limit."""

    workers = 1

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, ChunkResult]]:
        for chunk in chunks:
            for part in split_chunk(chunk):
                yield part, codec.unpack_state(run_chunk(codec.pack_state(part)), ChunkResult)

    def close(self) -> None:
        """There is nothing to stop."""


class Pool:
    """Processes on this machine.

    Args:
        workers: how many at once; as many as there are processors by default.
        limit: seconds that one session may take.

    Raises (when it runs):
        UsageError: no process can be started.
    """

    def __init__(self, workers: int = 0, limit: float = TIME_LIMIT) -> None:
        self.workers = workers or available_processors()
        self._limit = limit
        self._running: dict[Future[bytes], tuple[Chunk, int]] = {}
        self._runner: Runner | None = None
        self._name = f"leftoff-batch-{os.getpid()}-{id(self):x}"

    def _start(self, chunk: Chunk, tries: int) -> None:
        if self._runner is None:
            self._runner = self._start_server()
        future = _submit(self._runner, chunk)
        self._running[future] = (chunk, tries)

    def _start_server(self) -> Runner:
        """Starts the fork server; the answer runs `run_chunk` in a new process for each
        call."""
        kinds = multiprocessing.get_all_start_methods()
        kind = "forkserver" if "forkserver" in kinds else "spawn"
        context = multiprocessing.get_context(kind)
        if kind == "forkserver":
            context.set_forkserver_preload(["leftoff.batch.preload"])
        # The first process waits for the server; that is not the first session's time. It has
        # the name too: `close` kills it at Ctrl-C here.
        first = Runner(run_chunk, context, self._name)
        for attempt in range(10 * MAX_ATTEMPTS):
            error = _submit(first, Chunk(BatchOptions())).exception()
            if not isinstance(error, ProcessEnded):
                break
            if error.exitcode != _KILLED and attempt >= MAX_ATTEMPTS:
                break  # it was not killed: it ends by itself, and will again
        if error is not None:
            raise UsageError(
                "no process can be started here; a program that asks for workers needs the "
                'guard `if __name__ == "__main__":`'
            ) from error
        return Runner(run_chunk, context, self._name, self._limit)

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, ChunkResult]]:
        waiting: deque[tuple[Chunk, int]] = deque()
        coming = iter(chunks)
        while True:
            while len(self._running) < self.workers:
                if waiting:
                    self._start(*waiting.popleft())
                    continue
                chunk = next(coming, None)
                if chunk is None:
                    break
                self._start(chunk, 1)
            if not self._running:
                return
            for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                chunk, tries = self._running.pop(future)
                done = self._outcome(future, chunk, tries, waiting)
                if done is not None:
                    yield chunk, done

    def _outcome(
        self, future: Future[bytes], chunk: Chunk, tries: int, waiting: deque[tuple[Chunk, int]]
    ) -> ChunkResult | None:
        """The result of a chunk; None if it, or each part of it, is tried again."""
        error = future.exception()
        if error is None:
            done: ChunkResult = codec.unpack_state(future.result(), ChunkResult)
            return done
        alone = len(chunk.jobs) + len(chunk.heads) == 1
        if not alone:
            # The first of them ran, the others may not have begun: all are tried anew.
            waiting.extend((part, 1) for part in split_chunk(chunk))
            return None
        if isinstance(error, TimeoutError):
            return failed_chunk(chunk, "timeout", f"took more than {self._limit:g} seconds")
        if tries < MAX_ATTEMPTS:
            waiting.append((chunk, tries + 1))
            return None
        if not isinstance(error, ProcessEnded):
            return failed_chunk(chunk, "defect", f"{error!r:.300}")
        reason = f"the process that read it ended {MAX_ATTEMPTS} times without an answer"
        return failed_chunk(chunk, "crashed", reason)

    def close(self) -> None:
        # Not by cancelling the futures: a result that arrives meanwhile would raise an error.
        for process in multiprocessing.active_children():
            if process.name == self._name:
                process.kill()
        wait(self._running, timeout=_SHUTDOWN_TIMEOUT)
        self._running.clear()


def _submit(runner: Runner, chunk: Chunk) -> Future[bytes]:
    """Starts a chunk in a process, or raises `UsageError` where none can be started."""
    for attempt in range(10 * MAX_ATTEMPTS):
        try:
            return runner(codec.pack_state(chunk))
        except (EOFError, OSError) as error:  # killed before it could say that it had started
            last_error = error
            time.sleep(0.01 * attempt)
    raise UsageError(f"no process can be started here ({last_error!r})") from last_error


def available_processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
