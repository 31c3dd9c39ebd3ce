"""Sessions are found where clients keep them, told by their headers, and named by their ids."""

import json
import os
import sqlite3
from pathlib import Path

import pytest
from tests.strategies.conversations import Call, Step
from tests.strategies.writers import WRITERS

from leftoff.errors import SourceError, UsageError
from leftoff.formats.reader import formats
from leftoff.sources import discover
from leftoff.sources import open as sources
from leftoff.sources.discover import (
    client_locations,
    find_session,
    list_sessions,
    session_files,
)

TALK = (
    Step("user", "Sort the invoices by date."),
    Step("agent", "Sorted.", (Call("call_1", "lookup_order", {"id": 7}, "found it"),)),
)
ID = "0b5e7a11-1111-4111-8111-111111111111"
NEXT = "0b5e7a22-2222-4222-8222-222222222222"
NOON = 1_790_000_000


def put(path: Path, data: bytes | str, at: int = NOON) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    os.utime(path, (at, at))
    return path


def claude(session: str, cwd: str = "/home/ada/ledger") -> bytes:
    data = WRITERS["claude_code"](TALK)
    return data.replace(b"5e551011-0000-4000-8000-000000000000", session.encode()).replace(
        b"/home/ada/ledger", cwd.encode()
    )


# -- the places ------------------------------------------------------------------------------


def test_every_place_is_read_as_a_known_format() -> None:
    for place in client_locations():
        assert place.formats
        assert set(place.formats) <= set(formats.names())
        assert place.variable or place.folders


def test_claudes_variable_names_several_folders(tmp_path: Path) -> None:
    for name, session in (("a", ID), ("b", NEXT)):
        put(tmp_path / name / f"projects/p/{session}.jsonl", claude(session))
    environ = {"CLAUDE_CONFIG_DIR": f"{tmp_path}/a, {tmp_path}/b", "HOME": str(tmp_path)}
    assert {found.id for found in list_sessions(environ)} == {ID, NEXT}


def test_a_folder_under_two_names_counts_once(tmp_path: Path) -> None:
    put(tmp_path / f".config/claude/projects/p/{ID}.jsonl", claude(ID))
    (tmp_path / ".claude").symlink_to(tmp_path / ".config/claude")
    assert len(session_files({"HOME": str(tmp_path)})) == 1


