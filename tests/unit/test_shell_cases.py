"""What commands do to files: the table of `shell_cases.jsonl`.

Its first line has the files that each command starts with. `did` is what bash made of the
command (`python -m benchmarks.accuracy.files.cases --run`); rows without it have an outcome that
was made up. `says` stands where leftoff answers less than that.
"""

import pytest
from benchmarks.accuracy.files.cases import answer, is_false, load

FILES, ROWS = load()
# Commands that one test looks at: a test for each takes longer to start than to run.
BLOCK = 64


@pytest.mark.parametrize("start", range(0, len(ROWS), BLOCK))
def test_what_commands_did(start: int) -> None:
    rows = ROWS[start : start + BLOCK]
    expected = [(row["command"], row.get("says", row.get("did"))) for row in rows]
    assert [(row["command"], answer(FILES, row)) for row in rows] == expected


def test_no_answer_is_false() -> None:
    assert [row["command"] for row in ROWS if is_false(row)] == []


def test_two_fifths_of_the_commands_are_answered_in_full() -> None:
    """The others are rare in real sessions, and "may have changed" is said of them."""
    real = [row for row in ROWS if "did" in row]
    assert len(real) > 1_200
    assert sum("says" not in row for row in real) > 0.4 * len(real)
