"""The memory of projects: what is stored of sessions, and what search, blame, fix and ledger say."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.claude_code import Recording

from leftoff.batch import work
from leftoff.errors import SourceError, StateError, UsageError
from leftoff.memory.blame import blame
from leftoff.memory.fixes import fixes, last_failure
from leftoff.memory.index import forget, statistics, update
from leftoff.memory.ledger import ledger, never_taken_up
from leftoff.memory.memory import Memory
from leftoff.memory.search import Filters
from leftoff.stores.atomic import Directory

PROJECT = "/home/dev/shop"


class Recorder:
    """Writes sessions as Claude Code records them, and reads them into an index."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder, self.index = folder, index
        self.sessions = 0

    def read_all(self) -> Any:
        return update(self.index, [str(self.folder)], environ={})

    def remember(self, *events: tuple[Any, ...], project: str = PROJECT) -> Memory:
        """The memory with one more session."""
        self.session(*events, project=project)
        self.read_all()
        return Memory(self.index)

    def session(self, *events: tuple[Any, ...], project: str = PROJECT) -> Path:
        """Events: ("person", text), ("agent", text, command it runs, if any), ("Bash" | "Write" | "Edit", input, output)
        and ("failed", command, output)."""
        self.sessions += 1
        name = f"{self.sessions:08d}-0000-4000-8000-{self.sessions:012d}"
        key = f"00000000-0000-4000-8000-{self.sessions:06d}{{n:06d}}"
        clock = f"2026-03-{self.sessions:02d}T10:{{n:02d}}:00.000Z"
        made = Recording(key=key, clock=clock, sessionId=name, cwd=project)
        for what, first, *rest in events:
            if what == "person":
                made.say(first)
            elif what == "agent":
                made.answer(first)
                for command in rest:
                    made.call("Bash", {"command": command}, "")
            else:
                tool = "Bash" if what == "failed" else what
                given = {"command": first} if tool == "Bash" else first
                made.call(tool, given, rest[0], failed=what == "failed")
        path = made.save(self.folder / f"{name}.jsonl")
        # A file that was written just now may change again with the same time: it is read again.
        os.utime(path, (self.sessions, self.sessions))
        return path


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite3"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "recordings"
    made.mkdir()
    return made


@pytest.fixture
def recorder(folder: Path, index: Path) -> Recorder:
    return Recorder(folder, index)


def test_search_finds_what_was_decided_and_says_where(recorder: Recorder) -> None:
    recorder.session(
        ("person", "The cart loses its items after a reload. Please find out why."),
        ("agent", "I decided against localStorage because two tabs race, so SQLite it is."),
    )
    memory = recorder.remember(
        ("person", "Translate the checkout page to Polish"), ("agent", "Done.")
    )
    first = memory.search("where is the cart stored, localStorage?")[0]
    assert (first.kind, first.speaker, first.number) == ("decision", "agent", 2)
    assert first.session.startswith("00000001")
    assert first.project == PROJECT
    assert "SQLite" in first.text


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
        (Filters(without="00000001-0000-4000-8000-000000000001"), 1),
    ],
)
def test_filters(recorder: Recorder, filters: Filters, count: int) -> None:
    recorder.session(("person", "Rename the invoice exporter"), ("agent", "Done."))
    memory = recorder.remember(
        ("person", "Why does the invoice exporter fail?"), project="/home/dev/books"
    )
    found = memory.search("invoice exporter", filters)
    assert len(found) == count


def test_unknown_kinds_and_empty_queries_are_the_callers_mistakes(index: Path) -> None:
    with pytest.raises(UsageError, match="kind is one of"):
        Memory(index).search("x1", Filters(kinds=("nonsense",)))
    with pytest.raises(UsageError, match="no word to look for"):
        Memory(index).search("of the ,")
    with pytest.raises(SourceError, match="there is no index yet"):
        Memory(index).search("exporter")


def test_a_misspelt_name_is_found_and_parts_of_names_are(recorder: Recorder) -> None:
    memory = recorder.remember(
        ("person", "Look at parseInvoiceTotal in invoice_totals.py"), ("agent", "It is fine.")
    )
    for query in ("parseInvoceTotal", "invoice_totls.py", "InvoiceTotal", "invoice_totals"):
        assert memory.search(query)[0].text.startswith("Look at"), query


