"""Small parts of the long programs in `tests/reliability`: `injections.py`, `terminals.py`,
`escapes.py` and `leaks.py`, which `.ci/extras.d/70-hostile.sh` runs at more length."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has clients that are shell scripts")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, root: Path) -> Any:
    """Imports one of the programs."""
    monkeypatch.syspath_prepend(str(root))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"tests.reliability.{name}")

    return load


@pytest.mark.parametrize("seed", range(40, 48))
def test_what_tools_say_stays_where_tools_are_quoted(
    programs: Any, seed: int, tmp_path: Path
) -> None:
    found = programs("injections")
    name = list(found.MAKERS)[seed % len(found.MAKERS)]
    assert found.checked(seed, name, tmp_path) == []


LINES = ("list", "summarize S", "summarize S -f markdown", "summarize S --json", "show S#1-60",
         "log create S --stdout", "export S", "budget S", "checkpoint create S --json",
         "resume --save S", "resume --list", "convert S --to leftoff", "summarize damaged.jsonl",
         "log create S --id one", "log list", "no-such-command")  # fmt: skip


def test_no_print_and_no_file_has_a_control_character(programs: Any, tmp_path: Path) -> None:
    found = programs("terminals")
    commands = [found.Command(tuple(line.split())) for line in LINES]
    known: dict[str, Any] = {"pipe": frozenset(), "colours": None, "terminal": None}
    scene = found.Scene(tmp_path / "clean", found.recording([""]))
    for how in ("colours", "terminal"):
        told = [ran.both for ran in found.run(scene, how, commands)]
        known[how] = frozenset(e for text in told for e in found.ESCAPE.findall(text))
    _, wrong = found.checked(tmp_path / "hostile", found.PIECES, known, commands)
    assert wrong == []


def test_hostile_ids_stay_inside_of_every_store(programs: Any, tmp_path: Path) -> None:
    found = programs("escapes")
    counts, wrong = found.ids(tmp_path, 40)
    assert wrong == []
    assert counts["files: tried"] > counts["files: refused"] > 10
