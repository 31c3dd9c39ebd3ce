"""What the paths of a batch come to: databases, folders with more in them, URLs."""

import os
import sqlite3
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leftoff.batch.files import find_files, local_copy
from leftoff.errors import SourceError


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """One in which Kiro's command line keeps two conversations."""
    path = tmp_path / "data.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, "
            "created_at INTEGER, updated_at INTEGER)"
        )
        for name, at in (("one", 1000), ("two", 2000)):
            row = ("/w", name, '{"history": []}', at, at)
            connection.execute("INSERT INTO conversations_v2 VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    return path


def test_a_database_is_its_conversations(database: Path) -> None:
    named = find_files([database], {}).files
    assert list(named) == [f"{database}:two", f"{database}:one"]
    assert [(f.modified, f.place) for f in named.values()] == [
        (2_000_000_000, "database"),
        (1_000_000_000, "database"),
    ]
    assert find_files([database.parent], {}).files == named


def test_a_clients_database_is_found_where_the_client_keeps_it(
    database: Path, tmp_path: Path
) -> None:
    place = tmp_path / ".local/share/kiro-cli/data.sqlite3"
    place.parent.mkdir(parents=True)
    database.rename(place)
    found = find_files([], {"HOME": str(tmp_path)})
    assert sorted(found.files) == [f"{place}:one", f"{place}:two"]


def test_a_closed_folder_is_told_when_its_turn_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    scan = os.scandir

    def refused(path: Any) -> Any:  # to root the system refuses none
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr("leftoff.batch.files.os.scandir", refused)
    assert list(find_files([tmp_path], {}).files) == [str(tmp_path / "closed")]


@pytest.fixture
def memory() -> Any:
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec")
    system = fsspec.filesystem("memory")
    top = f"/{uuid.uuid4()}"
    for name in ("a.jsonl", "sub/b.json.gz", "c.png"):
        system.pipe(f"{top}/{name}", b"{}")
    yield f"memory:/{top}"
    system.rm(top, recursive=True)


def test_urls_are_files_folders_and_patterns(memory: str) -> None:
    def names(*urls: str) -> list[str]:
        return [Path(path).name for path in find_files(urls, {}).files]

    assert names(memory) == ["a.jsonl", "b.json.gz"]
    assert names(memory + "/*.jsonl") == ["a.jsonl"]
    assert names(memory + "/c.png") == ["c.png"]  # named, whatever it is
    assert find_files([memory], {}).left_out == 1
    missing = find_files([memory + "/gone.jsonl"], {}).files
    assert [file.named for file in missing.values()] == [True]


def test_a_remote_file_has_its_size_and_time(memory: str) -> None:
    (file,) = find_files([memory + "/a.jsonl"], {}).files.values()
    assert (file.size, file.place, file.named) == (2, "remote", True)
    assert abs(file.modified / 1e9 - datetime.now(UTC).timestamp()) < 600


def test_a_remote_file_is_opened_here_for_a_while(memory: str, tmp_path: Path) -> None:
    with local_copy(memory + "/a.jsonl") as copy:
        assert Path(copy).read_bytes() == b"{}"
        assert Path(copy).stat().st_mode & 0o777 == 0o600
    assert not Path(copy).exists()
    with local_copy(str(tmp_path)) as own:
        assert own == str(tmp_path)
    gone = local_copy(memory + "/gone.jsonl")
    with pytest.raises(SourceError, match=r"gone\.jsonl: no such file"), gone:
        pass


def test_a_server_that_errs_is_told(memory: str) -> None:
    implementations = pytest.importorskip(
        "fsspec.implementations.memory", reason="needs fsspec"
    )

    def refuse(*args: Any, **options: Any) -> Any:
        raise PermissionError("keep out")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(implementations.MemoryFileSystem, "find", refuse)
        with pytest.raises(SourceError, match="PermissionError: keep out"):
            find_files([memory], {})
