"""`list`, bare `leftoff`, and naming a session by id."""

import errno
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call

from leftoff.cli import group
from leftoff.cli.group import main
from leftoff.sources import discover

# `list`, bare `leftoff`, and naming a session by id: streams, exit codes, speed.

NOON = 1_790_000_000


@pytest.fixture
def home(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two sessions of ours, one of them with subagents."""
    recorded = root / "corpora/sessions/claude_code"
    home = tmp_path / "home"
    for project, file, at in (
        ("-home-dev-billing", recorded / "prorate.jsonl", NOON),
        ("-home-dev-reports", next(recorded.glob("tenants/*.jsonl")), NOON + 86_400),
    ):
        data = file.read_bytes()
        name = json.loads(data.splitlines()[0]).get("sessionId") or file.stem
        copy = home / ".claude/projects" / project / f"{name}.jsonl"
        copy.parent.mkdir(parents=True)
        copy.write_bytes(data)
        os.utime(copy, (at, at))
        for side in file.with_suffix("").glob("subagents/*"):
            below = copy.with_suffix("") / "subagents" / side.name
            below.parent.mkdir(parents=True, exist_ok=True)
            below.write_bytes(side.read_bytes())
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


def test_words_that_cannot_be_a_path_are_refused(call: Call, home: Path) -> None:
    for odd in ("x" * 5000, "a\x00b"):
        code, out, err = call("summarize", odd)
        assert (code, out) == (2, "")
        assert "no such file" in err


# -- a session by its id ---------------------------------------------------------------------


def test_alone_it_shows_the_newest_session_of_this_directory(
    call: Call, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    code, out, err = call()
    assert (code, out) == (1, "")
    assert f"no session worked in {work}; the newest elsewhere is 3a911e2b" in err
    (path,) = (home / ".claude/projects/-home-dev-billing").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"/home/dev/billing", str(work).encode()))
    code, out, err = call()
    assert (code, err) == (0, "")
    assert "Support has eleven" in out.splitlines()[0]
    assert len(out.splitlines()) <= 60
    assert call("summarize", "latest")[1] == out


# -- speed -----------------------------------------------------------------------------------


def test_the_first_line_comes_before_further_sessions_are_read(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (root / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    folder = home / ".claude/projects/-w"
    folder.mkdir()
    one = folder / "00000000-0000-4000-8000-000000000000.jsonl"
    one.write_bytes(data)
    for number in range(1, 500):
        os.link(one, folder / f"{number:08x}-0000-4000-8000-000000000000.jsonl")
    read, read_when_written = 0, []
    describe = discover.read_session_info

    def counted(recorded: discover.SessionFile) -> discover.SessionInfo | None:
        nonlocal read
        read += 1
        return describe(recorded)

    class Screen(io.StringIO):
        def write(self, text: str) -> int:
            read_when_written.append(read)
            return super().write(text)

    monkeypatch.setattr(discover, "read_session_info", counted)
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    assert group.main(["list", "-n", "0"]) == 0
    assert len(screen.getvalue().splitlines()) > 500
    assert read_when_written[0] < 5
    assert read_when_written[-1] == read > 500


@pytest.mark.parametrize(
    "command",
    ["list", "budget 3a911e2b", "budget b0b81e65", "ledger --project /home/dev/billing"],
)
@pytest.mark.parametrize("width", [40, 72])
def test_a_narrow_screen_is_not_exceeded(
    home: Path, call: Call, monkeypatch: pytest.MonkeyPatch, command: str, width: int
) -> None:
    for module in ("list", "budget", "memory"):
        monkeypatch.setattr(f"leftoff.cli.{module}.columns", lambda: width)
    code, out, _ = call(*command.split())
    assert code == 0
    assert max(map(len, out.splitlines())) <= width


# `leftoff list` where a client's folder cannot be read.


def test_a_folder_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that there was no session."""
    folder = tmp_path / ".claude" / "projects"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    scan = os.scandir

    def refused(path: Any) -> Any:
        if Path(path) == folder:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return scan(path)

    monkeypatch.setattr("leftoff.sources.discover.os.scandir", refused)
    assert main(["list"]) == 2
    said = capsys.readouterr().err
    assert "cannot be read (Input/output error)" in said
    assert "no session" not in said
