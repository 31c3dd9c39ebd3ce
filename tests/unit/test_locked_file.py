"""A small file that several processes change."""

import multiprocessing
import os
from pathlib import Path
from typing import Literal

import pytest
from msgspec import Struct

from leftoff.errors import Damaged, StateError, Unsure
from leftoff.stores import atomic
from leftoff.stores.atomic import Directory, NotSynced
from leftoff.stores.locked_file import LockedFile

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


class Counts(Struct):
    schema: Literal["counts/1"] = "counts/1"
    named: dict[str, int] = {}


@pytest.fixture
def file(tmp_path: Path) -> LockedFile[Counts]:
    return LockedFile(tmp_path / "state" / "counts.json", Counts)


def count(path: Path, name: str, times: int) -> None:
    own: LockedFile[Counts] = LockedFile(path, Counts)
    for _ in range(times):
        with own.locked() as held:
            found = held.load() or Counts()
            found.named[name] = found.named.get(name, 0) + 1
            found.named["all"] = found.named.get("all", 0) + 1
            held.save(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
def test_no_change_is_lost(file: LockedFile[Counts]) -> None:
    context = multiprocessing.get_context("fork")
    started = [context.Process(target=count, args=(file.path, n, 20)) for n in "abc"]
    for process in started:
        process.start()
    for process in started:
        process.join()
    found = file.load()
    assert found is not None
    assert found.named == {"a": 20, "b": 20, "c": 20, "all": 60}


def test_it_is_loaded_again_where_it_changed(file: LockedFile[Counts]) -> None:
    assert file.load() is None
    with file.locked() as held:
        assert held.load() is None
        held.save(value := Counts())
        assert held.load() is value
    count(file.path, "a", 1)
    assert (found := file.load()) == Counts(named={"a": 1, "all": 1})
    assert file.load() is found
    file.path.unlink()
    assert file.load() is None


@pytest.mark.parametrize("content", ["", "[", '{"named": 1}', '{"schema": "counts/2"}'])
def test_what_is_damaged_stays(file: LockedFile[Counts], content: str) -> None:
    file.path.parent.mkdir()
    file.path.write_text(content)
    for load in (file.load, lambda: count(file.path, "a", 1)):
        with pytest.raises(Damaged, match=r"counts\.json: damaged .*; remove the file"):
            load()
    assert file.path.read_text() == content


def test_secrets_do_not_stand_in_it(file: LockedFile[Counts]) -> None:
    count(file.path, SECRET, 1)
    assert SECRET not in file.path.read_text()


def test_what_killed_writers_left_is_removed(file: LockedFile[Counts]) -> None:
    count(file.path, "a", 1)
    left = file.path.with_name(f".counts.json.{16 * 'a'}.tmp")
    for use in (file.load, lambda: count(file.path, "a", 1)):
        left.write_bytes(b"half")
        use()
        assert not left.exists()


def test_errors_name_the_file(
    file: LockedFile[Counts], monkeypatch: pytest.MonkeyPatch
) -> None:
    count(file.path, "a", 1)
    monkeypatch.setattr(atomic, "LOCK_TIMEOUT", 0.01)
    other: LockedFile[Counts] = LockedFile(file.path, Counts)
    with file.locked(), pytest.raises(StateError, match="held by another process"):
        count(file.path, "a", 1)

    def fails(error: OSError) -> object:
        def raising(*_: object) -> None:
            raise error

        return raising

    with other.locked() as held, monkeypatch.context() as patched:
        patched.setattr(atomic.TemporaryFile, "commit", fails(OSError(28, "No space left")))
        with pytest.raises(StateError, match=r"counts\.json: No space left; the saved state"):
            held.save(Counts())
        assert file.load() == Counts(named={"a": 1, "all": 1})
    with other.locked() as held, monkeypatch.context() as patched:
        patched.setattr(Directory, "fsync", fails(NotSynced(5, "Input/output error")))
        with pytest.raises(Unsure, match="not certain to stay"):
            held.save(Counts())
    assert file.load() == Counts()


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_planted_folder_is_refused(tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (tmp_path / "state").symlink_to(away)
    file: LockedFile[Counts] = LockedFile(
        tmp_path / "state" / "counts.json", Counts, planted=True
    )
    with pytest.raises(StateError, match=r"link|Not a directory"), file.locked():
        pass
    assert not list(away.iterdir())
    count(file.path, "a", 1)  # a folder that the user named may be a link
    assert (away / "counts.json").exists()
