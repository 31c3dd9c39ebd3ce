"""`leftoff log`: making, showing, listing and cleaning up resume logs."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[bytes]"]

ID = "b0b81e65-570d-4942-ad6e-0c3cf7b0e511"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_create_show_list_stats_clean(run: Run, session: Path, tmp_path: Path) -> None:
    made = run("log", "create", str(session))
    where = f".leftoff/resume-logs/session-{ID}.md"
    assert (made.returncode, made.stdout.decode()) == (0, where + "\n")
    page = (tmp_path / where).read_text()
    assert page.startswith(f"# Session Resume Log: {ID}\n")
    assert run("log", "show").stdout.decode() == page
    assert run("log", "show", "b0b8").stdout.decode() == page
    value = json.loads(run("log", "show", ID, "--json").stdout)
    assert value["session_id"] == ID
    assert value["metadata"]["trigger"] == "manual"
    assert ID in run("log", "list").stdout.decode()
    assert json.loads(run("log", "list", "--json").stdout)[0]["session_id"] == ID
    assert json.loads(run("log", "stats", "--json").stdout)["count"] == 1
    assert b"1 log" in run("log", "stats").stdout
    assert b"session-" in run("log", "clean", "--keep", "0", "--dry-run").stdout
    assert (tmp_path / where).exists()
    run("log", "clean", "--keep", "0")
    assert not (tmp_path / where).exists()
    assert run("log", "list").stdout == b""


def test_to_stdout_nothing_is_kept(run: Run, session: Path, tmp_path: Path) -> None:
    done = run("log", "create", str(session), "--stdout", "--budget", "600")
    assert done.stdout.startswith(b"# Session Resume Log: ")
    assert not (tmp_path / ".leftoff").exists()
    form = run("summarize", str(session), "-f", "log", "--budget", "600")
    assert form.stdout == done.stdout
