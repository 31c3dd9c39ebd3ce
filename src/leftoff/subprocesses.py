"""Runs a program with given input, a time limit and a limit on its output."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

# Maximum output of a program on each stream, in bytes; at the limit it is stopped.
MOST_OUTPUT = 32 * 1024 * 1024
# Seconds to wait for a program to end after SIGTERM, and for its output to be closed: its own
# child processes may hold it open. Chosen by hand; not measured.
_SHUTDOWN_TIMEOUT = 2.0
_CHUNK = 65_536


class Done(Struct, frozen=True):
    """The result of a program that has ended: `code` is negative if a signal ended it,
    `stopped` why we stopped it: "time_out", "output", "asked", or "" if it ended itself."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    stopped: str = ""


def run(
    command: Sequence[str],
    given: bytes,
    *,
    limit: float,
    folder: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    most: int = MOST_OUTPUT,
    stop: threading.Event | None = None,
    errors: bool = True,
) -> Done:
    """Runs a program to its end; at the time limit, stops it and its process group. `OSError`
    where the program cannot be started.

    Args:
        command: the program and its arguments; no shell reads them.
        given: its standard input.
        limit: in seconds; a program that ignores SIGTERM then is killed 2 seconds later.
        folder, environ: its working directory and environment; ours if None.
        most: maximum output on each stream, in bytes.
        stop: the program is stopped when this is set.
        errors: whether its standard error is read."""
    began = time.monotonic()
    with _signals_deferred() as deferred:
        process = subprocess.Popen(  # noqa: S603 - arguments are a list, checked by who calls
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if errors else subprocess.DEVNULL,
            cwd=folder,
            env=None if environ is None else dict(environ),
            # Its own group, so that children of the program end with it.
            start_new_session=True,
        )
    assert process.stdin
    assert process.stdout
    streams = (process.stdout, process.stderr)
    readers = [_Reader(stream, most) for stream in streams if stream is not None]
    # In a thread: a program may fill its output before it has read its input.
    writer = threading.Thread(target=_write, args=(process.stdin, given), daemon=True)
    stopped = ""
    try:
        for number in deferred:
            signal.raise_signal(number)
        for thread in (writer, *readers):
            thread.start()
        stopped = _wait(process, readers, began + limit, stop)
        if stopped:
            _end(process)
        elif not _output_read(readers, _SHUTDOWN_TIMEOUT):
            _signal(process, signal.SIGTERM)  # a child process holds it open
    except BaseException:
        _end(process)
        raise
    finally:
        _output_read(readers, _SHUTDOWN_TIMEOUT)
    seconds = time.monotonic() - began
    texts = [*(bytes(reader.data) for reader in readers), b""]
    return Done(process.returncode, texts[0], texts[1], seconds, stopped)


@contextlib.contextmanager
def _signals_deferred() -> Iterator[list[int]]:
    """The numbers of the signals that arrive meanwhile. One that ended us while a program is
    started would leave the program running: its number is known only afterwards."""
    deferred: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda one, _: deferred.append(one))
    try:
        yield deferred
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Reader(threading.Thread):
    def __init__(self, stream: IO[bytes], most: int) -> None:
        super().__init__(daemon=True)
        self.data = bytearray()
        self.too_long = False
        self._stream, self._most = stream, most

    def run(self) -> None:
        with self._stream, contextlib.suppress(OSError, ValueError):
            number = self._stream.fileno()
            while chunk := os.read(number, _CHUNK):
                self.data += chunk[: self._most - len(self.data)]
                if len(self.data) >= self._most:
                    self.too_long = True
                    return


def _write(stream: IO[bytes], given: bytes) -> None:
    # A program may end without reading all of its input.
    with contextlib.suppress(OSError, ValueError):
        stream.write(given)
    with contextlib.suppress(OSError, ValueError):
        stream.close()


def _wait(
    process: subprocess.Popen[bytes],
    readers: Sequence[_Reader],
    end: float,
    stop: threading.Event | None,
) -> str:
    """Waits for the program; returns why it has to be stopped, "" if it ended itself."""
    while True:
        left = end - time.monotonic()
        pause = min(max(left, 0), 0.2)
        if readers[0].is_alive():
            readers[0].join(pause)  # ends with the program, at once; waiting for it polls
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause)
        if process.poll() is not None:
            return ""
        if any(reader.too_long for reader in readers):
            return "output"
        if stop is not None and stop.is_set():
            return "asked"
        if left <= 0:
            return "time_out"


def _output_read(readers: Sequence[_Reader], timeout: float) -> bool:
    end = time.monotonic() + timeout
    for reader in readers:
        if reader.ident is not None:
            reader.join(max(0, end - time.monotonic()))
    return not any(reader.is_alive() for reader in readers)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process group: SIGTERM, then SIGKILL."""
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_SHUTDOWN_TIMEOUT)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Signals the process group of a program; the group may outlive the program itself."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    elif process.poll() is None:
        process.kill()
