"""Killing workers at random, by their ids, and only those that a given process started."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path


def parents() -> dict[int, int]:
    """Every process of this machine with its parent."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                told = (entry / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = int(told[1])
    return found


def workers_of(pid: int) -> list[int]:
    """The processes that do work for a process: those of a fork server's, or of its own."""
    known = parents()
    children = [one for one, parent in known.items() if parent == pid]
    below = [one for one, parent in known.items() if parent in children]
    return sorted(below or [one for one in children if "tracker" not in _command(one)])


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
    except OSError:
        return "tracker"


class Killer(threading.Thread):
    """Kills a random worker of a process, so often, at random times.

    Attributes:
        killed: how often it did.
    """

    def __init__(self, pid: int, times: int, seconds: float, seed: int = 1) -> None:
        super().__init__(daemon=True)
        self._pid, self._random = pid, random.Random(seed)
        self._moments = sorted(self._random.uniform(0, seconds) for _ in range(times))
        self.killed = 0
        self.over = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        for moment in self._moments:
            if self.over.wait(max(0.0, began + moment - time.monotonic())):
                return
            while not self.over.is_set():
                found = workers_of(self._pid)
                if found:
                    try:
                        os.kill(self._random.choice(found), signal.SIGKILL)
                    except ProcessLookupError:
                        continue  # it was done that very moment
                    self.killed += 1
                    break
                time.sleep(0.005)
