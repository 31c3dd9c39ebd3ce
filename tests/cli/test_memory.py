"""`leftoff memory`, `search`, `blame`, `fix` and `ledger` as a user types them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from leftoff.cli.group import main
from leftoff.memory.lookup import NAME
from leftoff.stores.atomic import create_and_open

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(root: Path, tmp_path: Path) -> Path:
    """A home in which Claude Code recorded one session."""
    folder = tmp_path / ".claude" / "projects" / "-home-dev-billing"
    folder.mkdir(parents=True)
    recorded = root / "corpora/sessions/claude_code/prorate.jsonl"
    first = json.loads(recorded.read_text().splitlines()[0])
    shutil.copyfile(recorded, folder / f"{first['sessionId']}.jsonl")
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    own = {"CLAUDE_CONFIG_DIR": ".claude", "LEFTOFF_MEMORY": "memory.sqlite3"}
    return {"HOME": str(home), **{name: str(home / path) for name, path in own.items()}}


@pytest.fixture
def leftoff(home: Path) -> Run:
    def run(*args: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "leftoff", *args],
            input=given,
            env=os.environ | environment(home),
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_first_search_builds_the_index(leftoff: Run, home: Path) -> None:
    found = leftoff("search", "largest", "remainder", "rounding")
    assert found.returncode == 0, found.stderr
    assert "building the index" in found.stderr
    assert "decision (the agent)  b0b81e65#13" in found.stdout
    assert (home / "memory.sqlite3").stat().st_mode & 0o777 == 0o600
    again = leftoff("recall", "largest-remainder", "--json", "-n", "1")
    assert again.stderr == ""
    (row,) = map(json.loads, again.stdout.splitlines())
    assert (row["number"], row["message"], row["kind"]) == (13, 12, "decision")
    assert leftoff("search", "zeppelin", "--no-update").returncode == 1
    assert "sessions     1" in leftoff("memory", "status").stdout


def test_a_search_waits_for_the_process_that_builds_the_index(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said "nothing found" of what the other process had not yet added."""
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("leftoff.cli.memory.WAIT", 0.01)
    index = home / "memory.sqlite3"
    with ExitStack() as other:
        other.enter_context(other.enter_context(create_and_open(home)).lock(f"{NAME}.lock"))
        assert main(["search", "largest"]) == 2
        said = capsys.readouterr()
        assert f"{index}: another process is still updating it" in said.err
        assert "nothing found" not in said.err
        with monkeypatch.context() as patch:
            patch.setattr("leftoff.cli.memory.tell", lambda _: other.close())
            assert main(["search", "largest"]) == 0
    assert "b0b81e65#13" in capsys.readouterr().out


def test_blame_of_lines(leftoff: Run, home: Path) -> None:
    file = home / "billing" / "prorate.py"
    file.parent.mkdir()
    file.write_text("    return monthly_cents * whole_months\nby_hand = 1\n")
    leftoff("memory", "update")
    # The recorded project is another folder: nothing is claimed of a file that only looks alike.
    other = leftoff("blame", str(file))
    assert (other.returncode, other.stderr) == (1, "leftoff: nothing found\n")
    assert leftoff("blame", f"{file}:7").returncode == 2
    assert leftoff("blame", f"{file}:2-1").returncode == 2


def test_fix_reads_standard_input(leftoff: Run) -> None:
    nothing = leftoff("fix", given="error: zeppelin not inflated\n")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert leftoff("fix", given="").returncode == 2


def test_ledger_of_a_project(leftoff: Run) -> None:
    found = leftoff("ledger", "--project", "/home/dev/billing")
    assert found.returncode == 0, found.stderr
    assert "whole cents only" in found.stdout
    assert leftoff("ledger").returncode == 1  # of this directory
    opened = leftoff("ledger", "--open", "--project", "/home/dev/billing")
    assert "refunds may rely on it" in " ".join(opened.stdout.split())


def test_the_index_can_be_removed(leftoff: Run, home: Path) -> None:
    leftoff("memory", "update")
    removed = leftoff("memory", "forget", "--all")
    assert removed.stderr == "removed 1 session\n"
    assert not (home / "memory.sqlite3").exists()
    assert leftoff("memory", "status").returncode == 2
