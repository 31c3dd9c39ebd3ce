"""How long a command goes on, how often it looks, and how it ends when it is told to."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

LONGEST = 1e9
"""Seconds: thirty years, which every clock can wait for."""


class Seconds(click.FloatRange):
    """So many seconds; neither `nan` nor `inf`, which ranges let through.

    Args:
        least: the fewest.
    """

    def __init__(self, least: float = 0) -> None:
        super().__init__(min=least)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not seconds <= LONGEST:
            self.fail(f"{value!r} is no number up to {LONGEST:.0e}.", param, ctx)
        return seconds


def looks(interval: float, seconds: float | None) -> Iterator[None]:
    """Comes back for each look, and for a last one when the time is over.

    Args:
        interval: seconds between two.
        seconds: for so long; without end if None.
    """
    end = time.monotonic() + (LONGEST if seconds is None else seconds)
    while True:
        yield
        rest = end - time.monotonic()
        if rest <= 0:
            return
        time.sleep(min(interval, rest))


@contextmanager
def ended_in_order() -> Iterator[None]:
    """A command that is told to end, or whose terminal is closed, clears up as at Ctrl+C."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
