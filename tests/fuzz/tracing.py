"""A child whose system calls are counted, killed or failed, one by one, by strace.

The child is forked from a process in which everything is loaded, so that what is counted is
what the work itself calls. Needs strace and the right to trace. Linux only.
"""

import os
import re
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# Not the work's: how the harness talks to its child, and memory.
IGNORED = frozenset(
    "brk mmap munmap madvise mprotect exit_group rt_sigaction rt_sigreturn futex "
    "restart_syscall".split()
)

# What each call really fails with, as far as a full, broken, foreign or busy disk can make it.
_FAILURES = {
    "write pwrite64 fsync fdatasync": "ENOSPC EDQUOT EIO",
    "ftruncate": "ENOSPC EIO",
    "openat": "EMFILE EROFS EACCES ENOSPC EIO",
    "mkdir mkdirat rename renameat renameat2": "EROFS EACCES EIO ENOSPC EDQUOT",
    "link linkat": "EROFS EACCES EIO ENOSPC EPERM",
    "unlink unlinkat rmdir": "EROFS EACCES EIO",
    "chmod fchmod": "EROFS EPERM EIO",
    "flock": "ENOLCK EIO",
    "fcntl": "ENOLCK",
    "socket pipe2": "EMFILE",
    "getpid gettid getuid geteuid getrandom getcwd dup2": "",
    "clone clone3 vfork wait4 exit sched_yield": "",
}
FAILURES = {
    name: tuple(errors.split()) for names, errors in _FAILURES.items() for name in names.split()
}
OTHERS = ("EIO",)
"""What a call fails with that is not listed."""


class Outcome(NamedTuple):
    """What became of a child.

    Attributes:
        said: what it said, "killed" if nothing.
        code: its exit code, negative for a signal.
    """

    said: str
    trace: str
    code: int


def traced(
    work: Callable[[], bytes],
    inject: Iterable[str],
    log: Path,
    enter: Callable[[], None] = lambda: None,
) -> Outcome:
    """Does work in a child of its own, with strace attached to it before it begins.

    Args:
        work: gives what there is to say of it.
        enter: what the child does before that, untraced.
        inject: faults as strace spells them: `fsync:error=EIO:when=1`.
        log: where the trace goes.
    """
    go_read, go_write = os.pipe()
    said_read, said_write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(go_write)
            os.close(said_read)
            enter()
            os.read(go_read, 1)
            try:
                answer = work()
                code = 0
            except BaseException as error:  # noqa: BLE001 - told to the parent
                answer = f"{type(error).__name__}: {error}".encode()
            os.write(said_write, answer)
        finally:
            os._exit(code)
    os.close(go_read)
    os.close(said_write)
    command = ["strace", "-qqq", "-p", str(child), "-o", str(log)]
    for fault in inject:
        command += ["-e", f"inject={fault}"]
    strace = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        _await_tracer(child, strace)
        with suppress(BrokenPipeError):  # killed already
            os.write(go_write, b"g")
        ready, _, _ = select.select([said_read], [], [], 60)
        assert ready, "the work hangs"
        said = b"".join(iter(lambda: os.read(said_read, 65536), b"")).decode()
        _, status = os.waitpid(child, 0)
        strace.wait(20)
    finally:
        os.close(go_write)
        os.close(said_read)
        if strace.poll() is None:
            strace.kill()
            strace.wait()
        if strace.stderr:
            strace.stderr.close()
    code = os.waitstatus_to_exitcode(status)
    return Outcome(said or "killed", log.read_text(errors="replace"), code)


def _await_tracer(child: int, strace: subprocess.Popen[bytes]) -> None:
    """Waits until the child is traced: it must not begin before."""
    status = Path(f"/proc/{child}/status")
    for _ in range(20000):
        told = status.read_text()
        if "Z (zombie)" in told:  # the call that it waits in was the one
            return
        if strace.poll() is not None:
            words = strace.stderr.read().decode() if strace.stderr else ""
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise PermissionError(f"strace cannot attach: {words.strip()}")
        found = re.search(r"TracerPid:\t(\d+)", told)
        # Attached and waiting in read(2) again: strace has restarted it.
        if found and int(found[1]) == strace.pid and "S (sleeping)" in told:
            return
        time.sleep(0.001)
    raise TimeoutError("strace does not attach")


class Trial(NamedTuple):
    """One call, by its name and number, and what it fails with: "" for a kill, `+` at the end
    for this call and all of its name that follow."""

    call: str
    nth: int
    error: str = ""

    @property
    def inject(self) -> list[str]:
        """As strace spells it."""
        name = self.error.rstrip("+")
        what = f"error={name}" if name else "signal=SIGKILL"
        on = "+" if self.error.endswith("+") else ""
        return [f"{self.call}:{what}:when={self.nth}{on}"]


CHANGING = frozenset(
    "write pwrite64 writev rename renameat renameat2 link linkat symlink unlink unlinkat mkdir "
    "mkdirat rmdir ftruncate fallocate fsync fdatasync chmod fchmod utimensat flock".split()
)
"""Calls that change something on the disk or for other processes; so does an `openat` that
makes or empties a file."""


def made(trace: str) -> list[tuple[str, int, bool]]:
    """The calls of a trace in their order: name, number, and whether it changes something."""
    counts: Counter[str] = Counter()
    found = []
    for name, rest in re.findall(r"^(?:\d+\s+)?(\w+)\((.*)", trace, re.MULTILINE):
        if name in IGNORED:
            continue
        counts[name] += 1
        makes = name == "openat" and ("O_CREAT" in rest or "O_TRUNC" in rest)
        unlocks = name == "flock" and "LOCK_UN" in rest  # as the end of the process does
        found.append((name, counts[name], makes or (name in CHANGING and not unlocks)))
    return found


def kills(trace: str, *, every: bool = False) -> list[Trial]:
    """A kill at each call that changes something, which leaves all that can be left; or at
    every call."""
    return [Trial(name, nth) for name, nth, changes in made(trace) if every or changes]


def failures(trace: str) -> list[Trial]:
    """Each call with everything that it can fail with."""
    found = []
    for name, nth, changes in made(trace):
        if name == "flock" and not changes:  # unlocking does not fail
            continue
        errors = FAILURES.get(name, OTHERS)
        if name == "openat" and not changes:
            errors = ("EMFILE", "EACCES", "EIO")
        if name in {"fsync", "fdatasync"}:
            errors = (*errors, "EIO+")
        found += [Trial(name, nth, error) for error in errors]
    return found


_DONE = re.compile(r"^(?:\d+\s+)?(fsync|close)\((\d+)\)\s+=\s+(-?\d+)", re.MULTILINE)


def retried(trace: str) -> list[str]:
    """Files that were brought to the disk again after that had failed: the system may have
    forgotten by then what it could not write.

    Calls of fdatasync are SQLite's, and right: it undoes the write that failed, with pages from
    a journal that it had brought to the disk before or by cutting the file off where it ended,
    and brings that to the disk, which are other bytes."""
    failed: set[str] = set()
    wrong = []
    for name, number, result in _DONE.findall(trace):
        if name == "close":
            failed.discard(number)
        elif number in failed:
            wrong.append(f"{name}({number}) was tried again")
        elif result.startswith("-"):
            failed.add(number)
    return wrong
