"""Polling: how long a command runs, how often it looks, how it ends on a signal."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from leftoff.cli.params import MAX_SECONDS


def polls(interval: float, seconds: float | None) -> Iterator[None]:
    """Yields every `interval` seconds, and once more after `seconds`, if there is an end."""
    # The wall clock may be set back while a command polls.
    end = time.monotonic() + (MAX_SECONDS if seconds is None else seconds)
    while True:
        yield
        rest = end - time.monotonic()
        if rest <= 0:
            return
        time.sleep(min(interval, rest))


@contextmanager
def ended_in_order() -> Iterator[None]:
    """On SIGTERM or SIGHUP a command cleans up as at Ctrl+C."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    # By default they end a process without its `finally`. Not every system has both.
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
