"""Small parts of the long programs in `tests/fuzz`: `injections.py`, `terminals.py`,
`escapes.py` and `leaks.py`, which `.ci/extras.d/12-hostile.sh` runs at more length."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz import escapes, injections, terminals
from tests.fuzz.commands import Command, Scene

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has clients that are shell scripts")


@pytest.mark.parametrize("seed", range(40, 48))
def test_what_tools_say_stays_where_tools_are_quoted(seed: int, tmp_path: Path) -> None:
    name = list(injections.MAKERS)[seed % len(injections.MAKERS)]
    assert injections.checked(seed, name, tmp_path) == []


LINES = ("list", "summarize S", "summarize S -f markdown", "summarize S --json", "show S#1-60",
         "log create S --stdout", "export S", "budget S", "checkpoint create S --json",
         "resume --save S", "resume --list", "convert S --to leftoff", "summarize damaged.jsonl",
         "log create S --id one", "log list", "no-such-command")  # fmt: skip


def test_no_print_and_no_file_has_a_control_character(tmp_path: Path) -> None:
    commands = [Command(tuple(line.split())) for line in LINES]
    known: dict[str, Any] = {"pipe": frozenset(), "colours": None, "terminal": None}
    scene = Scene(tmp_path / "clean", terminals.recording([""]))
    for how in ("colours", "terminal"):
        told = [ran.both for ran in terminals.run(scene, how, commands)]
        known[how] = frozenset(e for text in told for e in terminals.ESCAPE.findall(text))
    _, wrong = terminals.checked(tmp_path / "hostile", terminals.PIECES, known, commands)
    assert wrong == []


def test_hostile_ids_stay_inside_of_every_store(tmp_path: Path) -> None:
    counts, wrong = escapes.ids(tmp_path, 40)
    assert wrong == []
    assert counts["files: tried"] > counts["files: refused"] > 10
