"""Disturbs every command that writes: kills, failing calls, limits, full disks.

    python -m tests.fuzz disturbed kills|all|faults [--only NAME] [--but NAME] [--every 1]
    python -m tests.fuzz disturbed limits|disks [--only NAME] [--but NAME] [--steps 6]

kills   killed (kill -9) on entering each system call that changes something, which leaves
        everything that a kill can leave; `all` on entering every call
faults  each call fails with everything that it can fail with (ENOSPC, EDQUOT, EIO, EMFILE,
        EROFS, EACCES, ENOLCK); fsync also from then on for ever
limits  RLIMIT_FSIZE and RLIMIT_NOFILE, as `ulimit -f` and `prlimit --nofile` set them
disks   a tmpfs of which so many pages are free, or that takes so many more files, from none on;
        the folder mounted over itself, read only

What there is to write is in `writers.py`. After each: every document and file is the old or
the new one, whole; what was acknowledged (exit 0) is there; a failure is one line on stderr and
a documented exit code, never a traceback; a failed fsync is not tried again on the same file;
and the same command run again works, gives what it gives, and leaves no litter. The first two
need strace and the right to trace, mounts need root; exits 77 where that cannot be had. Linux only. Not part of the test suite: it is long; tests/contracts/test_faults.py
runs a small part.
"""

import os
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.fuzz import harness, tracing, writers
from tests.fuzz.harness import Unable, mounted, read_only, run
from tests.fuzz.tracing import Outcome, Trial
from tests.fuzz.writers import WRITERS, Command, Work, Writer

UNSURE = ("not certain to stay", "may be back", "stdout: cannot be written", "perhaps")
"""What an error says where something was done all the same."""

_LATER = re.compile(r"^memory$|/ledger\.md$")
"""What a worker of hooks brings up to date once its jobs are acknowledged: after a failure the
next job of the session does, and each question that needs it."""

PAGE = 4096


