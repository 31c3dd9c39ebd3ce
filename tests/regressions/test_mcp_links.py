"""A link in a client's folder does not make a file elsewhere readable through the MCP server.

An agent may write into the folders of clients. It planted a link there, named as a session is,
to a file outside them; where that parsed as a session, `show` printed it.
"""

import json
import os
from pathlib import Path

import pytest
from tests.strategies.writers import claude_line

from leftoff.errors import LeftoffError, SourceError, UsageError
from leftoff.integrations.mcp_tools import Answers

SECRET = "The merger is planned for May."


def _line(text: str, session: str) -> str:
    value = claude_line(0, "user", text, session, isSidechain=False, cwd="/home/dev/shop")
    return json.dumps(value) + "\n"


REAL = "11111111-2222-4333-8444-555555555555"
PLANTED = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".claude" / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    (folder / f"{REAL}.jsonl").write_text(_line("Rename the flag.", REAL))
    outside = tmp_path / "private"
    outside.mkdir()
    (outside / "notes.jsonl").write_text(_line(SECRET, PLANTED))
    (outside / f"{PLANTED}.jsonl").write_text(_line(SECRET, PLANTED))
    return tmp_path / "home"


def _folder(home: Path) -> Path:
    return home / ".claude" / "projects" / "-home-dev-shop"


def _answers(home: Path) -> Answers:
    return Answers({"HOME": str(home)}, "/home/dev/shop")


def _refused(home: Path, planted: Path) -> None:
    answers = _answers(home)
    for name in (PLANTED, PLANTED[:8], str(planted)):
        with pytest.raises(SourceError, match="link to a file elsewhere"):
            answers.show(name, 1)
        for tool in (
            answers.summarize,
            answers.decisions,
            answers.files,
            answers.resume_prompt,
        ):
            with pytest.raises(SourceError, match="link to a file elsewhere"):
                tool(name)
    assert SECRET not in answers.list_sessions()
    assert "Rename the flag." in answers.show(REAL, 1)


def test_a_linked_file(home: Path, tmp_path: Path) -> None:
    planted = _folder(home) / f"{PLANTED}.jsonl"
    planted.symlink_to(tmp_path / "private" / "notes.jsonl")
    _refused(home, planted)


def test_a_linked_folder(home: Path, tmp_path: Path) -> None:
    planted = home / ".claude" / "projects" / "-other"
    planted.symlink_to(tmp_path / "private")
    _refused(home, planted / f"{PLANTED}.jsonl")


def test_the_newest_of_a_directory(home: Path, tmp_path: Path) -> None:
    planted = _folder(home) / f"{PLANTED}.jsonl"
    planted.symlink_to(tmp_path / "private" / "notes.jsonl")
    os.utime(_folder(home) / f"{REAL}.jsonl", (1, 1))
    with pytest.raises(SourceError, match="link to a file elsewhere"):
        _answers(home).summarize()


def test_a_linked_subagent(home: Path, tmp_path: Path) -> None:
    side = _folder(home) / REAL / "subagents"
    side.mkdir(parents=True)
    (side / "agent-a1.jsonl").symlink_to(tmp_path / "private" / "notes.jsonl")
    with pytest.raises(SourceError, match="link to a file elsewhere"):
        _answers(home).summarize(REAL)


def test_the_folder_of_a_client_may_be_a_link(home: Path, tmp_path: Path) -> None:
    """People keep it on another disk."""
    (home / ".claude").rename(tmp_path / "disk")
    (home / ".claude").symlink_to(tmp_path / "disk")
    assert "Rename the flag." in _answers(home).show(REAL, 1)
    assert REAL in _answers(home).list_sessions()


def test_a_linked_part_of_an_opencode_session(tmp_path: Path) -> None:
    storage = tmp_path / ".local" / "share" / "opencode" / "storage"
    for name in ("session/p", "message/ses_1", "part/msg_1"):
        (storage / name).mkdir(parents=True)
    session = storage / "session" / "p" / "ses_1.json"
    session.write_text('{"id":"ses_1","directory":"/home/dev/shop"}')
    (storage / "message" / "ses_1" / "msg_1.json").write_text('{"id":"msg_1","role":"user"}')
    outside = tmp_path / "notes.json"
    outside.write_text(json.dumps({"type": "text", "text": SECRET}))
    (storage / "part" / "msg_1" / "prt_1.json").symlink_to(outside)
    answers = Answers({"HOME": str(tmp_path)}, "/")
    with pytest.raises(LeftoffError, match="a link in a client's storage is not followed"):
        answers.show("ses_1", 1)


@pytest.mark.parametrize("name", ["-", "", "data.sqlite3:1", "notes.jsonl"])
def test_other_files_have_no_name(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Standard input of the server, a database, and files of its directory."""
    monkeypatch.chdir(tmp_path / "private")
    with pytest.raises(LeftoffError):
        _answers(home).summarize(name)


def test_numbers_below_one_are_refused(home: Path) -> None:
    answers = _answers(home)
    for number in (-1, 0):
        with pytest.raises(UsageError):
            answers.list_sessions(limit=number)
        with pytest.raises(UsageError):
            answers.resume_prompt(REAL, budget=number)
        with pytest.raises(UsageError):
            answers.show(REAL, number)
    with pytest.raises(UsageError):
        answers.show(REAL, 1, -1)
