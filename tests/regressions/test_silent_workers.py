"""A worker of the hooks that fails says so in the hooks' log.

Its streams lead nowhere, as no client waits for it. One that failed while it was imported (a package
that is half upgraded, say) or outside of a wish left no trace: the hooks went on, and nothing was ever
summarised.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.hooks import answer, entry, queue, worker

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are waited for."""
    started = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started(*a, **k).wait(30))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    queue.make_folder(tmp_path / ".leftoff", tmp_path / ".leftoff/state/s1")
    return tmp_path / ".leftoff"


def log(home: Path) -> str:
    return queue.read_text(home / "state/hooks.log")


def test_a_worker_that_cannot_be_imported(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "re2.py").write_text("raise ImportError('half upgraded')")
    monkeypatch.setenv("PYTHONPATH", str(broken))
    answer.start_worker(home, home / "state/s1")
    assert log(home).rstrip().endswith("worker: s1 failed: ImportError")


def test_why_is_told_without_secrets(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "leftoff.hooks.worker", None)
        with pytest.raises(ImportError):
            entry.main(home, "s1")
    assert "worker: s1 failed: ModuleNotFoundError: import of leftoff" in log(home)

    def fails(*_: object) -> None:
        raise RuntimeError(f"no {SECRET}")

    monkeypatch.setattr(worker, "process_jobs", fails)
    with pytest.raises(RuntimeError):
        entry.main(home, "s1")
    assert "worker: s1 failed: RuntimeError: no [REDACTED:" in log(home)
    assert SECRET not in log(home)


def test_a_worker_that_is_started_works(home: Path) -> None:
    queue.enqueue(home / "state/s1", "start", {"project": str(home.parent)})
    answer.start_worker(home, home / "state/s1")
    assert queue.pending_jobs(home / "state/s1") == []
    assert json.loads((home / "state/s1/watch.json").read_bytes())["preset"]
    assert "no transcript yet" in log(home)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_worker_does_not_wait_for_a_pipe(home: Path, tmp_path: Path) -> None:
    """One stood where the kept pass would be: the worker waited for ever, and held the lock."""
    path = tmp_path / "session.jsonl"
    path.write_text(
        '{"leftoff": "session/1", "id": "s1"}\n{"role": "user", "text": "Sort it."}\n'
    )
    for name in ("pass.head", "watch.json", "taken.stop"):
        os.mkfifo(home / "state/s1" / name)
    wish = {"project": str(tmp_path), "transcript": str(path)}
    queue.enqueue(home / "state/s1", "stop", wish)
    answer.start_worker(home, home / "state/s1")
    assert "summarised" in log(home), log(home)
    assert queue.pending_jobs(home / "state/s1") == []
