"""Commands that go on, or are interrupted."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from tests.cli.conftest import Run

from leftoff.cli.poll import ended_in_order, polls

# `leftoff ask`: the answer on stdout, talk on stderr, a conversation that goes on.


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_leftoff_ends_the_client(tmp_path: Path, number: int) -> None:
    note = tmp_path / "pid"
    program = tmp_path / "claude"
    program.write_text(
        f"#!/bin/sh\necho $$ > '{note}.new' && mv '{note}.new' '{note}'\nsleep 60\n"
    )
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "leftoff", "ask"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": path, "LEFTOFF_HOME": str(tmp_path / "kept")},
    )
    assert process.stdin
    process.stdin.write(b"Look.")
    process.stdin.close()
    process.stdin = None
    end = time.monotonic() + 20
    while not note.exists() and time.monotonic() < end:
        time.sleep(0.02)
    client = int(note.read_text())
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else 143), errors
    assert b"Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(client, 0)


# `leftoff follow` as people run it.


SESSIONS = Path(__file__).resolve().parents[2] / "corpora" / "sessions" / "claude_code"


@contextmanager
def following(*args: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """`leftoff follow` in a process of its own: what it prints and what it says."""
    command = [sys.executable, "-m", "leftoff", "follow", *args, "--interval", "0.05"]
    with subprocess.Popen(
        [*command, "--for", "30"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield process.stdout, process.stderr
        finally:
            process.kill()


def told(line: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(line)
    return value


def test_it_tells_what_is_new_and_what_is_gone(tmp_path: Path, run: Run) -> None:
    data = (SESSIONS / "prorate.jsonl").read_bytes()
    path, keep = tmp_path / "s.jsonl", str(tmp_path / "kept")
    path.write_bytes(data[:20_000])
    with following(str(path), "--json", "--keep", keep) as (out, said):
        first = told(out.readline())
        with path.open("ab") as file:
            file.write(data[20_000:])
        second = told(out.readline())
        path.write_bytes((SESSIONS / "outbox.jsonl").read_bytes())
        third = told(out.readline())
        assert b"the recording was removed" in said.readline()
    assert first["stats"]["message_count"] < second["stats"]["message_count"]
    assert first["session"]["id"] == second["session"]["id"] != third["session"]["id"]
    done = run("follow", str(path), "--json", "--keep", keep, "--for", "0")
    assert told(done.stdout) == third


# Commands that go on: for how long, how often they look, and how they are ended.
#
# `--interval inf` and `nan` ended in a traceback, `--for nan` never; `--for 1 --interval 60` took a minute.
# `follow` that was told to end, or whose terminal was closed, left its folder behind.


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
