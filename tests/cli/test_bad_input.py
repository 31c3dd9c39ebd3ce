"""Bad input: a documented exit code, one clear line on stderr, no traceback, the rest kept."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeAlias

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]


def test_unreadable_and_odd_files(run: Run, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert b"not a regular file" in run("summarize", str(fifo)).stderr
    if os.geteuid() != 0:
        closed = tmp_path / "closed.jsonl"
        closed.write_bytes(b'{"role":"user","text":"Rename the flag."}\n')
        closed.chmod(0)
        assert b"permission denied" in run("summarize", str(closed)).stderr


def test_a_closed_pipe_is_no_failure(run: Run, root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    script = (
        f"{sys.executable} -m leftoff show {path} --full | head -c 10; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, timeout=60)
    assert done.stdout.split(b"\n")[-2].endswith(b"0")
    assert done.stderr == b""
