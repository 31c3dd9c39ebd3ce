"""Runs the program in a process of its own, as people do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`leftoff ARGS`, with bytes for stdin; home and state are scratch folders."""

    def runner(
        *args: str, stdin: bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("LEFTOFF_", "NO_C"))}
        return subprocess.run(
            [sys.executable, "-m", "leftoff", *args],
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
            env={**kept, "HOME": str(tmp_path), "PYTHONWARNINGS": "error", **env},
        )

    return runner


@pytest.fixture
def session(root: Path) -> Path:
    """A recorded session of ours."""
    return root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
