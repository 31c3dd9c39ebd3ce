"""`leftoff batch` on a terminal: a bar while it works, nothing of it afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="a terminal as Unix has it")


def on_a_terminal(*args: str, cwd: Path) -> tuple[int, bytes, bytes]:
    """Exit code, stdout, and what the terminal of stderr was sent."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "leftoff", "batch", *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=cwd,
        env={**os.environ, "HOME": str(cwd), "TERM": "xterm", "COLUMNS": "100"},
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:
            pass  # the other end was closed
        os.close(ours)
        assert process.stdout is not None
        return process.wait(60), process.stdout.read(), shown


def test_a_terminal_shows_how_far_it_is(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("prorate", "outbox"):
        data = (root / f"corpora/sessions/claude_code/{name}.jsonl").read_bytes()
        (folder / f"{name}.jsonl").write_bytes(data)
    (folder / "broken.jsonl").write_bytes(b"no recording\n")
    out = tmp_path / "rows.jsonl"
    code, data, shown = on_a_terminal(
        str(folder), "-o", str(out), "--workers", "1", cwd=tmp_path
    )
    assert (code, data) == (0, b"")
    assert b"3 of 3" in shown
    assert b"1 failure" in shown
    assert shown.rindex(b"2 sessions in 3 files") > shown.rindex(b"3 of 3")
    assert len(out.read_bytes().splitlines()) == 3
