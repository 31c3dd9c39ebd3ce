"""What the memory says is said once, of every session, and with paths that hold everywhere."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.claude_code import Recording

from leftoff.handover.recall import short_name
from leftoff.memory.fixes import fixes, last_failure
from leftoff.memory.index import forget, update
from leftoff.memory.ledger import ledger
from leftoff.memory.memory import Memory
from leftoff.memory.search import Filters

PROJECT = "/home/dev/shop"


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "recordings"
    made.mkdir()
    return made


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


@pytest.mark.parametrize(
    ("session", "short"),
    [
        ("b0b81e65-570d-4942-ad6e-0c3cf7b0e511", "b0b81e65"),
        ("01a207d8-2d44-73a3-87a9-456c105a0493", "01a207d8-2d44"),
        ("ses_31a4b9127ffe", "ses_31a4b9127ffe"),
    ],
)
def test_the_short_name_of_a_session_is_its_own(session: str, short: str) -> None:
    """All sessions that Codex began in one minute had the same short name."""
    assert short_name(session) == short
