"""`leftoff follow` as people run it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, Any, TypeAlias

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]

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
