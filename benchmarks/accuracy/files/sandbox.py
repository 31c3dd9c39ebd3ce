"""Runs one command in a scratch copy of a tree and says what it did to the files.

The command runs as an unprivileged user, in network and process namespaces of its own, without
the right to gain privileges. Files are compared before and after by hash; reads are taken from
the system calls. Git's own reads (its index needs them or not, by file times) do not count.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.accuracy.files.fixtures import Tree

NOBODY = 65534
LIMIT = 20


@dataclass(frozen=True)
class Ran:
    """One run: how it came back, and the truth."""

    cwd: str
    exit_code: int
    output: str
    events: dict[str, str]


class Unavailable(Exception):
    """The machine cannot run commands as asked."""


def check() -> None:
    """Raise `Unavailable` where the sandbox cannot be had."""
    missing = [
        name
        for name in ("unshare", "setpriv", "strace", "bash", "git")
        if not shutil.which(name)
    ]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    if os.geteuid() != 0:
        raise Unavailable("needs root, to become an unprivileged user in namespaces of its own")
    probe = subprocess.run([*_PREFIX, "true"], capture_output=True, check=False)
    if probe.returncode:
        raise Unavailable(f"no namespaces: {probe.stderr.decode(errors='replace').strip()}")


_PREFIX = [
    "unshare", "--net", "--pid", "--fork", "--kill-child", "setpriv", f"--reuid={NOBODY}",
    f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
]  # fmt: skip
_CALLS = "openat,open,creat,execve,clone,clone3,fork,vfork"


def build(tree: Tree, root: Path) -> None:
    """Write the tree below `root`, with its git history."""
    for name in sorted(tree.files):
        if name in tree.dirty or name in tree.untracked:
            continue
        _write(root / name, tree.files[name])
    for name in tree.dirty:
        _write(root / name, b"committed before\n")
    for name in tree.empty:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in tree.executables:
        (root / name).chmod(0o755)
    if tree.git:
        setting = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["init", "-q"], ["add", "-A"], [*setting, "commit", "-qm", "first"]):
            subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    for name in [*tree.dirty, *tree.untracked]:
        _write(root / name, tree.files[name])


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def snapshot(root: Path) -> dict[str, str]:
    """Hash, or link target, of every file below `root` but those of git itself."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        for name in [*names, *folders]:
            path = Path(folder, name)
            key = str(path.relative_to(root))
            if path.is_symlink():
                found[key] = "link:" + str(path.readlink())
            elif path.is_file():
                found[key] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


class Sandbox:
    """A scratch directory for runs; use it as a context manager."""

    def __enter__(self) -> Self:
        self._base = Path(tempfile.mkdtemp(prefix="files-", dir="/tmp"))
        self._base.chmod(0o755)
        self._masters: dict[int, Path] = {}
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._base, ignore_errors=True)

    def run(self, tree: Tree, command: str) -> Ran:
        """Run the command in a fresh copy of the tree."""
        root = self.fresh(tree)
        return self.step(root, command)

    def fresh(self, tree: Tree) -> Path:
        """A fresh copy of the tree, owned by the unprivileged user."""
        master = self._masters.get(id(tree))
        if master is None:
            master = self._base / f"master{len(self._masters)}"
            master.mkdir()
            build(tree, master)
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(master)], check=True)
            self._masters[id(tree)] = master
        root = self._base / "project"
        home = self._base / "home"
        for path in (root, home):
            shutil.rmtree(path, ignore_errors=True)
        subprocess.run(["cp", "-a", str(master), str(root)], check=True)
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        return root

    def step(self, root: Path, command: str) -> Ran:
        """Run the command in `root` as it is."""
        before = snapshot(root)
        trace = self._base / "home" / "calls.trace"
        if trace.exists():
            trace.unlink()
        words = [
            *_PREFIX, "strace", "-f", "-qq", "-y", "-s", "4096", "-e", "signal=none",
            "-e", f"trace={_CALLS}", "-o", str(trace), "bash", "-c", command,
        ]  # fmt: skip
        environment = {
            "PATH": "/usr/bin:/bin", "HOME": str(self._base / "home"), "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", "TERM": "dumb", "GIT_PAGER": "cat",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
            "TMPDIR": str(self._base / "home"),
        }  # fmt: skip
        try:
            done = subprocess.run(
                words, cwd=root, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, check=False,
            )  # fmt: skip
            code, output = done.returncode, done.stdout.decode("utf-8", "replace")
        except subprocess.TimeoutExpired as late:
            code, output = 124, (late.stdout or b"").decode("utf-8", "replace")
        after = snapshot(root)
        events: dict[str, str] = {}
        reads = _reads(trace, str(root))
        for name in sorted(before.keys() | after.keys()):
            if name not in after:
                events[name] = "deleted"
            elif name not in before:
                events[name] = "created"
            elif before[name] != after[name]:
                events[name] = "modified"
            elif name in reads:
                events[name] = "read"
        return Ran(str(root), code, output, events)


def _reads(trace: Path, root: str) -> set[str]:
    """Files below `root` that a program other than git opened for reading."""
    if not trace.exists():
        return set()
    found: set[str] = set()
    program: dict[str, str] = {}
    start = root + "/"
    for line in trace.read_text(errors="replace").splitlines():
        pid, _, call = line.partition(" ")
        call = call.strip()
        name, _, rest = call.partition("(")
        if name == "execve" and rest.endswith("= 0"):
            program[pid] = rest.split('"')[1].rpartition("/")[2]
        elif name in ("clone", "clone3", "fork", "vfork") or "resumed" in call:
            result = call.rpartition("= ")[2].split(" ")[0]
            if result.isdigit() and int(result) > 0 and "openat" not in call:
                program.setdefault(result, program.get(pid, ""))
        if (
            "O_WRONLY" in call
            or "O_DIRECTORY" in call
            or "O_TRUNC" in call
            or "O_CREAT" in call
        ):
            continue
        if name in ("openat", "open") or "openat resumed" in call:
            path = call.rpartition("<")[2].removesuffix(">")
            if path.startswith(start) and "= -1" not in call and program.get(pid) != "git":
                relative = path[len(start) :]
                if not relative.startswith(".git/"):
                    found.add(relative)
    return found
