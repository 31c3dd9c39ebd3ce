"""`leftoff memory`, `search`, `blame`, `fix` and `ledger` as a user types them."""

import json
import shutil
import subprocess
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
