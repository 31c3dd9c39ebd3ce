"""Kills every command that writes at each of its system calls, and fails each of them.

    python -m tests.reliability.kill_commands kills  [--only NAME] [--every 1] [--all]
    python -m tests.reliability.kill_commands faults [--only NAME] [--every 1]

`kills`: the command is killed (kill -9) on entering each system call that changes something,
    which leaves everything that a kill can leave; with --all on entering every call.
`faults`: each call fails with everything that it can fail with (ENOSPC, EDQUOT, EIO, EMFILE,
    EROFS, EACCES, ENOLCK); fsync also from then on for ever.

What there is to write is in `writers.py`. After each: every document and file is the old or
the new one, whole; what was acknowledged (exit 0) is there; a failure is one line on stderr and
a documented exit code, never a traceback; a failed fsync is not tried again on the same file;
and the same command run again works, gives what it gives, and leaves no litter. Needs strace
and the right to trace. Linux only. Not part of the test suite: it is long;
tests/contracts/test_faults.py runs a small part.
"""

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.reliability import harness, tracing, writers
from tests.reliability.tracing import Trial
from tests.reliability.writers import Writer

UNSURE = ("not certain to stay", "may be back", "stdout: cannot be written", "perhaps")
"""What an error says where something was done all the same."""


class Tried:
    """A writer, its folder, and what it makes of it."""

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

    def traced(self, trial: Trial | None) -> tracing.Outcome:
        """The command, with a fault or without."""
        work = writers.renewed(self.scratch)

        def run() -> bytes:
            code = self.writer.run(work)
            sys.stdout.flush()
            return str(code).encode()

        inject = trial.inject if trial else ()
        log = self.scratch / "trace"
        return tracing.traced(run, inject, log, lambda: writers.enter(work, self.writer.run))

    def judged(self, trial: Trial) -> str:
        """What became of a trial; an AssertionError where a promise is broken."""
        outcome = self.traced(trial)
        work = self.scratch / "work"
        err = writers.said(work)
        left = writers.look(work)
        old, new = self.kept(left)
        said = outcome.said
        if said == "0":
            assert new or self.told(trial, err), "acknowledged, and not there"
        elif said != "killed":
            self.refused(said, err, old=old)
        for wrong in tracing.retried(outcome.trace):
            raise AssertionError(wrong)
        for wrong in writers.whole(work):
            raise AssertionError(wrong)
        code = self._again(work)
        assert code in (0, *self._no), f"does not work again: {code} {writers.said(work)}"
        self.kept(writers.look(work), again=True)
        if self.writer.then:
            writers.in_child(work, self.writer.then)
        litter = writers.litter(work)
        assert not litter, f"litter after the next run: {litter}"
        state = "old" if old else "new" if new else "between"
        ends = {"0": "done", "killed": "killed"}
        return f"{state}, {ends.get(said, 'said')}"

    def told(self, trial: Trial, err: str) -> bool:
        """Whether what was acknowledged may be other than what was asked for."""
        hook = not self.writer.answers  # its answer is 0, always
        reading = {"read", "openat", "newfstatat", "close", "fstat", "lseek"}
        left = "clean" in self.writer.name and trial.call in reading
        return hook or left or "could not be saved" in err

    _no = (1,)

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
            if not any(now == state.get(name) for state in states):
                was = [str(state.get(name))[:300] for state in states]
                shown = _difference(str(now), states[-1].get(name) or "")
                which = "again: " if again else ""
                raise AssertionError(f"{which}{name}: {shown} is none of {was}")
        return left == self.before, left == self.after


def _difference(one: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return f"…{one[max(0, at - 60) : at + 120]!r}"


def tried(
    what: str, only: str, but: str, every: int, tell: Callable[[str], None]
) -> tuple[Counter[str], list[str]]:
    """All trials of the writers whose name has `only` in it: their ends, and what was wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    for writer in writers.WRITERS:
        if only not in writer.name or but in writer.name:
            continue
        began = time.monotonic()
        results: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            case = Tried(writer, Path(folder))
            plain = case.traced(None)
            assert plain.said == "0", f"{writer.name}: {plain.said} {case.scratch}"
            if what == "faults":
                found = tracing.failures(plain.trace)
            else:
                found = tracing.kills(plain.trace, every=what == "all")
            for trial in found[::every]:
                try:
                    results[case.judged(trial)] += 1
                except AssertionError as error:
                    results["WRONG"] += 1
                    wrong.append(f"{writer.name}: {trial}: {error}")
        counts += results
        told = ", ".join(f"{n} {name}" for name, n in sorted(results.items()))
        tell(f"{writer.name}: {time.monotonic() - began:.0f} s: {told}")
    return counts, wrong


def main() -> int:
    args = harness.options(
        __doc__, "what:kills|faults", only="", but="\1", all=False, every=1, show=20
    )
    what = "all" if args.all else args.what
    counts: Counter[str] = Counter()

    def work() -> harness.Found:
        nonlocal counts
        counts, wrong = tried(what, args.only, args.but, args.every, harness.tell)
        return counts, wrong

    return harness.tried(args.what, work, args.show) or not counts


if __name__ == "__main__":
    sys.exit(main())
