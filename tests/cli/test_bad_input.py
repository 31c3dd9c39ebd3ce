"""Bad input: a documented exit code, one clear line on stderr, no traceback, the rest kept."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]
HEAD = b'{"leftoff":"session/1","id":"s"}\n'
GOOD = b'{"role":"user","text":"Rename the flag."}\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty", b""),
        ("binary", bytes(range(256)) * 50),
        ("prose", b"Dear diary,\nnothing happened.\n"),
        ("no messages", HEAD),
        ("half a document", b'{"messages": [{"role": "user", "content": "x"'),
        ("damaged gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage"),
    ],
)
def test_refused_in_one_line(run: Run, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "input.jsonl"
    path.write_bytes(content)
    done = run("summarize", str(path))
    assert done.returncode == 2, name
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"leftoff: {path}: ")


def test_missing_unreadable_and_odd_files(run: Run, tmp_path: Path) -> None:
    missing = run("summarize", str(tmp_path / "none.jsonl"))
    assert missing.returncode == 2
    assert missing.stderr.decode().rstrip().endswith("none.jsonl: no such file")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert b"not a regular file" in run("summarize", str(fifo)).stderr
    assert run("summarize", str(tmp_path)).returncode == 2
    if os.geteuid() != 0:
        closed = tmp_path / "closed.jsonl"
        closed.write_bytes(GOOD)
        closed.chmod(0)
        assert b"permission denied" in run("summarize", str(closed)).stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"role":"user","text":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "too_deep"),
        (b'{"role":"user","text":"caf\xff"}\n', "invalid_utf8"),
        (b'{"role":"user","text":"a","skipped":"caf\xff"}\n', None),
        (b'{"role":"user","text":"\\ud800"}\n', "surrogate"),
        (b'{"role":"user","text":"a","window":NaN}\n', "not_a_number"),
        (b'{"role":"user","role":"assistant","text":"a"}\n', None),
        (b'{"role":"user","text":"a","window":' + b"9" * 5000 + b"}\n", None),
        ('{"role":"user","text":"a\u2028b"}\n'.encode(), None),
        (b'{"role":"user","text":"a"}{"role":"user","text":"b"}\n', "glued"),
        (b"\x00" * 5000 + b"\n", "nul"),
    ],
)
def test_the_good_lines_around_are_kept(run: Run, line: bytes, code: str | None) -> None:
    done = run("summarize", "-", "--json", stdin=HEAD + GOOD + line + GOOD)
    assert (done.returncode, done.stderr) == (0, b"")
    value = json.loads(done.stdout)
    assert value["user_requests"][0]["text"] == "Rename the flag."
    assert value["stats"]["user_message_count"] >= 2
    if code is not None:
        (issue,) = [i for i in value["issues"] if i["code"] == code]
        assert issue["places"] == ["line 3"]


def test_a_line_of_two_hundred_megabytes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.write(HEAD + GOOD + b'{"role":"user","text":"')
        for _ in range(200):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n' + GOOD)
    done = run("summarize", str(path), "--json")
    assert done.returncode == 0
    value = json.loads(done.stdout)
    assert value["stats"]["user_message_count"] == 2
    assert [(i["code"], i["places"]) for i in value["issues"]] == [
        ("line_too_long", ["line 3"])
    ]


def test_a_session_cut_at_any_byte(run: Run, root: Path) -> None:
    data = (root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl").read_bytes()
    first = data.index(b"\n")
    for cut in (0, 1, first // 2, len(data) // 3, len(data) - 1):
        done = run("summarize", "-", stdin=data[:cut])
        assert done.returncode == (0 if cut > first * 3 else 2)
        assert b"Traceback" not in done.stderr


def test_a_closed_pipe_is_no_failure(run: Run, root: Path) -> None:
    import subprocess
    import sys

    path = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    script = (
        f"{sys.executable} -m leftoff show {path} --full | head -c 10; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, timeout=60)
    assert done.stdout.split(b"\n")[-2].endswith(b"0")
    assert done.stderr == b""
