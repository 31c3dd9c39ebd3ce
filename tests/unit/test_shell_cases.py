"""What commands do to files: the table of `shell_cases.jsonl`.

Its first line has the files that each command starts with. `did` is what bash made of the
command (`python -m benchmarks.accuracy.files.cases --run`); rows without it have an outcome that
was made up. `says` stands where leftoff answers less than that.
"""

from __future__ import annotations

import pytest
from benchmarks.accuracy.files.cases import Row, answer, is_false, load

FILES, ROWS = load()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["command"][:60])
def test_what_a_command_did(row: Row) -> None:
    assert answer(FILES, row) == row.get("says", row.get("did"))


def test_no_answer_is_false() -> None:
    assert [row["command"] for row in ROWS if is_false(row)] == []


def test_most_commands_are_answered_in_full() -> None:
    real = [row for row in ROWS if "did" in row]
    assert len(real) > 1_200
    assert sum("says" not in row for row in real) > 0.65 * len(real)
