"""The engine for clusters, with the real Ray on this machine."""

import gzip
import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff.batch.jobs import BatchOptions
from leftoff.batch.pool import InProcess
from leftoff.batch.run import Run
from leftoff.batch.summarize_many import summarize_all

if not os.environ.get("LEFTOFF_RAY"):
    pytest.skip("needs Ray and a minute: set LEFTOFF_RAY=1", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")
ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from leftoff.batch.ray import Cluster

    engine = Cluster(workers=2, limit=6.0)
    yield engine
    engine.close()


def rows(paths: list[Path], engine: Any, out: Path) -> bytes:
    doing = Run(paths, BatchOptions(), engine, ":memory:", {})
    doing.write([str(out)])
    doing.close()
    return out.read_bytes()


def test_ray_tells_what_one_process_tells(cluster: Any, root: Path, tmp_path: Path) -> None:
    place = tmp_path / "in"
    shutil.copytree(root / "corpora" / "sessions", place)
    (place / "bad.jsonl").write_bytes(b"nothing\n")
    assert rows([place], cluster, tmp_path / "a.jsonl") == rows(
        [place], InProcess(), tmp_path / "b.jsonl"
    )
    found = list(summarize_all(place / "codex", engine=cluster))
    assert [one.ok for one in found] == [True, True]


def test_a_lost_worker_costs_nothing_and_a_slow_session_one_row(
    cluster: Any, root: Path, tmp_path: Path
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    data = (root / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    for number in range(30):
        other = ID.sub(lambda m, n=number: m[0][:-4] + f"{n:04x}".encode(), data)  # type: ignore[misc]
        (place / f"{number:02}.jsonl").write_bytes(other * 10)
    over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not over.wait(0.3) and len(killed) < 3:
            for entry in Path("/proc").iterdir():
                try:
                    name = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                except OSError:
                    continue
                if name.startswith(b"ray::work_within") and _ours(int(entry.name)):
                    os.kill(int(entry.name), signal.SIGKILL)
                    killed.append(int(entry.name))
                    break

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    told = rows([place], cluster, tmp_path / "a.jsonl")
    over.set()
    killer.join()
    assert told == rows([place], InProcess(), tmp_path / "b.jsonl")

    (place / "long.jsonl.gz").write_bytes(gzip.compress(data * 16, 1) * 6000)  # 6 GB
    doing = Run(
        [place / "00.jsonl", place / "long.jsonl.gz"], BatchOptions(), cluster, ":memory:", {}
    )
    report = doing.write([str(tmp_path / "c.jsonl")])
    doing.close()
    assert report.counts.failures == {"timeout": 1}
    assert report.sessions == 1


def _ours(pid: int) -> bool:
    """Whether a process descends from this one."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            told = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
        except OSError:
            return False
        pid = int(told.rpartition(")")[2].split()[1])
    return False
