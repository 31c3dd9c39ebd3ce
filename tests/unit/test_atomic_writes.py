"""How a file is written: in folders that are opened, and where the system knows only paths."""

import os
import stat
from pathlib import Path

import pytest

from leftoff.stores import atomic
from leftoff.stores.atomic import Directory, make_directories, open_private, write_atomic

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX has them")


@pytest.fixture(params=["opened", "by path"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the system can look up names in an open folder."""
    if request.param == "by path":
        monkeypatch.setattr(atomic, "_HAS_DIR_FD", False)
    return str(request.param)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_must_be_there_and_be_none_but_itself(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("gone", "file"):
        with pytest.raises(OSError, match=name), Directory.open(tmp_path / name):
            pass
    with Directory.open(tmp_path / "link") as folder:  # the one that is named may be a link
        folder.mkdir("inside")
        folder.mkdir("inside")
        assert folder.listdir() == ["inside"]
        assert mode(tmp_path / "real" / "inside") == 0o700
    with Directory.open(tmp_path) as folder:
        with pytest.raises(OSError, match="link"), folder.subdirectory("link"):
            pass
        with folder.subdirectory("real") as inner:
            assert inner.listdir() == ["inside"]


def test_folders_are_made_down_to_the_last(tmp_path: Path) -> None:
    make_directories(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()
    assert mode(tmp_path / "a") == 0o700
    make_directories(tmp_path / "a" / "b")


def test_only_regular_files_of_a_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "five").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("five")
    os.mkfifo(tmp_path / "pipe")
    with Directory.open(tmp_path) as folder:
        assert folder.read("five", 5) == b"12345"
        with pytest.raises(OSError, match="larger than 4 bytes"):
            folder.read("five", 4)
        with pytest.raises(OSError, match="not a regular file"):
            folder.read("pipe", 5)
        with pytest.raises(OSError, match="link"):
            folder.read("link", 5)
        with pytest.raises(FileNotFoundError):
            folder.read("gone", 5)


def test_a_file_that_is_written_in_place_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "log"
    os.close(open_private(path))
    assert mode(path) == 0o600
    path.chmod(0o644)
    os.close(open_private(path))
    assert mode(path) == 0o600
    (tmp_path / "twin").hardlink_to(path)
    with pytest.raises(OSError, match="a link, or not a regular file"):
        open_private(path)
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(OSError, match="link"):
        open_private(tmp_path / "link")
    assert not (tmp_path / "nothing").exists()


def test_a_copy_is_not_for_others_even_if_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    for given in (0o600, 0o644, 0o601, 0o660):
        path.chmod(given)
        with Directory.open(tmp_path) as folder:
            folder.link_or_copy("file", "copy", b"x")
        assert (tmp_path / "copy").read_bytes() == b"x"
        assert mode(tmp_path / "copy") == 0o600
        assert (tmp_path / "copy").samefile(path) == (given == 0o600)
        (tmp_path / "copy").unlink()
    assert path.read_bytes() == b"x"


def test_what_is_to_last_is_brought_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, []

    def counted(descriptor: int) -> None:
        calls.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    with Directory.open(tmp_path) as folder:
        folder.replace("a", b"x", durable=False)
        assert calls == []
        with folder.stage("a", b"y", 5_000_000_000) as staged:
            assert calls == [False]
            staged.commit()
        folder.fsync()
        assert calls == [False, True]
    assert (tmp_path / "a").read_bytes() == b"y"
    assert (tmp_path / "a").stat().st_mtime_ns == 5_000_000_000
    calls.clear()
    write_atomic(tmp_path / "a", b"z")
    assert calls == [False, True]


def test_a_system_that_writes_a_little_at_a_time_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:9]))
    write_atomic(tmp_path / "a", b"forty bytes of a document, cut in pieces")
    assert (tmp_path / "a").read_bytes() == b"forty bytes of a document, cut in pieces"


def test_what_is_not_committed_is_gone(tmp_path: Path) -> None:
    with Directory.open(tmp_path) as folder:
        with folder.stage("a", b"x"):
            assert len(folder.listdir()) == 1
        assert folder.listdir() == []
        with pytest.raises(ValueError, match="stop"), folder.replacement("a") as staged:
            os.write(staged.descriptor, b"half")
            raise ValueError("stop")
        assert folder.listdir() == []
        with folder.replacement("a") as staged:
            os.write(staged.descriptor, b"whole")
        assert folder.read("a", 9) == b"whole"
        with folder.replacement("a") as staged:
            staged.path.write_bytes(b"other")
        assert folder.listdir() == ["a"]
        assert folder.read("a", 9) == b"other"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_nothing_stays_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(5):
        write_atomic(tmp_path / "whole", b"x")
        with Directory.open(tmp_path) as folder, folder.stage("never", b"x"):
            pass
        with (
            Directory.open(tmp_path) as folder,
            folder.replacement(f"grown-{number}") as staged,
        ):
            os.write(staged.descriptor, b"x")
        with Directory.open(tmp_path) as folder, folder.lock("lock", 1):
            folder.fsync()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_dead_writers_left_is_swept_and_what_living_ones_write_is_not(
    tmp_path: Path,
) -> None:
    dead = [f".{name}.{'0' * 16}.tmp" for name in ("a", "b")]
    other = [".a.tmp", f".a.{'0' * 15}.tmp", f"a.{'0' * 16}.tmp"]
    for name in (*dead, *other):
        (tmp_path / name).write_bytes(b"x")
    with Directory.open(tmp_path) as folder, folder.stage("a", b"y") as living:
        assert folder.remove_stale_temporaries(target="a") == 1
        assert not (tmp_path / dead[0]).exists()
        assert folder.remove_stale_temporaries() == 1
        assert living.path.read_bytes() == b"y"
        assert folder.remove_stale_temporaries() == 0
        living.commit()
        assert folder.listdir() == sorted([*other, "a"])
        assert folder.remove("a")
        assert not folder.remove("a")


def test_a_lock_can_be_taken_again(tmp_path: Path) -> None:
    with Directory.open(tmp_path) as folder:
        for _ in range(2):
            with folder.lock("lock", 0.5):
                pass