def test_a_query_for_a_file_gives_what_was_seen_of_it_and_not_that_it_was_read(
    recorder: Recorder,
) -> None:
    path = f"{PROJECT}/shop/cart/totals.py"
    code = "def sum_of_items(items):\n    return apply_voucher(items)\n\ndef tax_rate():\n"
    memory = recorder.remember(
        ("person", "Why is cart/totals.py in shop slow? Look at shop and cart and totals.py"),
        ("Read", {"file_path": f"{PROJECT}/shop/cart/items.py"}, "ITEMS = 3\n"),
        ("Read", {"file_path": path}, code),
        ("agent", "It is fine."),
    )
    first, *others = memory.search(f"./{path.removeprefix(PROJECT)}")
    assert first.kind == "seen"
    assert first.text.splitlines()[1:] == ["def sum_of_items", "def tax_rate", "apply_voucher"]
    assert not [h for h in others if h.text.startswith(path)]


def test_a_repeated_command_is_one_result_with_its_last_outcome(recorder: Recorder) -> None:
    memory = recorder.remember(
        ("person", "Run the tests"),
        ("Bash", "python -m pytest -q tests/cart", "FAILED tests/cart.py::test_sum\n1 failed"),
        ("Bash", "python -m pytest -q tests/cart", "tests/cart.py\n3 passed in 0.10s"),
        ("agent", "Clean."),
    )
    hits = memory.search("python -m pytest -q tests/cart")
    (found,) = [h for h in hits if h.kind in {"seen", "command", "check"}]
    assert found.kind == "seen"
    assert found.note.startswith("passed")
    assert "3 passed" in found.text


def test_a_reason_is_not_repeated(recorder: Recorder) -> None:
    memory = recorder.remember(
        ("person", "Store the cart"),
        ("agent", "I decided against localStorage because two tabs race, so SQLite it is."),
    )
    found = memory.search("localStorage", Filters(kinds=("decision",)))
    assert [hit.note for hit in found] == [""]


def test_a_reason_is_not_left_out_for_the_name_of_a_file(recorder: Recorder) -> None:
    """The path, the best result of the message, stands in the decision: the longer text was
    taken for a repetition of the shorter one."""
    why = "I decided to delete shop/vouchers.py because no module imports it."
    memory = recorder.remember(
        ("person", "Where do vouchers live?"), ("agent", why, "rm shop/vouchers.py")
    )
    found = [hit.text for hit in memory.search("shop/vouchers.py")]
    assert found[0] == "shop/vouchers.py"
    assert why in found


def test_chinese_text_is_found_by_part(recorder: Recorder) -> None:
    memory = recorder.remember(
        ("person", "请把购物车的数据保存到数据库里"), ("agent", "好的。")
    )
    assert memory.search("购物车")[0].speaker == "person"


def test_a_session_that_grew_is_replaced_not_doubled(recorder: Recorder, index: Path) -> None:
    path = recorder.session(("person", "Add a voucher field"), ("agent", "Added."))
    recorder.read_all()
    before = statistics(index)
    assert recorder.read_all().read == 0
    recorder.sessions -= 1
    memory = recorder.remember(
        ("person", "Add a voucher field"),
        ("agent", "Added."),
        ("person", "Vouchers must never stack."),
        ("agent", "Understood."),
    )
    after = statistics(index)
    assert after["sessions"] == before["sessions"] == 1
    assert len(memory.search("voucher")) == 2
    path.write_bytes(b"no recording any more\n")
    recorder.read_all()
    assert statistics(index)["not read"] == 1
    assert memory.search("voucher") == []


