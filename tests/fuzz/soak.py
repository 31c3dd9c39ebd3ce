"""Follows a recording for a long time, with rotation, failing reads and kills: nothing grows.

    python -m tests.fuzz.soak [--minutes 60] [--seed 1] > soak.log

A paced writer records one session after another and rotates about three times a minute in all
the ways of `follow.py`; the three newest files that it put aside stay, as with logrotate. Two
followers look five times a second and summarise every five seconds. Of their calls that open
or read a recording 5 % fail with EIO, and 1 % of their fsyncs. One is killed (kill -9) about
24 times in the time of the run; the other runs through.

Every 30th of the time the writer is stopped, and what both followers tell is compared: with the
numbers on the disk, and byte for byte with a batch run. Memory (RSS) and open descriptors of
both followers are sampled every five seconds.

The last lines tell the result. It is wrong, and exits 1, if a summary differed once; if the
memory of the follower that runs through grew, by a line fitted through its samples after the
first tenth, by more than 8 MiB; if it never had as few descriptors in the last third as in the
first; or if a folder holds something that belongs to no recording.
"""

import errno
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import linear_regression
from typing import Any, BinaryIO, Self

from tests.fuzz.follow import BEGINS_ANEW, GOES_ON, ClaudeCode, Writer, differs, wrong_with
from tests.fuzz.harness import forked, options

from leftoff.errors import LeftoffError
from leftoff.incremental.follow import PARTS, Follower
from leftoff.sources import open as sources

ASIDE = 3
LIMIT_MIB = 8.0