def test_kiros_conversations_are_sessions(tmp_path: Path) -> None:
    database = tmp_path / ".local/share/kiro-cli/data.sqlite3"
    database.parent.mkdir(parents=True)
    prompt = {"content": {"Prompt": {"prompt": "Count them."}}}
    answer = {"Response": {"message_id": "m", "content": "Seven."}}
    value = {"conversation_id": ID, "history": [{"user": prompt, "assistant": answer}]}
    with sqlite3.connect(database) as connection:
        connection.execute(
            "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, "
            "created_at INTEGER, updated_at INTEGER)"
        )
        row = ("/home/ada/ledger", ID, json.dumps(value), NOON * 1000, NOON * 1000)
        connection.execute("INSERT INTO conversations_v2 VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    environ = {"HOME": str(tmp_path)}
    (found,) = list_sessions(environ)
    assert (found.id, found.project, found.title) == (ID, "/home/ada/ledger", "Count them.")
    assert find_session(ID[:6], environ, "/") == f"{database}:{ID}"
    with sources.open_lines(f"{database}:{ID}") as lines:
        assert json.loads(b"".join(lines)) == value
    with (
        pytest.raises(SourceError, match="holds no conversation"),
        sources.open_lines(f"{database}:nothing"),
    ):
        pass
    put(database, b"no database")
    assert list(list_sessions(environ)) == []


@pytest.mark.parametrize("updated", ["9e999", "-9e999", "'soon'", "NULL"])
def test_a_damaged_time_hides_no_conversation(tmp_path: Path, updated: str) -> None:
    database = tmp_path / ".local/share/kiro-cli/data.sqlite3"
    database.parent.mkdir(parents=True)
    prompt = {"content": {"Prompt": {"prompt": "Count them."}}}
    history = [{"user": prompt, "assistant": {"Response": {"content": "Seven."}}}]
    value = json.dumps({"conversation_id": "c", "history": history})
    with sqlite3.connect(database) as connection:
        connection.execute(
            "CREATE TABLE conversations_v2 (key, conversation_id, value, updated_at INTEGER)"
        )
        for row in (
            "'/w', 'none', NULL, 0",
            f"'/w', 'odd', ?1, {updated}",
            "'/w', 'b', ?1, 1000",
        ):
            given = (value,) if "?" in row else ()
            connection.execute(f"INSERT INTO conversations_v2 VALUES ({row})", given)
    connection.close()
    found = {one.id: one.modified for one in list_sessions({"HOME": str(tmp_path)})}
    assert found.keys() == {"odd", "b"}
    assert found["b"] == "1970-01-01T00:00:01Z"


# -- what is a session -----------------------------------------------------------------------


def test_subagents_and_empty_files_are_no_sessions(tmp_path: Path, root: Path) -> None:
    project = tmp_path / ".claude/projects/p"
    for layout in ("tenants", "tenants-2.1.33"):
        for file in (root / "corpora/sessions/claude_code" / layout).rglob("*.json*"):
            below = file.relative_to(root / "corpora/sessions/claude_code" / layout)
            put(project / below, file.read_bytes())
    side = next((project).rglob("agent-*.jsonl"))
    put(project / "agent-0a1b2c3d.jsonl", side.read_bytes())  # the older layout, beside it
    put(project / f"{NEXT}.jsonl", side.read_bytes())  # under a name that does not tell
    put(project / f"{ID}.jsonl", '{"type":"summary","summary":"x","leafUuid":"y"}\n')
    put(project / "0.jsonl", b"")
    found = {one.id[:8] for one in list_sessions({"HOME": str(tmp_path)})}
    assert found == {"3a911e2b", "e16a61df"}


def test_one_session_in_two_files_is_listed_once(tmp_path: Path) -> None:
    old = put(tmp_path / f".claude/projects/p/{ID}.jsonl", claude(ID), NOON)
    new = put(tmp_path / f".claude/projects/q/{ID}.jsonl", claude(ID), NOON + 60)
    (found,) = list_sessions({"HOME": str(tmp_path)})
    assert found.files == (str(new), str(old))
    assert found.path == str(new)
    assert found.modified == "2026-09-21T14:14:20Z"


def test_no_more_than_the_head_of_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = claude(ID) + b'{"type":"attachment","attachment":{"x":"' + b"x" * 300_000 + b'"}}\n'
    put(tmp_path / f".claude/projects/p/{ID}.jsonl", data)
    asked: list[int] = []
    real = sources.read_head

    def head_of(path: str, size: int) -> bytes:
        asked.append(size)
        got = real(path, size)
        assert len(got) <= size
        return got

    monkeypatch.setattr(discover, "read_head", head_of)
    assert len(list(list_sessions({"HOME": str(tmp_path)}))) == 1
    assert asked == [discover.HEADER_BYTES]


def test_a_long_document_is_told_by_its_head(tmp_path: Path) -> None:
    talk = (*TALK, *(Step("agent", "Again. " * 500) for _ in range(60)))
    data = WRITERS["gemini_cli"](talk)
    assert len(data) > 2 * discover.HEADER_BYTES
    path = tmp_path / ".gemini/tmp/abc/chats/session-2026-03-02T09-00-5e551011.json"
    put(path, data)
    put(path.parent.parent / ".project_root", "/home/ada/ledger\n")
    (found,) = list_sessions({"HOME": str(tmp_path)})
    assert found.title == "Sort the invoices by date."
    assert found.id == "5e551011-0000-4000-8000-000000000000"
    assert found.project == "/home/ada/ledger"


# -- filters ---------------------------------------------------------------------------------


def test_filters_by_project_time_and_format(tmp_path: Path) -> None:
    base = tmp_path / ".claude/projects"
    put(base / f"-w-a/{ID}.jsonl", claude(ID, "/w/a"), NOON)
    put(base / f"-w-a-b/{NEXT}.jsonl", claude(NEXT, "/w/a/b"), NOON + 100)
    put(
        tmp_path / f".codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-{ID}.jsonl",
        WRITERS["codex"](TALK),
        NOON + 200,
    )
    environ = {"HOME": str(tmp_path)}
    assert next(one.client for one in list_sessions(environ)) == "Codex"
    assert [one.id for one in list_sessions(environ, project="/w/a")] == [NEXT, ID]
    assert [one.id for one in list_sessions(environ, project="/w/a/b")] == [NEXT]
    assert list(list_sessions(environ, project="/w/a/bc")) == []
    assert [one.format for one in list_sessions(environ, format="codex")] == ["codex"]
    assert len(list(list_sessions(environ, since=NOON + 50))) == 2
    assert [one.id for one in list_sessions(environ, until=NOON + 50)] == [ID]


# -- naming ----------------------------------------------------------------------------------


def test_an_ambiguous_beginning_lists_the_candidates(tmp_path: Path) -> None:
    for session in (ID, NEXT):
        put(tmp_path / f".claude/projects/p/{session}.jsonl", claude(session))
    environ = {"HOME": str(tmp_path)}
    with pytest.raises(UsageError) as refused:
        find_session("0b5e7a", environ, "/")
    assert ID in str(refused.value)
    assert NEXT in str(refused.value)
    assert find_session("0b5e7a1", environ, "/").endswith(f"{ID}.jsonl")
    with pytest.raises(SourceError, match="`leftoff list`"):
        find_session("0b5e7a3", environ, "/")


def test_the_latest_is_of_this_directory_or_the_nearest(tmp_path: Path) -> None:
    base = tmp_path / ".claude/projects/p"
    put(base / f"{ID}.jsonl", claude(ID, "/w/a"), NOON)
    put(base / f"{NEXT}.jsonl", claude(NEXT, "/w"), NOON + 100)
    environ = {"HOME": str(tmp_path)}
    assert ID in find_session("latest", environ, "/w/a")
    assert ID in find_session("latest", environ, "/w/a/deeper")
    assert NEXT in find_session("latest", environ, "/w")
    assert NEXT in find_session("latest", environ, "/w/c")
    with pytest.raises(SourceError, match=f"no session worked in /x; the newest .*{NEXT}.*/w"):
        find_session("latest", environ, "/x")
    with pytest.raises(SourceError, match="none on this machine"):
        find_session("latest", {"HOME": str(tmp_path / "none")}, "/x")
