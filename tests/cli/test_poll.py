"""Commands that go on: for how long, how often they look, and how they are ended.

`--interval inf` and `nan` ended in a traceback, `--for nan` never; `--for 1 --interval 60` took a minute.
`follow` that was told to end, or whose terminal was closed, left its folder behind.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.cli.poll import ended_in_order, polls


@pytest.fixture
def session(root: Path, tmp_path: Path) -> Path:
    source = root / "corpora/sessions/claude_code/prorate.jsonl"
    return Path(shutil.copy(source, tmp_path / "session.jsonl"))


def test_the_last_look_is_at_the_end() -> None:
    assert len(list(polls(60, 0))) == 1
    assert len(list(polls(60, 0.01))) == 2


@pytest.mark.skipif(os.name != "posix", reason="has signals of POSIX")
def test_what_is_told_to_end_clears_up(session: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "leftoff", "follow", str(session), "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline().startswith(b"{")
        assert list(scratch.iterdir())
        following.send_signal(signal.SIGHUP)
    assert following.returncode == 128 + signal.SIGHUP
    assert list(scratch.iterdir()) == []
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit), ended_in_order():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
