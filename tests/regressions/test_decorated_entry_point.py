"""A plug-in may decorate what it brings by entry point.

The documentation showed both, the decorator in the module and the entry point in the package, and
who followed it was refused: "two formats are named 'diary': one of leftoff-diary, one of
leftoff_diary". Following the page step by step as a test brought it to light. A format is a value
of leftoff's own class, so the refusal came back for it as "one of leftoff.formats.reader": the
owner of a value is the module that registers it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff.errors import UsageError
from leftoff.registry import Registry


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
