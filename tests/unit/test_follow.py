"""A follower: what it promises for each way in which a recording goes on or goes away."""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from filelock import FileLock

from leftoff import api
from leftoff.analysis.summary_json import to_json
from leftoff.errors import FormatError, SourceError, StateError
from leftoff.incremental import follow
from leftoff.incremental.follow import PARTS, Follower
from leftoff.sources import open as sources
from leftoff.stores import atomic
from leftoff.stores.atomic import Directory

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def lines(session: str, first: int, count: int, words: str = "größer 数字") -> bytes:
    """So many calls, each of which reads a file of its own number, with their results."""
    made = []
    for n in range(first, first + count):
        use: dict[str, Any] = {"type": "tool_use", "id": f"c{n}", "name": "Read"}
        use["input"] = {"file_path": f"/w/f{n}.py"}
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": words}
        for role, part in (("assistant", use), ("user", result)):
            line: dict[str, Any] = {"type": role, "uuid": f"{role}{n}", "sessionId": session}
            line |= {
                "parentUuid": None,
                "timestamp": f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z",
            }
            line |= {"cwd": "/w", "message": {"role": role, "content": [part]}}
            made.append(json.dumps(line, ensure_ascii=n % 2 == 0).encode() + b"\n")
    return b"".join(made)


def numbers(follower: Follower) -> list[int]:
    """The numbers that are told, each as often as it is; the summary is that of a batch run."""
    got = follower.summary()
    paths = [source.path for source in got.session.sources]
    assert to_json(got) == to_json(api.summarize(paths if len(paths) > 1 else paths[0]))
    told = [n for f in got.file_modifications for n in [int(f.path[1:-3])] * f.touch_count]
    return sorted(told)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "session.jsonl"


@pytest.fixture
def follower(path: Path, tmp_path: Path) -> Follower:
    return Follower(path, tmp_path / "state")


def test_what_is_new_is_read_once(path: Path, follower: Follower) -> None:
    data = lines("s", 0, 30)
    for cut in (1, 2000, 2001, 5000, len(data) - 3, len(data)):
        with path.open("ab") as file:
            file.write(data[file.tell() : cut])
        assert follower.look().read > 0
        assert not follower.look().changed
    assert numbers(follower) == list(range(30))
    assert len(follower.parts) == 1


def test_between_a_rename_and_what_follows_nothing_is_lost(
    path: Path, follower: Follower
) -> None:
    path.write_bytes(lines("s", 0, 20))
    follower.look()
    path.rename(path.with_suffix(".1"))
    assert not follower.look().changed
    assert numbers(follower) == list(range(20))
    path.touch()
    assert follower.look().began
    assert numbers(follower) == list(range(20))  # nothing was said in the new one yet
    path.write_bytes(lines("t", 20, 1)[:30])  # half of its first line
    assert numbers(follower) == list(range(20))
    path.write_bytes(lines("t", 20, 1))
    assert numbers(follower) == [20]


@pytest.mark.parametrize("how", ["truncate", "rewrite", "recreate", "replace"])
def test_what_is_destroyed_is_gone(how: str, path: Path, follower: Follower) -> None:
    path.write_bytes(lines("one", 0, 20))
    follower.look()
    if how == "recreate":
        path.unlink()
    if how == "replace":
        other = path.with_suffix(".new")
        other.write_bytes(lines("two", 20, 30))
        other.replace(path)
    else:
        path.write_bytes(lines("two", 20, 5 if how == "truncate" else 30))
    look = follower.look()
    assert look.began
    assert look.deleted == (str(path),)
    assert numbers(follower) == list(range(20, 25 if how == "truncate" else 50))
    assert {p.name for p in follower.folder.iterdir()} <= {PARTS, f"{PARTS}.lock", "2"}


def test_a_link_is_followed_where_it_leads(path: Path, follower: Follower) -> None:
    one, two = path.with_name("one"), path.with_name("two")
    one.write_bytes(lines("one", 0, 20))
    two.write_bytes(lines("two", 20, 20))
    path.symlink_to(one)
    assert numbers(follower) == list(range(20))
    path.unlink()
    path.symlink_to(two)
    assert numbers(follower) == list(range(20, 40))  # another session
    with one.open("ab") as file:
        file.write(lines("one", 40, 5))
    path.unlink()
    path.symlink_to(one)
    assert follower.look().began
    assert numbers(follower) == [*range(20), *range(40, 45)]


