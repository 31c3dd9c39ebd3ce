"""The file store: what stands where, and what it does about damage, links and other writers."""

import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from leftoff.errors import Damaged, StateError, Unsure
from leftoff.redaction.redactor import Redactor, Span
from leftoff.stores.atomic import write_atomic
from leftoff.stores.files import FileStore
from leftoff.stores.protocol import Entry, Store, StoredDocument
from leftoff.stores.retention import Retention, prune

DOCUMENT = {"goal": "sort the invoices", "done": ["read", "sorted"], "steps": 2}
posix = pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX has them")


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "kept")


def loaded(store: Store, kind: str, id: str) -> StoredDocument:
    kept = store.load(kind, id)
    assert kept is not None
    return kept


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name != ".locks")


# -- places ----------------------------------------------------------------------------------


def test_a_gate_of_ones_own(tmp_path: Path) -> None:
    def gate(kind: str) -> Redactor:
        return Redactor(
            extra=[lambda text: [Span(0, len(text), kind)] if text == "hush" else []]
        )

    store = FileStore(tmp_path, gate=gate)
    store.save("task", "t", {"word": "hush"})
    assert loaded(store, "task", "t").document == {"word": "[REDACTED:task:1]"}


# -- compression -----------------------------------------------------------------------------


def test_a_bomb_is_refused(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save("task", "t", DOCUMENT)
    monkeypatch.setattr("leftoff.codec.MAX_DOCUMENT", 100_000)
    bomb = gzip.compress(b'{"a": "' + b" " * 1_000_000 + b'"}')
    (store.folder("task") / "t.json").write_bytes(bomb)
    with pytest.raises(Damaged, match="unpacks to more"):
        store.load("task", "t")


# -- failing disks ---------------------------------------------------------------------------


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[int]]:
    """Makes `fsync` fail for files or for folders; gives what was tried."""
    real = os.fsync
    tried: list[int] = []

    def fail(folders: bool) -> list[int]:
        def fsync(descriptor: int) -> None:
            if Path(f"/proc/self/fd/{descriptor}").is_dir() != folders:
                real(descriptor)
                return
            tried.append(descriptor)
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", fsync)
        return tried

    return fail


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_failed_fsync_is_not_tried_again(
    store: FileStore, syncs: Callable[[bool], list[int]]
) -> None:
    store.save("task", "t", {"n": 1}, text="one")
    tried = syncs(False)
    with pytest.raises(
        StateError, match=r"t\.json: cannot be saved \(Input/output error\)"
    ) as told:
        store.save("task", "t", {"n": 2}, text="two")
    assert not isinstance(told.value, Unsure)
    assert len(tried) == 1
    kept = loaded(store, "task", "t")
    assert (kept.document, kept.text, kept.issues) == ({"n": 1}, "one", ())
    assert names(store.folder("task")) == ["t.json", "t.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_folder_that_is_not_synced_is_a_third_answer(
    store: FileStore, syncs: Callable[[bool], list[int]], tmp_path: Path
) -> None:
    store.save("task", "t", {"n": 1})
    syncs(True)
    with pytest.raises(Unsure, match="not certain to stay"):
        store.save("task", "t", {"n": 2})
    assert loaded(store, "task", "t").document == {"n": 2}
    with pytest.raises(Unsure, match="may be back"):
        store.delete("task", "t")
    with pytest.raises(OSError, match="Input/output"):
        write_atomic(tmp_path / "state.json", b"{}")
    assert (tmp_path / "state.json").read_bytes() == b"{}"


# -- who may read, and what is followed ------------------------------------------------------


@posix
def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret.json"
    secret.write_text('{"n": "outside"}')
    store = FileStore(tmp_path / "kept")
    store.save("task", "t", {"n": 1}, text="one")
    folder = store.folder("task")
    for name in ("l.json", "l.md", "l.json.bak", ".l.json.0123456789abcdef.tmp", "l.json.gz"):
        (folder / name).symlink_to(secret)
    with pytest.raises(StateError, match="is a link"):
        store.load("task", "l")
    listed = {e.id: e for e in FileStore(tmp_path / "kept").list("task")}
    assert not listed["l"].readable
    store.save("task", "l", {"n": 2}, text="two")
    kept = loaded(store, "task", "l")
    assert (kept.document, kept.text) == ({"n": 2}, "two")
    assert not (folder / "l.json").is_symlink()
    # A folder of ours that is a link is refused, the one for locks as well.
    (tmp_path / "kept" / "reviews").symlink_to(outside)
    for call in (
        lambda: store.save("review", "r", {}),
        lambda: store.load("review", "secret"),
        lambda: store.list("review"),
        lambda: store.delete("review", "secret"),
    ):
        with pytest.raises(StateError, match=r"link|directory"):
            call()
    locks = FileStore(tmp_path / "other")
    locks.folder("task").mkdir(parents=True)
    (locks.folder("task") / ".locks").symlink_to(outside)
    with pytest.raises(StateError):
        locks.save("task", "t", {})
    assert [p.name for p in outside.iterdir()] == ["secret.json"]
    assert secret.read_text() == '{"n": "outside"}'


@posix
def test_a_fifo_does_not_block(store: FileStore) -> None:
    store.save("task", "t", {"n": 1})
    os.mkfifo(store.folder("task") / "f.json")
    with pytest.raises(StateError, match="regular file"):
        store.load("task", "f")
    with pytest.raises(StateError, match="regular file"):
        store.save("task", "f", {})


# -- other writers ---------------------------------------------------------------------------


@posix
def test_a_file_that_is_swept_before_it_is_locked_is_written_again(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leftoff.stores import atomic

    real = atomic._lock_temporary
    swept: list[Path] = []

    def held(descriptor: int) -> bool:
        if not swept:
            swept.extend(store.folder("task").glob(".*.tmp"))
            swept[0].unlink()
        return real(descriptor)

    monkeypatch.setattr(atomic, "_lock_temporary", held)
    store.save("task", "t", {"n": 1})
    assert len(swept) == 1
    assert loaded(store, "task", "t").document == {"n": 1}
    assert names(store.folder("task")) == ["t.json"]


def test_a_writer_that_does_not_end_is_waited_for_and_said(tmp_path: Path) -> None:
    store = FileStore(tmp_path, timeout=0.05)
    store.save("task", "t", {"n": 1})
    (lock,) = (store.folder("task") / ".locks").iterdir()
    with FileLock(lock), pytest.raises(StateError, match=r"has been writing for 0\.05 s"):
        store.save("task", "t", {"n": 2})
    assert loaded(store, "task", "t").document == {"n": 1}


# -- retention -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keep,days,left",
    [
        (None, None, {0, 1, 2, 3, 4, 5}),
        (2, None, {0, 1}),
        (None, 3, {0, 1, 2}),
        (4, 3, {0, 1, 2, 3}),
        (1, 3, {0, 1, 2}),
        (0, None, set()),
        (0, 0, set()),
    ],
)
def test_number_and_age(
    tmp_path: Path, keep: int | None, days: float | None, left: set[int]
) -> None:
    store, now = FileStore(tmp_path), 1_800_000_000.0
    for age in range(6):  # saved an hour and so many days ago
        path = store.save("resume_log", str(age), {"age": age})
        os.utime(path, (0, now - 3_600 - age * 86_400))
    before: list[Entry] = store.list("resume_log")
    done = prune(store, "resume_log", Retention(keep, days), now=now)
    assert {int(e.id) for e in done.kept} == left
    assert {int(e.id) for e in store.list("resume_log")} == left
    assert set(done.removed) | set(done.kept) == set(before)
