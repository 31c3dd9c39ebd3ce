"""Calls and plug-ins that are wrong, or seem so."""

import errno
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leftoff
from leftoff.__main__ import main
from leftoff.batch.index import Index, index_error
from leftoff.errors import FormatError, StateError, UnknownName, UsageError
from leftoff.registry import Registry

# A wrong call, a full disk and a budget that fits nothing are answered with the right reason.
#
# `summarize(b"...")` looked for a file named `b'...'`, `to_dataframe([b"{}"])` failed on an attribute
# of a string, a batch on a full disk said that its index was "no index of a batch, or in use", and
# `--budget 10` printed nothing with exit 0.

GOOD = b'{"leftoff":"session/1","id":"s"}\n{"role":"user","text":"Rename the flag to --dry-run."}\n'


def test_many_names_are_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("nothing of a session")
    with pytest.raises(UnknownName) as wrong:
        leftoff.summarize(path, format="claude_cod")
    assert "did you mean 'claude_code'" in str(wrong.value)
    assert "toolbench" not in str(wrong.value)
    with pytest.raises(FormatError) as unread:
        leftoff.summarize(path)
    assert "toolbench" not in str(unread.value)
    assert "leftoff plugins" in str(unread.value)
    with pytest.raises(UnknownName, match="none like it; 30 in all"):
        raise UnknownName("colour", "zzz", [f"name{n}" for n in range(30)])
    with pytest.raises(UnknownName, match=r"known: blue, red\)"):
        raise UnknownName("colour", "zzz", ["red", "blue"])


@pytest.mark.parametrize("form", ["prompt"])
def test_a_budget_that_fits_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out.md"
    path.write_bytes(GOOD)
    words = ["summarize", str(path), "-f", form, "--budget", "10"]
    assert main(words) == 2
    assert main([*words, "-o", str(out)]) == 2
    assert not out.exists()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "a prompt needs at least" in shown.err


# -- the index of a batch ---------------------------------------------------------------------


def test_a_file_that_is_no_index(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_text("words " * 1000)
    with pytest.raises(StateError, match="or name another with --index"):
        Index(str(path), "", 0)
    assert path.read_text() == "words " * 1000


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "cannot be written"),
        (errno.EACCES, "cannot be written"),
        (errno.EIO, "cannot be used"),
    ],
)
def test_a_disk_that_does_not_take_an_index(number: int, said: str) -> None:
    assert said in str(index_error("a", OSError(number, "why")))


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """While results are stored: SQLite raises it long after the index was opened."""
    path = str(tmp_path / "index")
    index = Index(path, "", 0)
    index._db.execute("PRAGMA max_page_count = 8")
    with pytest.raises(StateError, match="the disk is full"), index.failures_explained():
        for number in range(1000):
            index.set_about(f"name {number}", "x" * 1000)
    index.close()


def test_a_database_that_is_read_only(tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    Index(path, "", 0).close()
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as opened:
        with pytest.raises(sqlite3.Error) as raised:
            opened.execute("CREATE TABLE a (b)")
        opened.rollback()
    assert "cannot be written" in str(index_error(path, raised.value))


# A plug-in may decorate what it brings by entry point.
#
# The documentation showed both, the decorator in the module and the entry point in the package, and
# who followed it was refused: "two formats are named 'diary': one of leftoff-diary, one of
# leftoff_diary". Following the page step by step as a test brought it to light. A format is a value
# of leftoff's own class, so the refusal came back for it as "one of leftoff.formats.reader": the
# owner of a value is the module that registers it.


@pytest.fixture(
    params=[
        "@SHELF.register('mine')\nclass Tape: ...",
        "Tape = SHELF.register('mine')(Path())",
    ],
    ids=["class", "value"],
)
def known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Registry[Any]]:
    """A registry, and a package that both decorates and has an entry point."""
    fresh: Registry[Any] = Registry("cassette")
    monkeypatch.setitem(sys.modules, "shelf_of_tests", type(sys)("shelf_of_tests"))
    monkeypatch.setattr(sys.modules["shelf_of_tests"], "SHELF", fresh, raising=False)
    (tmp_path / "taped.py").write_text(
        f"from pathlib import Path\n\nfrom shelf_of_tests import SHELF\n\n\n{request.param}\n"
    )
    info = tmp_path / "our_tapes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-tapes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[leftoff.cassette]\nmine = taped:Tape\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield fresh
    sys.modules.pop("taped", None)


def test_it_may_be_found_first(known: Registry[Any]) -> None:
    assert known.get("mine") is sys.modules["taped"].Tape
    assert known.owners() == {"mine": "our-tapes"}


def test_it_may_be_imported_first(known: Registry[Any]) -> None:
    import taped  # type: ignore[import-not-found]

    assert known.get("mine") is taped.Tape
    assert known.owners() == {"mine": "our-tapes"}
    assert known.names() == ["mine"]
    assert known.get("mine") is taped.Tape


def test_a_second_thing_of_the_name_is_refused(known: Registry[Any]) -> None:
    known.get("mine")
    with pytest.raises(UsageError, match="two cassettes are named 'mine': one of our-tapes"):
        known.register("mine")(type("Other", (), {"__module__": "taped"}))


def test_another_package_cannot_take_the_name(known: Registry[Any]) -> None:
    known.register("mine")(type("Other", (), {"__module__": "elsewhere"}))
    with pytest.raises(UsageError, match="one of elsewhere, one of our-tapes"):
        known.owners()
