"""`leftoff list` and `leftoff` alone say the same with the index and without it."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from leftoff.cli.group import leftoff
from leftoff.errors import SourceError
from leftoff.memory import headers
from leftoff.memory.index import forget, update
from leftoff.redaction.redactor import Redactor
from leftoff.sources import discover
from leftoff.sources.open import read_head

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
        line = {
            "type": "user", "sessionId": name, "uuid": f"u-{name}", "parentUuid": None,
            "cwd": str(self.project), "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "user", "content": prompt},
        }  # fmt: skip
        path.write_text(json.dumps(line) + "\n")
        os.utime(path, (at, at))
        return path

    def run(self, *words: str, index: bool = True) -> str:
        self.opened.clear()
        path = self.index if index else self.index.with_name("none")
        self._patch.setenv("LEFTOFF_MEMORY", str(path))
        return CliRunner().invoke(leftoff, [*words]).output


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
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
    home: Home, words: tuple[str, ...]
) -> None:
    without = home.run("list", *words, index=False)
    assert home.run("list", *words) == without
    assert home.run("list", *words) == without
    # A header with a secret is not stored.
    assert set(home.opened) <= {"session-9"}


def test_new_and_changed_recordings_are_seen(home: Home) -> None:
    home.run("list")
    home.record("session-5", "Paint the boats", at=1_000_050)
    changed = home.record("session-0", "Sell the boats of the first pier", at=1_000_060)
    shown = home.run("list")
    assert shown == home.run("list", index=False)
    assert "Sell the boats" in shown
    assert "Paint the boats" in shown
    # The same size and another time, then the same time and another size.
    home.record("session-0", "Rent the boats of the first pier", at=1_000_061)
    assert "Rent the boats" in home.run("list")
    with changed.open("a") as out:
        out.write("\n")
    os.utime(changed, (1_000_061, 1_000_061))
    home.run("list")
    assert "session-0" in home.opened
    changed.unlink()
    assert "session-0" not in home.run("list")


def test_the_newest_session_is_found_without_a_header(home: Home) -> None:
    expected = home.run(index=False)
    assert "pier 3" in expected
    assert home.run() == expected
    assert home.opened == ["session-3"]
    assert home.run() == expected
    assert home.opened == []


def test_no_secret_and_no_deleted_recording_stays_in_it(home: Home) -> None:
    home.run("list")
    assert SECRET not in "".join(_stored(home))
    assert len(_stored(home)) == 4
    (home.sessions / "session-1.jsonl").unlink()
    forget(home.index, missing_only=True)
    assert len(_stored(home)) == 3


def test_an_index_that_is_in_use_or_of_another_version_does_no_harm(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = home.run("list", index=False)
    with sqlite3.connect(home.index) as other:
        other.execute("BEGIN IMMEDIATE")
        assert home.run("list") == expected
    assert not _stored(home)
    home.run("list")
    monkeypatch.setattr(headers, "__version__", "another")
    assert home.run("list") == expected
    assert len(home.opened) == 5
    home.index.write_bytes(b"no index")
    assert home.run("list") == expected


def test_what_cannot_be_read_once_is_listed_the_next_time(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it is no session was stored, and it was hidden until it changed."""
    with monkeypatch.context() as patch:
        read = read_head

        def refused(path: str, count: int) -> bytes:
            if "session-1" in path:
                raise SourceError(f"{path}: cannot be read (Input/output error)")
            return read(path, count)

        patch.setattr(discover, "read_head", refused)
        assert "session-1" not in home.run("list")
    assert "session-1" in home.run("list")


def test_the_index_is_not_locked_while_headers_are_redacted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was, for as long as 10,000 headers take: a search at the same time failed."""
    redacted = []

    class Gate(Redactor):
        def value(self, given: Any) -> Any:
            with sqlite3.connect(home.index, timeout=0) as other:
                other.execute("BEGIN IMMEDIATE")
            redacted.append(given)
            return super().value(given)

    monkeypatch.setattr(headers, "Redactor", Gate)
    home.run("list")
    assert len(redacted) == 5
    assert len(_stored(home)) == 4


def _stored(home: Home) -> list[str]:
    with sqlite3.connect(home.index) as db:
        return [str(row) for row in db.execute("SELECT path, header FROM headers")]
