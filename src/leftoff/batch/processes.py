"""A process for each piece of work, with the standard library alone.

Each process has a pipe of its own, so that one that is killed takes only its own work with it
(docs/decisions/005-a-process-for-each-chunk.md). A thread waits for each process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias

Function: TypeAlias = Callable[[bytes], bytes]


class ProcessEnded(Exception):
    """A process ended without an answer.

    Attributes:
        exitcode: as `multiprocessing.Process` has it; negative for a signal.
    """

    def __init__(self, exitcode: int | None) -> None:
        super().__init__(f"the process ended with {exitcode}")
        self.exitcode = exitcode


class Runner:
    """Runs a function of bytes to bytes in a process of its own for each call; `context` is of
    `multiprocessing`, and after `timeout` seconds the process is killed."""

    def __init__(
        self, function: Function, context: Any, name: str = "", timeout: float | None = None
    ) -> None:
        self._function, self._context = function, context
        self._name, self._timeout = name or None, timeout

    def __call__(self, given: bytes) -> Future[bytes]:
        """The answer to come: the function's exception, `TimeoutError` or `ProcessEnded` if
        none.

        Raises:
            OSError, EOFError: the process cannot be started.
        """
        answers, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_answer, args=(sender, self._function, given), name=self._name, daemon=True
        )
        try:
            process.start()
        except BaseException:
            answers.close()
            raise
        finally:
            sender.close()  # the end of the pipe is seen when the process ends
        future: Future[bytes] = Future()
        future.set_running_or_notify_cancel()
        threading.Thread(
            target=self._await, args=(future, process, answers), daemon=True
        ).start()
        return future

    def _await(self, future: Future[bytes], process: Any, answers: Connection) -> None:
        error: BaseException | None = None
        answer = b""
        try:
            if not wait([answers], self._timeout):
                error = TimeoutError(f"took more than {self._timeout} seconds")
            else:
                answer = answers.recv_bytes()
        except (EOFError, OSError):
            pass
        if error is not None or not answer:
            process.kill()
        process.join()
        answers.close()
        if error is None and not answer:
            error = ProcessEnded(process.exitcode)
        elif error is None and answer[:1] == _FAILED:
            error = RuntimeError(answer[1:].decode("utf-8", "replace"))
        process.close()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer[1:])


_GIVEN, _FAILED = b"\0", b"\1"


def _answer(sender: Connection, function: Function, given: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends it
    try:
        answer = _GIVEN + function(given)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets its text
        answer = _FAILED + repr(error).encode("utf-8", "replace")
    with suppress(BrokenPipeError):  # the caller was interrupted and reads no answer
        sender.send_bytes(answer)