class Flaky:
    """A file whose reads fail now and then."""

    def __init__(self, file: BinaryIO, chance: random.Random, share: float) -> None:
        self._file, self._chance, self._share = file, chance, share

    def read(self, size: int = -1) -> bytes:
        if self._chance.random() < self._share:
            raise OSError(errno.EIO, "Input/output error")
        return self._file.read(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def with_faults(chance: random.Random, share: float) -> None:
    """Lets opening and reading recordings fail in this process, and fsync a fifth as often."""

    def fails(path: str, *how: Any) -> Any:
        if chance.random() < share:
            raise OSError(errno.EIO, "Input/output error", path)
        return Flaky(open(path, *how), chance, share)  # noqa: PTH123

    sync = os.fsync

    def fsync(descriptor: int) -> None:
        if chance.random() < share / 5:
            raise OSError(errno.EIO, "Input/output error")
        sync(descriptor)

    vars(sources)["open"] = fails
    os.fsync = fsync  # type: ignore[assignment]


def follow(path: Path, state: Path, seed: int, told: Path) -> None:
    """Looks and summarises until it is killed; counts what failed."""
    chance = random.Random(seed)
    with_faults(chance, 0.05)
    follower = Follower(path, state)
    counts: Counter[str] = Counter()
    due = time.monotonic() + 5
    while True:
        try:
            counts["looks"] += 1
            if time.monotonic() > due:
                follower.summary()
                due = time.monotonic() + 5
                counts["summaries"] += 1
            else:
                follower.look()
        except (LeftoffError, OSError) as error:
            counts[f"failed: {type(error).__name__}"] += 1
            time.sleep(0.02)
            continue
        if counts["looks"] % 25 == 0:
            told.write_text(repr(dict(counts)))
        time.sleep(0.2)


def write(writer: Writer, minutes: float) -> None:
    """Writes and rotates until the time is over; then it waits."""
    writer.begin()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        until = time.monotonic() + writer.chance.uniform(5, 30)
        while time.monotonic() < min(until, end):
            writer.write(5)
            time.sleep(0.1)
        kind = writer.chance.choice((*GOES_ON * 4, *BEGINS_ANEW))
        writer.rotate(kind)
        aside = sorted(
            writer.home.glob(f"{writer.path.name}.*"), key=lambda p: int(p.suffix[1:])
        )
        for old in aside[:-ASIDE]:
            old.unlink()
        print(f"  rotated: {kind}, {writer.number} records", flush=True)
    signal.pause()


def sizes(pid: int) -> tuple[float, int]:
    """Memory of a process in MiB and its open descriptors."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024, len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return 0.0, 0


def checked(home: Path, path: Path, states: list[Path]) -> list[str]:
    """What is wrong now with what the followers tell; looked at in a child, without faults."""
    wrong: list[str] = []
    for state in states:
        follower = Follower(path, state)
        got = follower.summary()
        wrong += wrong_with(home, "claude_code", path, got)
        odd = differs(follower, got)
        wrong += [odd] if odd else []
        known = {str(part.number) for part in follower.parts} | {PARTS, f"{PARTS}.lock"}
        more = {p.name for p in state.iterdir()} - known
        wrong += [f"{state.name}: left over: {sorted(more)}"] if more else []
    return wrong


def main() -> int:
    args = options(__doc__, minutes=60.0, seed=1)
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        soak = Soak(Path(folder), args.minutes, args.seed)
        try:
            soak.run()
        finally:
            soak.stop()
        return soak.tell()


class Soak:
    """One long run."""

    def __init__(self, root: Path, minutes: float, seed: int) -> None:
        self.root, self.minutes, self.total = root, minutes, 60 * minutes
        self.chance = random.Random(seed)
        self.home = root / "home"
        self.home.mkdir()
        self.states = [root / "through", root / "killed"]
        self.told = [root / "told-through", root / "told-killed"]
        self.writer = Writer(
            self.home, self.states, ClaudeCode(), random.Random(seed), pace=0.002
        )
        self.samples: list[tuple[float, float, int]] = []
        self.others: list[float] = []
        self.wrong: list[str] = []
        self.kills = self.checks = 0
        self.writing = forked(lambda: write(self.writer, minutes))
        time.sleep(0.5)
        self.followers = [self._start(0), self._start(1)]

    def _start(self, n: int) -> int:
        seed = self.chance.getrandbits(32)
        state, told = self.states[n], self.told[n]
        return forked(lambda: follow(self.writer.path, state, seed, told))

    def run(self) -> None:
        """Samples, kills and compares until the time is over."""
        began = time.monotonic()
        next_kill, next_check = self.total / 24, self.total / 30
        while (now := time.monotonic() - began) < self.total + 5:
            time.sleep(min(5, self.total / 60))
            if any(os.waitpid(pid, os.WNOHANG)[0] for pid in (self.writing, *self.followers)):
                self.wrong.append("a process has ended by itself")
                return
            self.samples.append((now, *sizes(self.followers[0])))
            self.others.append(sizes(self.followers[1])[0])
            if now > next_kill:
                next_kill += self.total / 24 * self.chance.uniform(0.6, 1.4)
                _end(self.followers[1])
                self.followers[1] = self._start(1)
                self.kills += 1
            if now > next_check:
                next_check += self.total / 30
                self._compare(now)

    def _compare(self, now: float) -> None:
        """Compares while the writer stands still, in a child without faults."""
        os.kill(self.writing, signal.SIGSTOP)
        result = self.root / "wrong"

        def compare() -> None:
            result.write_text("\n".join(checked(self.home, self.writer.path, self.states)))

        failed = os.waitpid(forked(compare), 0)[1]
        os.kill(self.writing, signal.SIGCONT)
        found = ["the check failed"] if failed else result.read_text().splitlines()
        self.wrong += found
        self.checks += 1
        _, memory, descriptors = self.samples[-1]
        print(
            f"{now / 60:.1f} min: {memory:.1f} MiB, {descriptors} descriptors, {self.kills} "
            f"kills, {self.checks} comparisons, {len(self.wrong)} wrong",
            flush=True,
        )
        for line in found:
            print(f"  WRONG {line}", flush=True)

    def stop(self) -> None:
        """Ends what was started."""
        for pid in (self.writing, *self.followers):
            _end(pid)

    def tell(self) -> int:
        """The result; 1 if something was wrong."""
        wrong = self.wrong + checked(self.home, self.writer.path, self.states)
        settled = [s for s in self.samples if s[0] > self.total / 10]
        span = settled[-1][0] - settled[0][0]
        growth = linear_regression(*zip(*[s[:2] for s in settled], strict=True)).slope * span
        memory, counts = [y for _, y, _ in settled], [n for _, _, n in settled]
        if growth > LIMIT_MIB:
            wrong.append(f"memory grew by {growth:.1f} MiB")
        third = len(counts) // 3  # while it looks, some are open
        if min(counts[-third:]) > min(counts[:third]):
            wrong.append(f"descriptors: {min(counts[:third])}, then {min(counts[-third:])}")
        print(f"soak: {self.minutes:g} min, {len(wrong)} wrong")
        print(f"  {self.checks + 1} comparisons with a batch run, {self.kills} kills")
        print(
            f"  memory {min(memory):.1f} to {max(memory):.1f} MiB, fitted growth "
            f"{growth:+.2f} MiB in {span / 60:.1f} min (limit {LIMIT_MIB:.0f}); descriptors "
            f"{min(counts)} to {max(counts)}; the killed one at most {max(self.others):.1f} MiB"
        )
        for name, place in zip(("through", "killed, last life"), self.told, strict=True):
            print(f"  {name}: {place.read_text() if place.exists() else 'nothing'}")
        for line in wrong[:20]:
            print(f"  WRONG {line}")
        return 1 if wrong else 0


def _end(pid: int) -> None:
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main())
