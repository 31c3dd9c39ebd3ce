"""Runs every command that writes on disks that are full, limited, or write in small pieces.

    python -m tests.reliability.full_disks [--only NAME] [--but NAME] [--steps 6]

For each writer of `writers.py`:

    bytes        a tmpfs of which so many pages are free, from none on
    inodes       a tmpfs that takes so many more files, from none on
    file size    RLIMIT_FSIZE, as `ulimit -f` sets it
    descriptors  RLIMIT_NOFILE, as `prlimit --nofile` sets it
    read only    the folder mounted over itself, read only
    short        every write(2) writes at most 9 bytes (a library of ours, LD_PRELOAD)

The old or the new whole is left, a failure is one line and a documented exit code, and once
there is room again the same command works. The mounts need root, the last a C compiler; what
cannot be had is skipped and said.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.reliability import harness, writers
from tests.reliability.harness import Unable, mounted, read_only, run
from tests.reliability.kill_commands import Tried
from tests.reliability.tracing import Trial
from tests.reliability.writers import WRITERS, Command, Work, Writer

from leftoff import codec

PAGE = 4096
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
static size_t less(int fd, size_t n) {
    struct stat s;
    return n > 9 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? 9 : n;
}
ssize_t write(int fd, const void *b, size_t n) {
    ssize_t (*f)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return f(fd, b, less(fd, n));
}
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) {
    ssize_t (*f)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return f(fd, b, less(fd, n), o);
}
"""


def used(at: Path) -> tuple[int, int]:
    """Bytes and files in a file system."""
    told = os.statvfs(at)
    return (told.f_blocks - told.f_bfree) * told.f_frsize, told.f_files - told.f_ffree


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


class Disk:
    """A writer whose folder is on a file system of its own."""

    def __init__(self, writer: Writer, scratch: Path) -> None:
        self.case = Tried(writer, scratch)
        self.scratch, self.writer = scratch, writer
        self.results: Counter[str] = Counter()
        self.wrong: list[str] = []

    def judge(self, what: str, begin: Callable[[], Work], end: Callable[[], None]) -> None:
        """One trial: `begin` makes it hard and gives the work, `end` makes it easy again."""
        work = writers.renewed(self.scratch)
        run = begin()
        code = writers.in_child(work, run)
        err = writers.said(work)
        end()
        try:
            self.results[f"{what}: {self._judged(work, code, err)}"] += 1
        except AssertionError as error:
            self.results[f"{what}: WRONG"] += 1
            self.wrong.append(f"{self.writer.name}, {what}: {error}")

    def _judged(self, work: Path, code: int, err: str) -> str:
        old, new = self.case.kept(writers.look(work))
        if code == 0:
            assert new or self.case.told(Trial("read", 1), err), "acknowledged, and not there"
        else:
            self.case.refused(str(code), err, old=old)
        again = writers.in_child(work, self.writer.run)
        assert again in (0, 1), f"does not work again: {again} {writers.said(work)}"
        self.case.kept(writers.look(work), again=True)
        if self.writer.then:
            writers.in_child(work, self.writer.then)
        left = writers.litter(work)
        assert not left, f"litter: {left}"
        return "done" if code == 0 else "said"

    def limits(self) -> None:
        """File sizes and descriptors."""
        for what, name, values in (
            (resource.RLIMIT_FSIZE, "file size", (700, 1500, 5000)),
            (resource.RLIMIT_NOFILE, "descriptors", (5, 7, 9, 11, 16)),
        ):
            for most in values:
                self.judge(
                    name,
                    lambda w=what, m=most: Limited(self.writer.run, w, m),  # type: ignore[misc]
                    lambda: None,
                )

    def mounts(self, steps: int) -> None:
        """Bytes, files, and a folder that cannot be written."""
        work = self.scratch / "work"

        def full(
            option: str, steps: int
        ) -> Iterator[tuple[Callable[[], Work], Callable[[], None]]]:
            for n in range(steps):

                def begin(n: int = n) -> Work:
                    size, files = used(self.scratch)
                    most = size + n * PAGE if option == "size" else files + n
                    run("mount", "-o", f"remount,{option}={most}", str(self.scratch))
                    return self.writer.run

                def end() -> None:
                    most = "64m" if option == "size" else "100000"
                    run("mount", "-o", f"remount,{option}={most}", str(self.scratch))

                yield begin, end

        for name, option in (("bytes", "size"), ("inodes", "nr_inodes")):
            for begin, end in full(option, steps):
                self.judge(name, begin, end)

        shut = ExitStack()

        def shut_it() -> Work:
            shut.enter_context(read_only(work))
            return self.writer.run

        self.judge("read only", shut_it, shut.close)


def short(only: str, but: str, folder: Path) -> tuple[int, list[str]]:
    """Every writer with and without short writes: the same must be left."""
    source, library = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    built = subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"],
        check=False,
        capture_output=True,
        text=True,
    )
    if built.returncode:
        raise Unable(f"no library can be built: {built.stderr.strip()[:200]}")
    found = []
    for preload in ("", str(library)):
        told = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--only", only, "--but", but, "--inner"],
            check=False,
            capture_output=True,
            env={**os.environ, "LD_PRELOAD": preload},
        )
        if told.returncode:
            return 0, [f"short: {told.stderr.decode()[-500:]}"]
        found.append(codec.parse(told.stdout))
    plain, pieces = found
    return len(plain), [
        f"{name}, short: another result" for name in plain if plain[name] != pieces[name]
    ]


def chosen(only: str, but: str) -> list[Writer]:
    return [w for w in WRITERS if only in w.name and but not in w.name]


def inner(only: str, but: str) -> dict[str, dict[str, str]]:
    """What every writer leaves."""
    found = {}
    for writer in chosen(only, but):
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            writers.prepared(place, writer)
            work = writers.renewed(place)
            code = writers.in_child(work, writer.run)
            left = writers.look(work)
            found[writer.name] = {
                "exit": str(code),
                **{k: v.replace(name, "/") for k, v in left.items()},
            }
    return found


def tried_all(only: str, but: str, steps: int) -> harness.Found:
    results: Counter[str] = Counter()
    wrong: list[str] = []
    for writer in chosen(only, but):
        with tempfile.TemporaryDirectory() as name:
            place, said = Path(name) / "disk", Path(name) / "said"
            said.mkdir()
            try:
                with mounted(place, "-t", "tmpfs", "-o", "size=64m", "tmpfs"):
                    (place / "said").symlink_to(said)  # what is said is not to fill the disk
                    disk = Disk(writer, place)
                    disk.limits()
                    disk.mounts(steps)
            except Unable as error:
                print(f"skipped, no mounts: {error}")
                shutil.rmtree(place, ignore_errors=True)
                disk = Disk(writer, place)
                disk.limits()
        results += disk.results
        wrong += disk.wrong
        harness.tell(f"{writer.name}: {disk.results.total()} trials")
    with tempfile.TemporaryDirectory() as name:
        try:
            count, more = short(only, but, Path(name))
            results["short: the same"] += count - len(more)
            wrong += more
        except Unable as error:
            print(f"skipped, short writes: {error}")
    return results, wrong


def main() -> int:
    args = harness.options(__doc__, only="", but="\1", steps=6, inner=False)
    if args.inner:
        sys.stdout.buffer.write(codec.dumps(inner(args.only, args.but)))
        return 0
    return harness.tried(
        "full disks", lambda: tried_all(args.only, args.but, args.steps), show=60
    )


if __name__ == "__main__":
    sys.exit(main())
