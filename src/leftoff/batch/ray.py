"""The engine of many machines: plain Ray tasks (`pip install 'leftoff[ray]'`).

Each task does a chunk; Ray retries it where a machine or a worker is lost. A chunk that stays
lost is done again file by file, as in the local pool. leftoff must be installed, in the same
version, wherever tasks run, and paths must mean the same there: a shared file system, or URLs.
"""

import faulthandler
import gc
import os
import signal
import threading
from functools import cache

from leftoff import codec
from leftoff._version import __version__
from leftoff.batch.jobs import Chunk
from leftoff.batch.pool import TIME_LIMIT, ChunkLost, Repeating
from leftoff.batch.work import run_chunk
from leftoff.errors import UsageError
from leftoff.registry import imported

# How often Ray retries a task whose worker was lost. Chosen by hand; not measured.
MAX_RETRIES = 2
# Seconds after the time limit before a worker that has not stopped is killed. Chosen by hand;
# not measured.
_KILL_DELAY = 10.0


class TimeLimitExceeded(Exception):
    """A task exceeded the time limit."""


class _Stopped(BaseException):
    """Raised in a task when its time is up; a `BaseException`, so that no reader catches it."""


def run_chunk_with_limit(data: bytes, seconds: float, version: str) -> bytes:
    """`run_chunk` with a time limit: stopped by an exception where Python can be interrupted,
    else by ending the process. `UsageError` where another version of leftoff is installed."""
    if version != __version__:
        raise UsageError(f"leftoff {__version__} here, {version} where the batch was started")

    _freeze_gc()

    def stop(*_: object) -> None:
        raise _Stopped

    main = threading.current_thread() is threading.main_thread()
    if main and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    with open(os.devnull, "w", encoding="ascii") as nothing:  # noqa: PTH123
        faulthandler.dump_traceback_later(seconds + _KILL_DELAY, exit=True, file=nothing)
        try:
            return run_chunk(data)
        except _Stopped:
            raise TimeLimitExceeded(f"took more than {seconds:g} seconds") from None
        finally:
            faulthandler.cancel_dump_traceback_later()
            if main and hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)


@cache
def _freeze_gc() -> None:
    """Excludes everything that Ray has loaded from garbage collection, once."""
    gc.collect()
    gc.freeze()


class Cluster(Repeating[object]):
    """Tasks on a Ray cluster, or on a Ray of this machine. `UsageError` where Ray is not
    installed, or no cluster answers.

    Args:
        address: of the cluster; "" for what `RAY_ADDRESS` says, else a Ray of our own here.
        workers: tasks at once; as many as the cluster has processors by default.
        limit: seconds that one session may take."""

    def __init__(self, address: str = "", workers: int = 0, limit: float = TIME_LIMIT) -> None:
        self._ray = ray = imported("ray", "--engine ray needs", "ray")
        self._ours = not ray.is_initialized()
        if self._ours:
            options: codec.JsonObject = {"address": address} if address else {}
            if workers and not address:
                options["num_cpus"] = workers
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
            try:
                ray.init(
                    log_to_driver=False,
                    include_dashboard=False if not address else None,
                    logging_level="error",
                    **options,
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UsageError(f"ray: no cluster at {address!r} ({error})") from error
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        super().__init__(2 * self.workers)  # so that a free worker always has a task
        self._limit = limit
        # No interruption where one process of Ray does many tasks. `run_chunk` does not import
        # Ray, so nothing of ours is imported on the way there.
        self._task = ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(run_chunk_with_limit)

    def _start(self, chunk: Chunk) -> object:
        alone = len(chunk.jobs) + len(chunk.heads) == 1
        # A session that kills its worker would kill two more.
        task = self._task.options(max_retries=MAX_RETRIES if not alone else 1)
        return task.remote(codec.pack_state(chunk), self._limit, __version__)

    def _ended(self) -> list[object]:
        ready: list[object] = self._ray.wait(list(self._running), num_returns=1)[0]
        return ready

    def _answer(self, ended: object) -> bytes:
        try:
            answer: bytes = self._ray.get(ended)
            return answer
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, UsageError):
                raise UsageError(str(error.cause)) from None
            late = isinstance(error.cause, TimeLimitExceeded)
            raise ChunkLost("timeout" if late else "defect", f"{error.cause}"[:300]) from None
        except self._ray.exceptions.RayError as error:
            reason = f"its worker was lost ({type(error).__name__})"
            raise ChunkLost("crashed", reason) from None

    def close(self) -> None:
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        if self._ours:
            self._ray.shutdown()
