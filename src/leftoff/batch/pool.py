"""The local engine: a pool of processes in which a killed process loses only its own chunk.

Every chunk runs in a process of its own, with a pipe of its own, forked from a server in which
everything is loaded (docs/decisions/005). So a process that dies, hangs or is killed takes
only its chunk with it. The files of a lost chunk are tried again, each alone, so that only the
file that caused the loss fails."""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec.structs import replace

from leftoff import codec
from leftoff.batch.jobs import BatchOptions, Chunk, ChunkResult, FileHeader
from leftoff.batch.work import do_chunk, failed_result, run_chunk
from leftoff.errors import UsageError

# Seconds that a session may take by default. Chosen by hand; not measured.
TIME_LIMIT = 300.0
# Attempts at a session whose process is killed. Chosen by hand; not measured.
MAX_ATTEMPTS = 3
# Seconds to wait for a killed process to end. Chosen by hand; not measured.
_SHUTDOWN_TIMEOUT = 5.0
# Seconds that an answer may take from its first byte to its last: a pipe passes hundreds of MB
# in that time. Chosen by hand; not measured.
_ANSWER_TIMEOUT = 30.0


class Engine(Protocol):
    """Does chunks, in any order."""

    workers: int  # how many chunks it does at once

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, ChunkResult]]:
        """Each chunk that was done, as soon as it is; chunks may come back in parts."""
        ...

    def close(self) -> None:
        """Stops everything that is still being done."""
        ...


def _split(chunk: Chunk) -> list[Chunk]:
    """A chunk as chunks of one job or header each."""
    jobs = [replace(chunk, jobs=(job,), heads=()) for job in chunk.jobs]
    return jobs + [replace(chunk, jobs=(), heads=(file,)) for file in chunk.heads]


class InProcess:
    """Does the work in this process, one chunk after the other, without a time limit."""

    workers = 1

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, ChunkResult]]:
        for chunk in chunks:
            for part in _split(chunk):
                yield part, do_chunk(part)

    def close(self) -> None:
        """There is nothing to stop."""


# -- several at once, and again what was lost --------------------------------------------------

K = TypeVar("K")


class ChunkLost(Exception):
    """No answer came back for a chunk: why, as its failed rows say it, and how often a session
    that is alone in its chunk is tried."""

    def __init__(self, failure: str, reason: str, attempts: int = 1) -> None:
        super().__init__(reason)
        self.failure, self.reason, self.attempts = failure, reason, attempts


