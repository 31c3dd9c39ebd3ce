"""The engine of one machine: processes that may be killed without anybody else's loss.

Every chunk runs in a process of its own, with a pipe of its own, forked from a server in which
everything is loaded (docs/decisions/005). So a process that dies, hangs or is killed takes
nothing with it but its chunk; and the files of a chunk that was lost are tried once more, each
alone, so that the one that is to blame is found and the others are not lost.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol

from msgspec.structs import replace

from leftoff import codec
from leftoff.batch.jobs import Chunk, Done, Head, Wanted
from leftoff.batch.work import failed, work
from leftoff.errors import UsageError

TIME_LIMIT = 300.0
"""Seconds that a session may take, unless told otherwise."""

TRIES = 3
"""How often a session is begun whose process is killed."""


_KILLED = -9
"""How a process ends that the system or somebody killed."""

_PATIENCE = 5.0
"""Seconds to wait for processes that were told to end."""


class Engine(Protocol):
    """Does chunks, in any order.

    Attributes:
        workers: how many chunks it does at once.
    """

    workers: int

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Done]]:
        """Each chunk that was done, as soon as it is; chunks may come back in parts."""
        ...

    def close(self) -> None:
        """Stops everything that is still being done."""
        ...


def parts(chunk: Chunk) -> list[Chunk]:
    """A chunk as chunks of one job or header each."""
    jobs = [replace(chunk, jobs=(job,), heads=()) for job in chunk.jobs]
    return jobs + [replace(chunk, jobs=(), heads=(file,)) for file in chunk.heads]


def given_up(chunk: Chunk, failure: str, reason: str) -> Done:
    """What there is to say of a chunk that could not be done."""
    results = tuple(failed(job, failure, reason) for job in chunk.jobs)
    return Done(results, tuple(Head() for _ in chunk.heads))


class Here:
    """Does the work in this process, one chunk after the other, without a time limit."""

    workers = 1

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Done]]:
        for chunk in chunks:
            for part in parts(chunk):
                yield part, codec.thaw(work(codec.freeze(part)), Done)

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

    def __init__(
        self,
        workers: int = 0,
        limit: float = TIME_LIMIT,
    ) -> None:
        self.workers = workers or processors()
        self._limit = limit
        self._begun: dict[Future[bytes], tuple[Chunk, int]] = {}
        self._runner: Any = None
        self._name = f"leftoff-batch-{os.getpid()}-{id(self):x}"

    def _start(self, chunk: Chunk, tries: int) -> None:
        if self._runner is None:
            self._runner = self._prepared()
        future = _launched(self._runner, chunk)
        self._begun[future] = (chunk, tries)

    def _prepared(self) -> Any:
        """`work` in a process of its own, and the server running that they are forked from."""
        from pebble import ProcessExpired, concurrent

        kinds = multiprocessing.get_all_start_methods()
        kind = "forkserver" if "forkserver" in kinds else "spawn"
        context = multiprocessing.get_context(kind)
        if kind == "forkserver":
            context.set_forkserver_preload(["leftoff.batch.preload"])
        # The first process waits for the server; that is not the first session's time.
        # The name of the argument differs between what pebble declares and what it reads.
        options: dict[str, Any] = {"context": context, "mp_context": context}
        decorate: Any = concurrent.process
        first = decorate(**options)(work)
        for attempt in range(10 * TRIES):
            error = _launched(first, Chunk(Wanted())).exception()
            if not isinstance(error, ProcessExpired):
                break
            if error.exitcode != _KILLED and attempt >= TRIES:
                break  # not killed: it ends by itself, and will again
        if error is not None:
            raise UsageError(
                "no process can be started here; a program that asks for workers needs the "
                'guard `if __name__ == "__main__":`'
            ) from error
        return decorate(name=self._name, timeout=self._limit, **options)(work)

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Done]]:
        waiting: deque[tuple[Chunk, int]] = deque()
        coming = iter(chunks)
        while True:
            while len(self._begun) < self.workers:
                if waiting:
                    self._start(*waiting.popleft())
                    continue
                chunk = next(coming, None)
                if chunk is None:
                    break
                self._start(chunk, 1)
            if not self._begun:
                return
            for future in wait(self._begun, return_when=FIRST_COMPLETED).done:
                chunk, tries = self._begun.pop(future)
                done = self._outcome(future, chunk, tries, waiting)
                if done is not None:
                    yield chunk, done

    def _outcome(
        self,
        future: Future[bytes],
        chunk: Chunk,
        tries: int,
        waiting: deque[tuple[Chunk, int]],
    ) -> Done | None:
        """What became of a chunk; None if it, or each part of it, is to be tried again."""
        from pebble import ProcessExpired

        error = future.exception()
        if error is None:
            done: Done = codec.thaw(future.result(), Done)
            return done
        alone = len(chunk.jobs) + len(chunk.heads) == 1
        if not alone:
            # The first of them ran, the others may not have begun: all are tried anew.
            waiting.extend((part, 1) for part in parts(chunk))
            return None
        if isinstance(error, TimeoutError):
            return given_up(chunk, "timeout", f"took more than {self._limit:g} seconds")
        if tries < TRIES:
            waiting.append((chunk, tries + 1))
            return None
        if not isinstance(error, ProcessExpired):
            return given_up(chunk, "defect", f"{error!r:.300}")
        reason = f"the process that read it ended {TRIES} times without an answer"
        return given_up(chunk, "crashed", reason)

    def close(self) -> None:
        # Not by cancelling: an answer that comes that very moment would be an error then.
        for process in multiprocessing.active_children():
            if process.name == self._name:
                process.kill()
        wait(self._begun, timeout=_PATIENCE)
        self._begun.clear()


def _launched(runner: Any, chunk: Chunk) -> Future[bytes]:
    """A chunk on its way in a process.

    Raises:
        UsageError: no process can be started.
    """
    for attempt in range(10 * TRIES):
        try:
            future: Future[bytes] = runner(codec.freeze(chunk))
            return future
        except (EOFError, OSError) as error:  # killed before it could say that it is there
            told = error
            time.sleep(0.01 * attempt)
    raise UsageError(f"no process can be started here ({told!r})") from told


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
