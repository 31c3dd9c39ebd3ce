"""The memory of projects where a disk, a process or a version is in the way, and what is kept.

What `search`, `blame`, `fix` and `ledger` say of sessions is in tests/cli/cases/search.cases.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_calls import session

from leftoff.batch import work
from leftoff.errors import SourceError, StateError, UsageError
from leftoff.memory.index import forget, statistics, update
from leftoff.memory.lookup import NAME
from leftoff.memory.memory import Memory
from leftoff.memory.search import Filters
from leftoff.stores.atomic import Directory, create_and_open

PROJECT = "/home/dev/shop"
VOUCHER = ("> Add a voucher field", "< Added.")


class Recorder:
    """Writes sessions as Claude Code records them, and reads them into an index."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder, self.index = folder, index
        folder.mkdir(parents=True)

    def session(self, name: str, *items: Any, day: int = 1, project: str = PROJECT) -> Path:
        about = {"sessionId": name, "cwd": project}
        about["timestamp"] = f"2026-03-{day:02d}T10:{{n:02d}}:00.000Z"
        path = self.folder / f"{name}.jsonl"
        path.write_bytes(session([about, *items]))
        # A file that was written just now may change again with the same time: it is read again.
        os.utime(path, (day, day))
        return path

    def read_all(self, index: Path | None = None) -> Any:
        return update(index or self.index, [str(self.folder)], environ={})


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "recordings", tmp_path / "memory.sqlite3")


@pytest.fixture
def memory(recorder: Recorder) -> Memory:
    """The memory of one session."""
    recorder.session("one", *VOUCHER)
    recorder.read_all()
    return Memory(recorder.index)


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (Filters(), 2),
        (Filters(project="/home/dev/shop"), 1),
        (Filters(project="/home/dev"), 2),
        (Filters(project="/home/de"), 0),
        (Filters(since="2026-03-02"), 1),
        (Filters(until="2026-03-02"), 1),
        (Filters(speakers=("agent",)), 0),
        (Filters(kinds=("request",)), 2),
        (Filters(without="one"), 1),
    ],
)
def test_filters(recorder: Recorder, filters: Filters, count: int) -> None:
    recorder.session("one", "> Rename the invoice exporter", "< Done.")
    asked = "> Why does the invoice exporter fail?"
    recorder.session("two", asked, day=2, project="/home/dev/books")
    recorder.read_all()
    assert len(Memory(recorder.index).search("invoice exporter", filters)) == count


def test_an_unknown_kind_is_the_callers_mistake(recorder: Recorder) -> None:
    with pytest.raises(UsageError, match="kind is one of"):
        Memory(recorder.index).search("x1", Filters(kinds=("nonsense",)))


def test_what_a_subagent_saw_has_its_message_in_the_recording_of_its_own(
    recorder: Recorder,
) -> None:
    own = {"isSidechain": True, "agentId": "helper"}
    read = ["Read", {"file_path": "/home/dev/shop/vat.py"}, "1 def vat(): return 19"]
    recorder.session("one", own, "> Look for the rate", read)
    recorder.read_all()
    hits = Memory(recorder.index).search("vat", Filters(kinds=("seen",)))
    assert [hit.number for hit in hits] == [2]


def test_a_session_that_did_not_change_is_not_read(recorder: Recorder, memory: Memory) -> None:
    before = statistics(recorder.index)
    assert recorder.read_all().read == 0
    assert statistics(recorder.index) == before


def test_what_was_read_before_stays_while_its_file_cannot_be_read(
    recorder: Recorder, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recorder.session("one", *VOUCHER, "< And more.", day=2)

    def fail(*_given: object) -> None:
        raise SourceError(f"{path}: Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(work, "feed_file", fail)
        assert recorder.read_all().failures == 1
    assert len(memory.search("voucher")) == 1
    assert recorder.read_all().read > 0
    assert len(memory.search("voucher")) == 1


def test_of_a_session_that_goes_on_only_the_new_lines_are_read(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "MIN_MEMORY_SIZE", 1)
    items: list[Any] = ["> Add a voucher field"]
    items += [
        ["Read", {"file_path": f"{PROJECT}/{n}.txt"}, "Amount of a voucher.\n" * 500]
        for n in range(20)
    ]
    path = recorder.session("one", *items)
    os.utime(path)
    recorder.read_all()
    recorder.session("one", *items, "> Vouchers must never stack.")
    os.utime(path)
    assert recorder.read_all().read < 0.1 * path.stat().st_size
    (first, *_) = Memory(recorder.index).search("vouchers never stack")
    assert first.text == "Vouchers must never stack."


def test_an_index_of_another_version_is_built_anew(recorder: Recorder, memory: Memory) -> None:
    with closing(sqlite3.connect(recorder.index)) as db:
        db.execute("UPDATE about SET value = '1' WHERE name = 'memory'")
        db.commit()
    with pytest.raises(StateError, match="of another version"):
        memory.search("voucher")
    recorder.read_all()
    assert len(memory.search("voucher")) == 1


def test_of_a_deleted_recording_no_word_stays(recorder: Recorder, memory: Memory) -> None:
    recorder.session("two", "> Remove the banner", "< Removed.", day=2)
    recorder.read_all()
    (recorder.folder / "one.jsonl").unlink()
    assert forget(recorder.index, missing_only=True) == 1
    with closing(sqlite3.connect(recorder.index)) as db:
        stored = db.execute("SELECT sum(count) FROM blocks").fetchone()[0]
        indexed = db.execute("SELECT count(*) FROM terms_docsize").fetchone()[0]
    assert stored == indexed > 0


def test_a_disk_that_cannot_be_written_is_said_in_words(
    recorder: Recorder, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Directory, "lock", refuse)
    with pytest.raises(StateError, match=r"cannot be written \(Read-only file system\)"):
        forget(recorder.index, missing_only=False)
    assert recorder.index.exists()


def test_two_updates_at_once_do_the_work_once(recorder: Recorder) -> None:
    recorder.session("one", *VOUCHER)
    with create_and_open(recorder.index.parent) as home, home.lock(f"{NAME}.lock", 1):
        assert recorder.read_all() is None
    assert recorder.read_all().done == 1


def test_an_index_that_was_compacted_says_the_same(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        recorder.session(f"s{number}", f"> Count the parcels of shelf {number}")
    loose, compact = tmp_path / "loose.sqlite3", tmp_path / "compact.sqlite3"
    recorder.read_all(loose)
    monkeypatch.setattr("leftoff.memory.index.COMPACTED_FROM", 12)
    recorder.read_all(compact)
    assert compact.stat().st_size <= loose.stat().st_size
    assert Memory(compact).search("parcels shelf 7") == Memory(loose).search("parcels shelf 7")
    recorder.session("s3", "> Count the parcels of shelf 3", "> And the boats", day=2)
    recorder.read_all(compact)
    assert Memory(compact).search("boats")[0].session == "s3"