class Case:
    """A writer, its folder, and what it makes of it when nothing disturbs it."""

    def __init__(self, writer: Writer, scratch: Path) -> None:
        self.writer, self.scratch = writer, scratch
        writers.prepared(scratch, writer)
        work = writers.renewed(scratch)
        self.before = writers.look(work)
        code = self._again(work)
        assert code == 0, f"{writer.name}: {code}: {writers.said(work)}"
        self.after = writers.look(work)
        self._again(work)
        self.twice = writers.look(work)
        writers.warm(writers.renewed(scratch), writer.run)

    def _again(self, work: Path) -> int:
        return writers.in_child(work, self.writer.run)

    def traced(self, trial: Trial | None) -> Outcome:
        """The command under strace, with a fault or without."""
        work = writers.renewed(self.scratch)

        def run() -> bytes:
            code = self.writer.run(work)
            sys.stdout.flush()
            return str(code).encode()

        inject = trial.inject if trial else ()
        log = self.scratch / "trace"
        return tracing.traced(run, inject, log, lambda: writers.enter(work, self.writer.run))

    def run(
        self, run: Work, hard: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> Outcome:
        """The command, or what limits it, while something makes it hard."""
        work = writers.renewed(self.scratch)
        with hard():
            code = writers.in_child(work, run)
        return Outcome(str(code), "", code)

    def judged(self, outcome: Outcome, call: str) -> str:
        """What became of a trial; an AssertionError where a promise is broken."""
        work, said = self.scratch / "work", outcome.said
        err = writers.said(work)
        old, new = self.kept(writers.look(work))
        if said == "0":
            assert new or self.told(call, err), "acknowledged, and not there"
        elif said != "killed":
            self.refused(said, err, old=old)
        for wrong in (*tracing.retried(outcome.trace), *writers.whole(work)):
            raise AssertionError(wrong)
        code = self._again(work)
        assert code in (0, 1), f"does not work again: {code} {writers.said(work)}"
        self.kept(writers.look(work), again=True)
        if self.writer.then:
            writers.in_child(work, self.writer.then)
        litter = writers.litter(work)
        assert not litter, f"litter after the next run: {litter}"
        state = "old" if old else "new" if new else "between"
        return f"{state}, {'done' if said == '0' else 'killed' if said == 'killed' else 'said'}"

    def told(self, call: str, err: str) -> bool:
        """Whether what was acknowledged may be other than what was asked for."""
        hook = not self.writer.answers  # its answer is 0, always
        reading = {"read", "openat", "newfstatat", "close", "fstat", "lseek"}
        left = "clean" in self.writer.name and call in reading
        return hook or left or "could not be saved" in err

    def refused(self, said: str, err: str, *, old: bool) -> None:
        """A failure is one line, and the code is one that is documented."""
        assert said.isdigit(), f"no answer of ours: {said}"
        assert int(said) in self.writer.answers, f"exit {said}: {err}"
        assert "Traceback" not in err, err
        lines = err.splitlines() or [""]
        assert lines[-1].startswith(("leftoff: ", "Error: ")), f"stderr: {err!r}"
        if not old and not self.writer.partial:
            assert any(words in lines[-1] for words in UNSURE), f"done, but said: {lines[-1]}"

    def kept(self, left: dict[str, str], *, again: bool = False) -> tuple[bool, bool]:
        """Whether everything is old, and whether everything is new."""
        states = [self.after, self.twice] if again else [self.before, self.after]
        for name in {*left, *self.before, *self.after}:
            now = left.get(name)
            if again and name not in self.twice:  # a wish that was done, and is done again
                name = name.rpartition(" ")[0]
            if again and _LATER.search(name) and now == self.before.get(name):
                continue
            if not any(now == state.get(name) for state in states):
                was = [str(state.get(name))[:300] for state in states]
                shown = _difference(str(now), states[-1].get(name) or "")
                which = "again: " if again else ""
                raise AssertionError(f"{which}{name}: {shown} is none of {was}")
        return left == self.before, left == self.after


def _difference(one: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return f"…{one[max(0, at - 60) : at + 120]!r}"


# -- what disturbs -----------------------------------------------------------------------------


class Trouble(NamedTuple):
    """One trial: its name, the call that it strikes, and the command with it."""

    name: str
    call: str
    run: Callable[[], Outcome]


def calls(case: Case, what: str) -> Iterator[Trouble]:
    """A kill at system calls, or failures of them."""
    plain = case.traced(None)
    assert plain.said == "0", f"{case.writer.name}: {plain.said} {case.scratch}"
    found = (
        tracing.failures(plain.trace)
        if what == "faults"
        else tracing.kills(plain.trace, every=what == "all")
    )
    for trial in found:
        yield Trouble(str(trial), trial.call, partial(case.traced, trial))


class Limited(Command):
    """Work under a limit of the process."""

    def __init__(self, work: Work, what: int, most: int) -> None:
        super().__init__()
        self.work, self.what, self.most = work, what, most

    def ready(self, folder: Path) -> None:
        if isinstance(self.work, Command):
            self.work.ready(folder)

    def __call__(self, folder: Path) -> int:
        resource.setrlimit(self.what, (self.most, self.most))
        return self.work(folder)


LIMITS = (
    (resource.RLIMIT_FSIZE, "file size", (700, 1500, 5000)),
    (resource.RLIMIT_NOFILE, "descriptors", (5, 7, 9, 11, 16)),
)


def limits(case: Case) -> Iterator[Trouble]:
    for what, name, values in LIMITS:
        for most in values:
            work = Limited(case.writer.run, what, most)
            yield Trouble(f"{name} {most}", "read", partial(case.run, work))


def disks(case: Case, steps: int) -> Iterator[Trouble]:
    """Bytes, files, and a folder that cannot be written."""
    place = case.scratch

    @contextmanager
    def full(option: str, more: int) -> Iterator[None]:
        told = os.statvfs(place)
        used = (told.f_blocks - told.f_bfree) * told.f_frsize, told.f_files - told.f_ffree
        most = used[0] + more * PAGE if option == "size" else used[1] + more
        run("mount", "-o", f"remount,{option}={most}", str(place))
        yield
        back = "64m" if option == "size" else "100000"
        run("mount", "-o", f"remount,{option}={back}", str(place))

    hard = {
        f"{option}, {n} more": partial(full, option, n)
        for option in ("size", "nr_inodes")
        for n in range(steps)
    }
    hard["read only"] = partial(read_only, place / "work")
    for name, how in hard.items():
        yield Trouble(name, "read", partial(case.run, case.writer.run, how))


# -- the trials --------------------------------------------------------------------------------


def tried(what: str, chosen: list[Writer], every: int, steps: int) -> harness.Found:
    """All trials of these writers: their ends, and what was wrong."""
    counts, wrong = harness.nothing()
    for writer in chosen:
        began = time.monotonic()
        results: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as name, ExitStack() as held:
            place = Path(name) / "disk"
            place.mkdir()
            if what == "disks":
                held.enter_context(mounted(place, "-t", "tmpfs", "-o", "size=64m", "tmpfs"))
                said = Path(name) / "said"  # what is said is not to fill the disk
                said.mkdir()
                (place / "said").symlink_to(said)
            case = Case(writer, place)
            found = {"limits": partial(limits, case), "disks": partial(disks, case, steps)}
            for trouble in list(found.get(what, partial(calls, case, what))())[::every]:
                try:
                    results[case.judged(trouble.run(), trouble.call)] += 1
                except AssertionError as error:
                    results["WRONG"] += 1
                    wrong.append(f"{writer.name}: {trouble.name}: {error}")
        counts += results
        told = ", ".join(f"{n} {name}" for name, n in sorted(results.items()))
        harness.tell(f"{writer.name}: {time.monotonic() - began:.0f} s: {told}")
    return counts, wrong


def main() -> int:
    args = harness.options(
        __doc__, "what:kills|all|faults|limits|disks", only="", but="\1", every=1,
        steps=6, show=60,
    )  # fmt: skip
    chosen = [w for w in WRITERS if args.only in w.name and args.but not in w.name]
    if not chosen:
        return 1

    work = partial(tried, args.what, chosen, args.every, args.steps)
    try:
        return harness.tried(args.what, work, args.show)
    except Unable as error:
        print(f"skipped: {error}")
        return 77
