"""`leftoff batch`: processes, kills, time limits, interrupts, streams and exit codes."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from leftoff.batch.jobs import BatchOptions, Chunk
from leftoff.batch.pool import InProcess, Pool
from leftoff.batch.run import Run as Batch

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture
def many(root: Path, tmp_path: Path) -> Path:
    """Forty sessions: one of ours, each time under other ids."""
    folder = tmp_path / "many"
    folder.mkdir()
    data = (root / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    for number in range(40):
        other = ID.sub(lambda m, n=number: m[0][:-4] + f"{n:04x}".encode(), data)  # type: ignore[misc]
        (folder / f"{number:02}.jsonl").write_bytes(other)
    return folder


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def here(folder: Path, out: Path) -> None:
    """The batch in this process."""
    doing = Batch([folder], BatchOptions(), InProcess(), ":memory:", {})
    doing.write([str(out)])
    doing.close()


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "leftoff", "batch", *map(str, args)]


def workers_of(pid: int) -> list[int]:
    """Processes that the children of a process started: the fork server's."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                told = (entry / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(told[1])
    children = {one for one, parent in parents.items() if parent == pid}
    return [one for one, parent in parents.items() if parent in children]


class Killer(threading.Thread):
    """Kills a worker of a process every so often, so many times."""

    def __init__(self, pid: int, times: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.pid, self.times, self.pause = pid, times, pause
        self.killed: set[int] = set()
        self.over = False

    def run(self) -> None:
        while not self.over and len(self.killed) < self.times:
            time.sleep(self.pause)
            for worker in workers_of(self.pid)[:1]:
                if worker not in self.killed:
                    try:
                        os.kill(worker, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    self.killed.add(worker)


def test_one_command_from_files_to_tables(run: Run, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    (tmp_path / "bad.jsonl").write_bytes(b"nothing\n")
    os.utime(tmp_path / "bad.jsonl", (1_790_000_000, 1_790_000_000))
    given = [root / "corpora" / "sessions" / "codex", tmp_path / "bad.jsonl"]
    done = run("batch", *map(str, given), "-o", str(out), "-w", "2")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    said = done.stderr.decode()
    assert "\x1b" not in said
    assert "2 sessions in 3 files: codex 2" in said
    assert "1 file not read: no_session 1" in said
    assert [row["status"] for row in rows(out)].count("ok") == 2
    before = out.read_bytes()

    alone = tmp_path / "here.jsonl"
    doing = Batch(given, BatchOptions(), InProcess(), ":memory:", {})
    doing.write([str(alone)])
    doing.close()
    assert alone.read_bytes() == before

    again = run("batch", *map(str, given), "-o", str(out), "--json", "--strict")
    assert again.returncode == 1
    report = json.loads(again.stdout)
    assert (report["known"], report["read"], again.stderr) == (3, 0, b"")
    assert run("batch", *map(str, given), "-o", str(out), "--quiet").stderr == b""


@linux
def test_a_killed_worker_costs_nothing(many: Path, tmp_path: Path) -> None:
    calm, stormy = tmp_path / "calm.jsonl", tmp_path / "stormy.jsonl"
    here(many, calm)
    engine = Pool(2)
    list(engine.run([Chunk(BatchOptions())]))  # the server is there, and not to be killed
    killer = Killer(os.getpid(), 5, 0.02)
    killer.start()
    doing = Batch([many], BatchOptions(), engine, ":memory:", {})
    doing.write([str(stormy)])
    doing.close()
    killer.over = True
    killer.join()
    assert killer.killed
    assert stormy.read_bytes() == calm.read_bytes()
    assert len(rows(stormy)) == 40


@linux
def test_a_session_whose_workers_always_die_is_a_row_and_is_tried_again_next_time(
    many: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few"
    few.mkdir()
    for name in ("00.jsonl", "01.jsonl"):
        (few / name).write_bytes((many / name).read_bytes() * 120)
        os.utime(few / name, (1_790_000_000, 1_790_000_000))
    engine, out, index = Pool(2), tmp_path / "out.jsonl", str(tmp_path / "index")
    list(engine.run([Chunk(BatchOptions())]))  # the server is there, and not to be killed
    killer = Killer(os.getpid(), 1 << 30, 0.0)
    killer.start()
    doing = Batch([few], BatchOptions(), engine, index, {})
    report = doing.write([str(out)])
    killer.over = True
    killer.join()
    doing.close()
    assert report.counts.failures == {"crashed": 2}
    assert [row["failure"] for row in rows(out)] == ["crashed", "crashed"]
    doing = Batch([few], BatchOptions(), Pool(2), index, {})
    after = doing.write([str(out)])
    doing.close()
    assert (after.known, after.done) == (0, 2)
    assert [row["status"] for row in rows(out)] == ["ok", "ok"]


def test_a_session_that_takes_too_long_is_a_row(many: Path, tmp_path: Path) -> None:
    data = (many / "00.jsonl").read_bytes()
    (many / "long.jsonl.gz").write_bytes(gzip.compress(data * 16, 1) * 1200)  # 1.2 GB
    out = tmp_path / "out.jsonl"
    doing = Batch(
        [many / "01.jsonl", many / "long.jsonl.gz"], BatchOptions(), Pool(1, 2.0), ":memory:",
        {},
    )  # fmt: skip
    doing.write([str(out)])
    doing.close()
    quick, slow = rows(out)
    assert quick["status"] == "ok"
    assert (slow["failure"], slow["reason"]) == ("timeout", "took more than 2 seconds")


@linux
def test_ctrl_c_leaves_whole_rows_and_the_next_run_goes_on(many: Path, tmp_path: Path) -> None:
    out, calm = tmp_path / "out.jsonl", tmp_path / "calm.jsonl"
    here(many, calm)
    process = subprocess.Popen(
        command(many, "-o", out, "-w", "1"), stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 30
    while not workers_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of them
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert b"interrupted" in said
    assert b"Traceback" not in said, said.decode()
    partly = rows(out)
    assert len(partly) < 40
    subprocess.run(command(many, "-o", out, "-q"), check=True)
    assert out.read_bytes() == calm.read_bytes()


def test_a_program_without_a_guard_is_told_so(many: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import leftoff.batch\n"
        f"print(len(list(leftoff.batch.summarize_all({str(many)!r}, workers=2))))\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, timeout=60, check=False
    )
    assert b"__main__" in done.stderr.splitlines()[-1]
    guarded = program.read_text().replace("print", "if __name__ == '__main__': print")
    program.write_text(guarded)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"40\n"
