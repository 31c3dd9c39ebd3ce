"""Recordings that grow, are rotated, and are read by followers that are killed: small parts of
what `tests/reliability/follow.py` and `prefixes.py` do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")


def run(root: Path, program: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.reliability.{program}", *args],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


KINDS = "rename,copytruncate,truncate,rewrite,recreate,replace"


@pytest.mark.parametrize(
    "args",
    [
        ("--format", "claude_code", "--kinds", KINDS),
        ("--format", "aider", "--kinds", "rename,copytruncate,recreate"),
    ],
    ids=lambda args: args[1],
)
def test_each_line_is_told_once(root: Path, args: tuple[str, ...]) -> None:
    said = run(root, "follow", "--lines", "150", "--each", "150", *args)
    assert ", 0 wrong" in said
    assert " kills" in said


def test_every_prefix_is_told_as_from_scratch(root: Path) -> None:
    said = run(root, "prefixes", str(root / "corpora" / "sessions"), "--cuts", "1")
    assert ", 0 wrong" in said
