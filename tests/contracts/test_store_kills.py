"""A writer that is killed, or whose calls fail, leaves the old document or the new one: a small
part of what `tests/reliability/kill_saves.py` does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="traces processes as Linux does"
)


def run(root: Path, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.kill_saves", *args],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if "strace cannot attach" in done.stderr:
        pytest.skip("strace may not trace processes here")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(
    "args",
    [
        ("calls", "--every", "5"),
        ("faults", "--every", "17"),
        ("calls", "--store", "sqlite", "--every", "7"),
    ],
    ids=" ".join,
)
def test_at_system_calls(root: Path, args: tuple[str, ...]) -> None:
    said = run(root, *args)
    assert " old, " in said, "no save was stopped in time"
    assert " new, " in said, "no save was stopped late"


@pytest.mark.parametrize("store", ["files", "packed", "sqlite"])
def test_at_random_times(root: Path, store: str) -> None:
    said = run(root, "random", "--store", store, "--kills", "12")
    assert "12 kills" in said
