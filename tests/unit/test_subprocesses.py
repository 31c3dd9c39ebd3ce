"""Other programs end when their time is over, with all that they started."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from leftoff import subprocesses


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Ended, and only waiting to be noticed by whoever it belongs to now.
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def _gone(pid: int) -> bool:
    end = time.monotonic() + 5
    while _alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not _alive(pid)


def test_input_output_and_code() -> None:
    code = "import sys; d = sys.stdin.read(); print(d.upper()); print('e', file=sys.stderr); exit(3)"
    done = subprocesses.run([sys.executable, "-c", code], b"hello", limit=20)
    assert (done.code, done.stdout, done.stderr, done.stopped) == (3, b"HELLO\n", b"e\n", "")
    assert done.seconds > 0


def test_much_on_every_stream_blocks_nothing() -> None:
    code = "import sys; sys.stderr.write('e' * 1_000_000); sys.stdout.write(sys.stdin.read()[::-1])"
    given = b"ab" * 500_000
    done = subprocesses.run([sys.executable, "-c", code], given, limit=20)
    assert done.stdout == given[::-1]
    assert len(done.stderr) == 1_000_000


def test_input_that_nobody_reads_is_no_error() -> None:
    done = subprocesses.run([sys.executable, "-c", "print(1)"], b"x" * 3_000_000, limit=20)
    assert (done.code, done.stdout) == (0, b"1\n")


@pytest.mark.skipif(os.name != "posix", reason="groups of processes")
def test_time_out_ends_the_program_and_what_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    # The child of the program ignores the polite signal.
    inner = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    code = (
        "import pathlib, subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-c', {inner!r}])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(p.pid))\n"
        "time.sleep(60)"
    )
    for limit in (1, 30):  # on a busy machine an interpreter takes more than a second to start
        done = subprocesses.run([sys.executable, "-c", code], b"", limit=limit)
        if note.exists():
            break
    assert done.stopped == "time_out"
    assert done.code < 0
    assert _gone(int(note.read_text()))


def test_too_much_output_ends_the_program() -> None:
    code = "import sys\nwhile True: sys.stdout.write('x' * 10_000)"
    done = subprocesses.run([sys.executable, "-c", code], b"", limit=30, most=50_000)
    assert done.stopped == "output" or done.code != 0
    assert len(done.stdout) == 50_000


@pytest.mark.skipif(os.name != "posix", reason="groups of processes")
def test_what_is_left_behind_holds_nobody_up(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import pathlib, subprocess\n"
        "p = subprocess.Popen(['sleep', '60'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(p.pid))\n"
        "print('done')"
    )
    done = subprocesses.run([sys.executable, "-c", code], b"", limit=30)
    assert (done.code, done.stdout, done.stopped) == (0, b"done\n", "")
    assert _gone(int(note.read_text()))


def test_whoever_asked_can_stop_it() -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    done = subprocesses.run(
        [sys.executable, "-c", "import time; time.sleep(60)"], b"", limit=30, stop=stop
    )
    assert done.stopped == "asked"


def test_no_shell_reads_the_arguments() -> None:
    code = "import sys; print(sys.argv[1])"
    done = subprocesses.run([sys.executable, "-c", code, "$(id); `id` | x"], b"", limit=20)
    assert done.stdout == b"$(id); `id` | x\n"