def test_a_failing_read_makes_nothing_gone(
    path: Path, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(lines("s", 0, 20))
    follower.look()
    path.rename(path.with_suffix(".1"))
    path.write_bytes(lines("s", 20, 20))
    kept = (follower.folder / PARTS).read_bytes()

    def fails(path: str, *how: object) -> Any:
        raise OSError(errno.EIO, "Input/output error", path)

    with monkeypatch.context() as patched:
        patched.setattr(sources, "open", fails, raising=False)
        with pytest.raises(SourceError, match="Input/output error"):
            follower.look()
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", lambda _: fails(str(path.parent), ""))
        with pytest.raises(SourceError, match="Input/output error"):
            follower.look()
    with monkeypatch.context() as patched:
        patched.setattr(Directory, "read", lambda *given: fails(given[1]))
        with pytest.raises(StateError, match="Input/output error; the saved state stays"):
            Follower(path, follower.folder).look()
    assert (follower.folder / PARTS).read_bytes() == kept
    assert numbers(follower) == list(range(40))


def test_somebody_elses_file_in_the_folder_is_passed_over(
    path: Path, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(lines("s", 0, 20))
    follower.look()
    path.rename(path.with_name("z"))
    for name in ("a", "b"):
        path.with_name(name).write_bytes(lines("x", 0, 20))

    def guarded(path: str, *how: Any) -> Any:
        if path.endswith("/a"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return open(path, *how)  # noqa: PTH123

    # The file itself would be tried first.
    old = follower.parts[0]
    other = msgspec.structs.replace(old, mark=msgspec.structs.replace(old.mark, inode=1))
    monkeypatch.setattr(sources, "open", guarded, raising=False)
    assert follow._find_moved(other, []) == str(path.with_name("z"))


def test_one_at_a_time(path: Path, follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(lines("s", 0, 20))
    follower.look()
    monkeypatch.setattr(atomic, "LOCK_TIMEOUT", 0.05)
    with (
        FileLock(follower.folder / f"{PARTS}.lock"),
        pytest.raises(StateError, match="another process"),
    ):
        follower.look()
    assert numbers(follower) == list(range(20))


def test_what_cannot_be_followed_is_said(path: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be followed"):
        Follower("-", tmp_path / "state")
    follower = Follower(path, tmp_path / "state")
    with pytest.raises(SourceError, match="no such file"):
        follower.look()
    path.touch()
    follower.look()
    with pytest.raises(FormatError):
        follower.summary()
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceError, match="not a regular file"):
        Follower(tmp_path / "fifo", tmp_path / "other").look()


@pytest.mark.parametrize("how", ["in place", "replaced", "beside a copy"])
def test_a_document_is_told_as_it_is_now(how: str, path: Path, follower: Follower) -> None:
    """Each time it was written anew it was told as gone, and a copy of it as a part of it."""
    other = path.with_name("other")
    for count in (1, 2, 60, 59, 90):
        said = [{"role": "user", "content": f"Sort list {n}."} for n in range(count)]
        if how == "in place" or count == 1:
            path.write_text(json.dumps(said))
        else:
            if how == "beside a copy":
                shutil.copyfile(path, path.with_name("copy"))
            other.write_text(json.dumps(said))
            other.replace(path)
        look = follower.look()
        assert (look.read, look.began, look.deleted) == (path.stat().st_size, count == 1, ())
        assert not follower.look().changed
        assert to_json(follower.summary()) == to_json(api.summarize(path))
        assert len(follower.parts) == 1
    path.unlink()
    with pytest.raises(SourceError, match="no such file"):
        follower.summary()
    path.write_text(json.dumps(said[:7]))
    assert follower.summary().stats.message_count == 7


@pytest.mark.parametrize("kept", ["", "{", '{"schema": "leftoff.followed/9"}'])
def test_a_damaged_memory_costs_time_only(kept: str, path: Path, follower: Follower) -> None:
    path.write_bytes(lines("s", 0, 20))
    follower.look()
    (follower.folder / PARTS).write_text(kept)
    assert numbers(follower) == list(range(20))


@pytest.mark.parametrize("name", [SECRET, "no-text-\udcff"])
def test_what_may_not_be_kept_of_a_path_is_not(name: str, path: Path, tmp_path: Path) -> None:
    inner = path.parent / name
    try:
        inner.mkdir()
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    follower = Follower(inner / path.name, tmp_path / "state")
    for count in (20, 30):
        (inner / path.name).write_bytes(lines("s", 0, count))
        assert numbers(follower) == list(range(count))
        assert not follower.look().changed  # `leftoff follow` told it again each second
    assert numbers(Follower(inner / path.name, tmp_path / "state")) == list(range(30))
    kept = [p.read_bytes() for p in follower.folder.rglob("*") if p.is_file()]
    assert not any(SECRET.encode() in data for data in kept)


def test_a_rotated_recording_that_is_removed_while_it_is_summarised_is_left_out(
    path: Path, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rotation removed an old file between the look and the summary at each attempt of a follower
    on a busy machine; the last one ended it with "no such file"."""
    path.write_bytes(lines("s", 0, 5))
    follower.look()
    path.rename(old := path.with_name("session.jsonl.1"))
    path.write_bytes(lines("s", 5, 5))
    follower.look()
    summarised = Follower._summary

    def removed(self: Follower, parts: list[follow.FollowedFile]) -> Any:
        old.unlink(missing_ok=True)
        return summarised(self, parts)

    monkeypatch.setattr(Follower, "_summary", removed)
    monkeypatch.setattr(follow, "MAX_RETRIES", 0)
    told = follower.summary()
    assert [file.path for file in told.file_modifications] == [f"f{n}.py" for n in range(5, 10)]
