"""Runs the program in a process of its own, as people do."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from leftoff.cli import group

Call: TypeAlias = Callable[..., tuple[int, str, str]]
Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[bytes]"]
FORKED = Path(__file__).parents[1] / "strategies" / "forked.py"


@pytest.fixture(scope="session")
def loaded() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has loaded the program, and forks for each command (`forked.py`)."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, FORKED], stdin=pipe, stdout=pipe, bufsize=0) as one:
        yield one
        one.kill()


@pytest.fixture
def run(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, loaded: subprocess.Popen[bytes]
) -> Run:
    """`leftoff ARGS`, with bytes for stdin; home and state are scratch folders."""
    streams = tmp_path_factory.mktemp("streams")

    def runner(
        *args: str, stdin: bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("LEFTOFF_", "NO_C"))}
        environment = {**kept, "HOME": str(tmp_path), "PYTHONWARNINGS": "error", **env}
        words = [sys.executable, "-m", "leftoff", *args]
        if any(name.startswith(("PYTHON", "LANG", "LC_")) for name in env):  # as Python starts
            return subprocess.run(
                words, input=stdin, capture_output=True, timeout=60, check=False,
                env=environment,
            )  # fmt: skip
        assert loaded.stdin is not None
        assert loaded.stdout is not None
        files = {name: streams / name for name in ("in", "out", "err")}
        files["in"].write_bytes(stdin)
        request: dict[str, object] = {"args": args, "env": environment, "cwd": str(Path.cwd())}
        request |= {name: str(path) for name, path in files.items()}
        loaded.stdin.write(json.dumps(request).encode() + b"\n")
        if not select.select([loaded.stdout], [], [], 60)[0]:
            loaded.kill()
            raise subprocess.TimeoutExpired(words, 60)
        code = int(loaded.stdout.readline())
        out, err = (files[name].read_bytes() for name in ("out", "err"))
        return subprocess.CompletedProcess(words, code, out, err)

    return runner


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """`leftoff ARGS` in this process: exit code, stdout, stderr."""

    def caller(*args: str) -> tuple[int, str, str]:
        code = group.main(list(args))
        out, err = capsys.readouterr()
        return code, out, err

    return caller


@pytest.fixture
def session(root: Path) -> Path:
    """A recorded session of ours."""
    return root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