class Repeating(Generic[K]):
    """Does up to `at_once` chunks at the same time. Each part of a lost chunk is done again
    alone; a session that is lost alone gets a failed row."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._running: dict[K, tuple[Chunk, int]] = {}  # with the number of the attempt

    def _start(self, chunk: Chunk) -> K:
        raise NotImplementedError

    def _ended(self) -> Iterable[K]:
        """Waits for one or more of those that run."""
        raise NotImplementedError

    def _answer(self, ended: K) -> bytes:
        """A packed `ChunkResult`, or raises `ChunkLost`."""
        raise NotImplementedError

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, ChunkResult]]:
        waiting: deque[tuple[Chunk, int]] = deque()
        coming = ((chunk, 1) for chunk in chunks)
        while True:
            while len(self._running) < self._at_once:
                given = waiting.popleft() if waiting else next(coming, None)
                if given is None:
                    break
                self._running[self._start(given[0])] = given
            if not self._running:
                return
            for ended in self._ended():
                chunk, attempt = self._running.pop(ended)
                try:
                    done = codec.unpack_state(self._answer(ended), ChunkResult)
                except ChunkLost as lost:
                    if len(chunk.jobs) + len(chunk.heads) > 1:
                        # The first of them ran, the others may not have begun.
                        waiting.extend((part, 1) for part in _split(chunk))
                        continue
                    if attempt < lost.attempts:
                        waiting.append((chunk, attempt + 1))
                        continue
                    failed = (failed_result(j, lost.failure, lost.reason) for j in chunk.jobs)
                    done = ChunkResult(tuple(failed), tuple(FileHeader() for _ in chunk.heads))
                yield chunk, done


# -- processes on this machine -----------------------------------------------------------------

Function: TypeAlias = Callable[[bytes], bytes]
_GIVEN, _FAILED = b"\0", b"\1"


class Worker:
    """A process that calls a function of bytes to bytes once. It has a pipe of its own, so that
    one that is killed takes only its own answer with it. `OSError` or `EOFError` where the
    process cannot be started.

    Args:
        context: of `multiprocessing`.
        timeout: seconds after which `result` gives up and kills the process."""

    def __init__(
        self,
        context: Any,
        function: Function,
        given: bytes,
        name: str | None = None,
        timeout: float | None = None,
    ) -> None:
        self.answers, sender = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_work, args=(sender, function, given), name=name, daemon=True
        )
        try:
            self.process.start()
        except BaseException:
            self.answers.close()
            raise
        finally:
            sender.close()  # the end of the pipe is seen when the process ends
        self.timeout = timeout
        self.until = time.monotonic() + (timeout or 0.0)

    def result(self) -> bytes:
        """Waits for the answer. `ChunkLost` where there was none in time (`timeout`), the
        process ended without one or stopped in the middle of it (`crashed`), or the function
        raised (`defect`)."""
        left = None if self.timeout is None else max(0.0, self.until - time.monotonic())
        answer = b""
        late = not wait([self.answers], left)
        if not late:
            # A process that is stopped (SIGSTOP) in the middle of an answer that is larger than
            # the pipe would be waited for without end.
            overdue = threading.Timer(_ANSWER_TIMEOUT, self.process.kill)
            overdue.daemon = True
            overdue.start()
            with suppress(EOFError, OSError):
                answer = self.answers.recv_bytes()
            overdue.cancel()
        if answer:
            self.process.join(_SHUTDOWN_TIMEOUT)
        self.process.kill()  # no effect on one that has ended
        self.process.join()
        self.answers.close()
        self.process.close()
        if late:
            raise ChunkLost("timeout", f"took more than {self.timeout:g} seconds")
        if not answer:
            reason = f"the process that read it ended {MAX_ATTEMPTS} times without an answer"
            raise ChunkLost("crashed", reason, MAX_ATTEMPTS)
        if answer[:1] == _FAILED:
            reason = answer[1:].decode("utf-8", "replace")
            raise ChunkLost("defect", reason[:300], MAX_ATTEMPTS)
        return answer[1:]


def _work(sender: Connection, function: Function, given: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends it
    try:
        answer = _GIVEN + function(given)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets its text
        answer = _FAILED + repr(error).encode("utf-8", "replace")
    with suppress(BrokenPipeError):  # the caller was interrupted and reads no answer
        sender.send_bytes(answer)


class Pool(Repeating[Worker]):
    """Processes on this machine.

    Args:
        workers: how many at once; as many as there are processors by default.
        limit: seconds that one session may take.

    Raises (when it runs):
        UsageError: no process can be started."""

    def __init__(self, workers: int = 0, limit: float = TIME_LIMIT) -> None:
        self.workers = workers or available_processors()
        super().__init__(self.workers)
        self._limit = limit
        self._context: Any = None
        self._name = f"leftoff-batch-{os.getpid()}-{id(self):x}"

    def _start(self, chunk: Chunk) -> Worker:
        if self._context is None:
            self._context = self._started_server()
        return self._submit(self._context, chunk, self._limit)

    def _started_server(self) -> Any:
        """The context whose fork server has everything imported and runs."""
        kinds = multiprocessing.get_all_start_methods()
        kind = "forkserver" if "forkserver" in kinds else "spawn"
        context: Any = multiprocessing.get_context(kind)
        if kind == "forkserver":
            context.set_forkserver_preload(["leftoff.batch.preload"])
        # The first process waits for the server; that is not the first session's time. It has
        # the name too: `close` kills it at Ctrl-C here.
        for _ in range(MAX_ATTEMPTS):
            with suppress(ChunkLost):  # killed, or it ends by itself, and will again
                self._submit(context, Chunk(BatchOptions()), None).result()
                return context
        raise UsageError(
            "no process can be started here; a program that asks for workers needs the "
            'guard `if __name__ == "__main__":`'
        )

    def _submit(self, context: Any, chunk: Chunk, limit: float | None) -> Worker:
        data = codec.pack_state(chunk)
        for attempt in range(10 * MAX_ATTEMPTS):
            try:
                return Worker(context, run_chunk, data, self._name, limit)
            except (EOFError, OSError) as error:  # killed before it could say that it started
                last_error = error
                time.sleep(0.01 * attempt)  # the machine may have no process to give now
        raise UsageError(f"no process can be started here ({last_error!r})") from last_error

    def _ended(self) -> list[Worker]:
        until = min(worker.until for worker in self._running)
        pipes = [worker.answers for worker in self._running]
        ready = wait(pipes, max(0.0, until - time.monotonic()))
        now = time.monotonic()
        return [w for w in self._running if w.answers in ready or w.until <= now]

    def _answer(self, ended: Worker) -> bytes:
        return ended.result()

    def close(self) -> None:
        for process in multiprocessing.active_children():
            if process.name == self._name:
                process.kill()
        for worker in self._running:
            worker.process.join(_SHUTDOWN_TIMEOUT)
        self._running.clear()


def available_processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