def test_what_was_read_before_stays_while_its_file_cannot_be_read(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = recorder.remember(("person", "Add a voucher field"), ("agent", "Added."))
    (path,) = recorder.folder.glob("*.jsonl")
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])

    def fail(*_given: object) -> None:
        raise SourceError(f"{path}: Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(work, "feed_file", fail)
        assert recorder.read_all().failures == 1
    assert len(memory.search("voucher")) == 1
    assert recorder.read_all().read > 0
    assert len(memory.search("voucher")) == 1


def test_of_a_session_that_goes_on_only_the_new_lines_are_read(
    recorder: Recorder, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "MIN_MEMORY_SIZE", 1)
    events: list[tuple[Any, ...]] = [("person", "Add a voucher field")]
    events += [
        ("Read", {"file_path": f"{PROJECT}/{n}.txt"}, "Amount of a voucher.\n" * 500)
        for n in range(20)
    ]
    path = recorder.session(*events)
    os.utime(path)
    recorder.read_all()
    recorder.sessions -= 1
    recorder.session(*events, ("person", "Vouchers must never stack."))
    os.utime(path)
    assert recorder.read_all().read < 0.1 * path.stat().st_size
    assert Memory(index).search("vouchers never stack")[0].text == "Vouchers must never stack."


def test_an_index_of_another_version_is_built_anew(recorder: Recorder, index: Path) -> None:
    memory = recorder.remember(("person", "Add a voucher field"), ("agent", "Added."))
    with closing(sqlite3.connect(index)) as db:
        db.execute("UPDATE about SET value = '1' WHERE name = 'memory'")
        db.commit()
    with pytest.raises(StateError, match="of another version"):
        memory.search("voucher")
    recorder.read_all()
    assert len(memory.search("voucher")) == 1


def test_deleted_recordings_leave_on_request(recorder: Recorder, index: Path) -> None:
    path = recorder.session(("person", "Add a voucher field"), ("agent", "Added."))
    memory = recorder.remember(("person", "Remove the banner"), ("agent", "Removed."))
    path.unlink()
    recorder.read_all()
    assert memory.search("voucher")  # until it is asked for
    assert forget(index, missing_only=True) == 1
    assert memory.search("voucher") == []
    assert memory.search("banner")
    db = sqlite3.connect(index)
    stored = db.execute("SELECT sum(count) FROM blocks").fetchone()[0]
    indexed = db.execute("SELECT count(*) FROM terms_docsize").fetchone()[0]
    db.close()
    assert stored == indexed
    assert forget(index, missing_only=False) == 1
    assert not index.exists()


def test_a_disk_that_cannot_be_written_is_said_in_words(
    recorder: Recorder, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.remember(("person", "Add a voucher field"), ("agent", "Added."))

    def refuse(*_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Directory, "lock", refuse)
    with pytest.raises(StateError, match=r"cannot be written \(Read-only file system\)"):
        forget(index, missing_only=False)
    assert index.exists()


def test_two_updates_at_once_do_the_work_once(recorder: Recorder, index: Path) -> None:
    recorder.session(("person", "Add a voucher field"), ("agent", "Added."))
    from leftoff.memory.lookup import NAME
    from leftoff.stores.atomic import create_and_open

    with create_and_open(index.parent) as folder, folder.lock(f"{NAME}.lock", 1):
        assert recorder.read_all() is None
    assert recorder.read_all().done == 1


def test_a_file_that_is_no_index_is_said_to_be_none(recorder: Recorder, index: Path) -> None:
    recorder.session(("person", "Add a voucher field"), ("agent", "Added."))
    index.write_bytes(b"something else, long enough to be read as a header of a database")
    with pytest.raises(StateError, match="or name another with LEFTOFF_MEMORY"):
        recorder.read_all()
    with pytest.raises(StateError):
        Memory(index).search("voucher")


# -- blame -----------------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_blame_names_the_edit_the_request_and_the_decision(
    recorder: Recorder, index: Path, shop: Path
) -> None:
    file = shop / "cart.py"
    recorder.session(
        ("person", "Write a cart with a total"),
        (
            "Write",
            {"file_path": str(file), "content": "def total(items):\n    return sum(items)\n"},
            "ok",
        ),
        project=str(shop),
    )
    recorder.session(
        ("person", "Prices are in cents, show euros"),
        ("agent", "I decided against dividing in every caller because they forget it."),
        (
            "Edit",
            {
                "file_path": str(file),
                "old_string": "    return sum(items)",
                "new_string": "    return sum(items) / 100",
            },
            "ok",
        ),
        ("Bash", "git commit -am 'Show euros'", "[main 1a2b3c4] Show euros\n 1 file changed"),
        project=str(shop),
    )
    file.write_text("def total(items):\n    return sum(items) / 100\n\n# by hand\n")
    recorder.read_all()
    first, second, *_, last = blame(index, file)
    assert (first.first, first.last) == (1, 1)
    assert first.edit is not None
    assert first.edit.session.startswith("00000001")
    assert second.edit is not None
    assert second.edit.session.startswith("00000002")
    assert second.request is not None
    assert second.request.text == "Prices are in cents, show euros"
    assert second.decisions[0].text.startswith("I decided against dividing")
    assert second.commit is not None
    assert second.commit.note == "1a2b3c4 main"
    assert last.edit is None
    with pytest.raises(UsageError, match="has 4 lines, not 9"):
        blame(index, file, (9, 9))
    with pytest.raises(SourceError):
        blame(index, shop / "absent.py")


def test_a_rewritten_file_keeps_the_writers_of_unchanged_lines(
    recorder: Recorder, index: Path, shop: Path
) -> None:
    file = shop / "cart.py"
    for text in ("ITEMS = 10\n", "ITEMS = 10\nLIMIT = 5\n"):
        recorder.session(
            ("person", "Write it"),
            ("Write", {"file_path": str(file), "content": text}, "ok"),
            project=str(shop),
        )
    file.write_text("ITEMS = 10\nLIMIT = 5\n")
    recorder.read_all()
    found = [origin.edit and origin.edit.session[:8] for origin in blame(index, file)]
    assert found == ["00000001", "00000002"]


def test_a_failed_edit_wrote_nothing(recorder: Recorder, index: Path, shop: Path) -> None:
    file = shop / "cart.py"
    path = recorder.session(
        ("person", "Write it"),
        ("Write", {"file_path": str(file), "content": "ITEMS = 10\n"}, "denied"),
        project=str(shop),
    )
    path.write_bytes(path.read_bytes().replace(b'"is_error": false', b'"is_error": true'))
    file.write_text("ITEMS = 10\n")
    recorder.read_all()
    assert [origin.edit for origin in blame(index, file)] == [None]


# -- fix and ledger --------------------------------------------------------------------------


def test_fix_shows_what_was_edited_between_the_failure_and_the_clean_run(
    recorder: Recorder, index: Path
) -> None:
    command = "python -m pytest -q tests"
    recorder.remember(
        ("person", "Run the tests"),
        ("failed", command, "Exit code 1\nE   ModuleNotFoundError: No module named 'shop.vat'"),
        ("Write", {"file_path": f"{PROJECT}/shop/vat.py", "content": "RATE = 19\n"}, "ok"),
        ("Bash", command, "3 passed in 0.10s"),
        ("agent", "Clean."),
    )
    error = "E   ModuleNotFoundError: No module named 'shop.rates'"
    found = fixes(index, error)
    assert found[0].failure.note.startswith("fixed")
    assert [edit.path for edit in found[0].edits] == [f"{PROJECT}/shop/vat.py"]
    assert fixes(index, "Segmentation fault in libfoo") == []
    with pytest.raises(UsageError, match="no error is given"):
        fixes(index, " \n")


def test_the_ledger_says_how_often_and_only_what_holds(recorder: Recorder, index: Path) -> None:
    for text in (
        "Never use Docker on this machine, it is not installed.",
        "Please never use Docker on this machine: not installed.",
    ):
        recorder.session(("person", text), ("agent", "Understood."))
    recorder.read_all()
    (only,) = ledger(index, Filters(project=PROJECT))
    assert only.times == 2
    assert not only.ended
    assert only.last.session.startswith("00000002")
    assert ledger(index, Filters(project="/home/dev/other")) == []


def test_what_a_later_session_took_up_is_not_open(recorder: Recorder, index: Path) -> None:
    recorder.remember(
        ("person", "Add vouchers"),
        (
            "agent",
            "Next steps:\n- Document the voucher endpoint in api.yaml\n- Limit voucher redemption",
        ),
    )
    before = {hit.text for hit in never_taken_up(index, Filters(project=PROJECT))}
    recorder.remember(
        ("person", "Document the voucher endpoint in api.yaml"), ("agent", "Done.")
    )
    after = {hit.text for hit in never_taken_up(index, Filters(project=PROJECT))}
    assert len(before) == 2
    assert list(after) == [t for t in before if "Limit" in t]


# -- said once, of every session, with paths that hold everywhere ------------------------------


def record(folder: Path, name: str, *events: tuple[str, Any]) -> Path:
    """A session of Claude Code: ("user" | "assistant", text) and ("failed", output)."""
    clock = "2026-03-01T10:{n:02d}:00.000Z"
    made = Recording(key=f"{name}-{{n}}", clock=clock, sessionId=name, cwd=PROJECT)
    for what, said in events:
        if what == "user":
            made.say(said)
        elif what == "assistant":
            made.answer(said)
        else:
            made.call("Bash", {"command": "make"}, said, failed=True)
    return made.save(folder / f"{name}.jsonl")


def test_two_recordings_of_one_session_are_one_session(folder: Path, tmp_path: Path) -> None:
    """A copy that was saved later once counted as a second session that requires the same."""
    rule = "Never store the prices of parcels as floats."
    index = tmp_path / "memory.sqlite3"
    one = record(folder, "first", ("user", "Add a till"), ("user", rule), ("assistant", "Yes."))
    shutil.copyfile(one, folder / "saved-again.jsonl")
    update(index, [folder], environ={})
    (standing,) = ledger(index, Filters(project=PROJECT))
    assert (standing.last.text, standing.times) == (rule, 1)
    record(folder, "second", ("user", "Add a cart"), ("user", rule), ("assistant", "Yes."))
    update(index, [folder], environ={})
    assert ledger(index, Filters(project=PROJECT))[0].times == 2


def test_words_of_one_message_are_one_result(folder: Path, tmp_path: Path) -> None:
    """The message and the rule in it were two results."""
    asked = "Port the parcel reader. Never store the prices of parcels as floats, please."
    record(folder, "first", ("user", "Hello"), ("user", asked), ("assistant", "Ported."))
    index = tmp_path / "memory.sqlite3"
    update(index, [folder], environ={})
    texts = [hit.text for hit in Memory(index).search("parcel prices floats")]
    assert texts == [
        "Never store the prices of parcels as floats, please.",
        "Port the parcel reader.",
    ]


def test_relative_paths_are_stored_as_absolute_ones(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`leftoff memory forget` in another directory removed every session of such paths."""
    record(folder, "first", ("user", "Add a voucher field"), ("assistant", "Added."))
    index = tmp_path / "memory.sqlite3"
    monkeypatch.chdir(folder)
    update(index, ["first.jsonl"], environ={})
    monkeypatch.chdir(tmp_path)
    assert forget(index, missing_only=True) == 0
    (hit,) = Memory(index).search("voucher")
    assert hit.recording == str(folder / "first.jsonl")


def test_failures_much_less_alike_than_the_best_are_left_out(
    folder: Path, tmp_path: Path
) -> None:
    record(
        folder,
        "first",
        ("user", "Build it"),
        ("failed", "error: parcel 17 has no price in table tariffs"),
        (
            "failed",
            "error: parcel has weight but no shelf anywhere in the long list of shelves",
        ),
    )
    index = tmp_path / "memory.sqlite3"
    update(index, [folder], environ={})
    found = fixes(index, "error: parcel 99 has no price in table tariffs")
    assert [one.failure.text for one in found] == [
        "Bash: error: parcel 17 has no price in table tariffs"
    ]


def test_an_index_that_was_compacted_says_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        record(folder, f"s{number}", ("user", f"Count the parcels of shelf {number}"))
    loose, compact = tmp_path / "loose.sqlite3", tmp_path / "compact.sqlite3"
    update(loose, [folder], environ={})
    monkeypatch.setattr("leftoff.memory.index.COMPACTED_FROM", 12)
    update(compact, [folder], environ={})
    assert compact.stat().st_size <= loose.stat().st_size
    assert Memory(compact).search("parcels shelf 7") == Memory(loose).search("parcels shelf 7")
    record(folder, "s3", ("user", "Count the parcels of shelf 3"), ("user", "And the boats"))
    update(compact, [folder], environ={})
    assert Memory(compact).search("boats")[0].session == "s3"


def test_the_last_failure_is_not_its_own_fix(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "memory.sqlite3"
    failure = "error: parcel {} has no price in table tariffs"
    record(folder, "first", ("user", "Build it"), ("failed", failure.format(17)))
    update(index, [folder], environ={})
    last = last_failure(index, Filters(project=PROJECT))
    assert last is not None
    assert fixes(index, last.text, but=last) == []
    record(folder, "second", ("user", "Build it"), ("failed", failure.format(4)))
    update(index, [folder], environ={})
    assert len(fixes(index, last.text, but=last)) == 1
    assert last_failure(index, Filters(project="/home/dev/other")) is None
