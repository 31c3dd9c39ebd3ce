"""`list`, bare `leftoff`, and naming a session by id, with an index and without one."""

import errno
import io
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cli.conftest import Call
from tests.strategies.writers import claude_line

from leftoff.cli import group
from leftoff.cli.group import leftoff, main
from leftoff.errors import SourceError
from leftoff.memory import headers
from leftoff.memory.index import forget, update
from leftoff.redaction.redactor import Redactor
from leftoff.sources import discover
from leftoff.sources.open import read_head

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

    # Another test may have made an index, whose headers are not read again.
    monkeypatch.setenv("LEFTOFF_MEMORY", str(home / "none.sqlite3"))
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


# `leftoff list` and `leftoff` alone say the same with the index and without it.

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


class Home:
    """A home with recordings of Claude Code, an index, and commands in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sessions = folder / ".claude" / "projects" / "-home-dev-shop"
        self.sessions.mkdir(parents=True)
        self.index = folder / "memory.sqlite3"
        self.project = folder / "shop"
        self.project.mkdir()
        self.opened: list[str] = []
        self._patch = monkeypatch
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.chdir(self.project)
        read = discover.session_in

        def counted(file: discover.SessionFile) -> discover.SessionInfo | None:
            self.opened.append(Path(file.path).stem)
            return read(file)

        monkeypatch.setattr(discover, "session_in", counted)
        monkeypatch.setenv("LEFTOFF_MEMORY", str(self.index))

    def record(self, name: str, prompt: str, *, at: int) -> Path:
        path = self.sessions / f"{name}.jsonl"
        line = claude_line(0, "user", prompt, name, cwd=str(self.project))
        path.write_text(json.dumps(line) + "\n")
        os.utime(path, (at, at))
        return path

    def run(self, *words: str, index: bool = True) -> str:
        self.opened.clear()
        path = self.index if index else self.index.with_name("none")
        self._patch.setenv("LEFTOFF_MEMORY", str(path))
        return CliRunner().invoke(leftoff, [*words]).output


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path, monkeypatch)
    for number in range(4):
        made.record(
            f"session-{number}", f"Count the boats of pier {number}", at=1_000_000 + number
        )
    made.record("session-9", f"Deploy with {SECRET}", at=999_000)
    update(made.index, environ=os.environ)
    return made


@pytest.mark.parametrize(
    "words", [(), ("-n", "2"), ("--json",), ("--project", "."), ("--project", "/x")]
)
def test_a_list_is_the_same_and_opens_nothing_that_it_knows(
    indexed: Home, words: tuple[str, ...]
) -> None:
    without = indexed.run("list", *words, index=False)
    assert indexed.run("list", *words) == without
    assert indexed.run("list", *words) == without
    # A header with a secret is not stored.
    assert set(indexed.opened) <= {"session-9"}


def test_new_and_changed_recordings_are_seen(indexed: Home) -> None:
    indexed.run("list")
    indexed.record("session-5", "Paint the boats", at=1_000_050)
    changed = indexed.record("session-0", "Sell the boats of the first pier", at=1_000_060)
    shown = indexed.run("list")
    assert shown == indexed.run("list", index=False)
    assert "Sell the boats" in shown
    assert "Paint the boats" in shown
    # The same size and another time, then the same time and another size.
    indexed.record("session-0", "Rent the boats of the first pier", at=1_000_061)
    assert "Rent the boats" in indexed.run("list")
    with changed.open("a") as out:
        out.write("\n")
    os.utime(changed, (1_000_061, 1_000_061))
    indexed.run("list")
    assert "session-0" in indexed.opened
    changed.unlink()
    assert "session-0" not in indexed.run("list")


def test_the_newest_session_is_found_without_a_header(indexed: Home) -> None:
    expected = indexed.run(index=False)
    assert "pier 3" in expected
    assert indexed.run() == expected
    assert indexed.opened == ["session-3"]
    assert indexed.run() == expected
    assert indexed.opened == []


def test_no_secret_and_no_deleted_recording_stays_in_it(indexed: Home) -> None:
    indexed.run("list")
    assert SECRET not in "".join(_stored(indexed))
    assert len(_stored(indexed)) == 4
    (indexed.sessions / "session-1.jsonl").unlink()
    forget(indexed.index, missing_only=True)
    assert len(_stored(indexed)) == 3


def test_an_index_that_is_in_use_or_of_another_version_does_no_harm(
    indexed: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = indexed.run("list", index=False)
    with sqlite3.connect(indexed.index) as other:
        other.execute("BEGIN IMMEDIATE")
        assert indexed.run("list") == expected
    assert not _stored(indexed)
    indexed.run("list")
    monkeypatch.setattr(headers, "__version__", "another")
    assert indexed.run("list") == expected
    assert len(indexed.opened) == 5
    indexed.index.write_bytes(b"no index")
    assert indexed.run("list") == expected


def test_what_cannot_be_read_once_is_listed_the_next_time(
    indexed: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it is no session was stored, and it was hidden until it changed."""
    with monkeypatch.context() as patch:
        read = read_head

        def refused(path: str, count: int) -> bytes:
            if "session-1" in path:
                raise SourceError(f"{path}: cannot be read (Input/output error)")
            return read(path, count)

        patch.setattr(discover, "read_head", refused)
        assert "session-1" not in indexed.run("list")
    assert "session-1" in indexed.run("list")


def test_the_index_is_not_locked_while_headers_are_redacted(
    indexed: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was, for as long as 10,000 headers take: a search at the same time failed."""
    redacted = []

    class Gate(Redactor):
        def value(self, given: Any) -> Any:
            with sqlite3.connect(indexed.index, timeout=0) as other:
                other.execute("BEGIN IMMEDIATE")
            redacted.append(given)
            return super().value(given)

    monkeypatch.setattr(headers, "Redactor", Gate)
    indexed.run("list")
    assert len(redacted) == 5
    assert len(_stored(indexed)) == 4


def _stored(indexed: Home) -> list[str]:
    with sqlite3.connect(indexed.index) as db:
        return [str(row) for row in db.execute("SELECT path, header FROM headers")]
