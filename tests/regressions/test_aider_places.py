"""What aider prints was read by the wrong number, in the wrong time and at the wrong place.

A count of thousands of digits ended the reading; many blocks that failed, one after the other,
took the square of their number; and an edit of a form that is no call stood where the commit
after it stands, so that the commit of a reply did not hold the reply's own files.
"""

from collections.abc import Callable

import pytest

from leftoff import Pass

HEAD = "# aider chat started at 2026-01-02 03:04:05\n\n#### write the table  \n\n"


def read(printed: list[str], reply: str = "Here it is.") -> Pass:
    reading = Pass("aider")
    lines = "".join(f"> {line}  \n" for line in printed)
    reading.feed(f"{HEAD}{reply}\n\n{lines}".encode())
    return reading


@pytest.mark.parametrize(
    "line",
    [
        "# {} SEARCH/REPLACE blocks failed to match!",
        "# The other {} SEARCH/REPLACE blocks were applied",
    ],
)
def test_a_count_of_many_digits(line: str) -> None:
    printed = ["# 1 SEARCH/REPLACE block failed to match!", line.format("9" * 5000)]
    printed.append("Just reply with fixed versions of the block above.")
    assert read(printed).summary().user_requests
    assert read(printed[1:]).summary().user_requests


@pytest.mark.parametrize(
    "last", ["", "Just reply with fixed versions", "The SEARCH section must exactly match"]
)
def test_many_blocks_that_failed(
    last: str, assert_linear: Callable[[Callable[[int], Callable[[], object]], int], None]
) -> None:
    failed = ["# 1 SEARCH/REPLACE block failed to match!", *filter(None, [last])]
    assert_linear(lambda size: lambda: read(failed * size).summary(), 4000)


COMMIT = "Commit 1a2b3c4 feat: the columns"
ASIDE = "Committing other.py before applying edits."


@pytest.mark.parametrize(
    "printed, committed",
    [
        # Aider's commit names no file, so that it may hold these is all that can be said.
        (["Applied edit to table.py", COMMIT], None),
        (["Applied edit to other.py", "Applied edit to table.py", COMMIT], None),
        ([ASIDE, COMMIT, "Applied edit to table.py", "Commit 2b3c4d5 feat: rows"], None),
        ([ASIDE, COMMIT, "Applied edit to table.py"], False),
        ([ASIDE, COMMIT, "Applied edit to table.py", "Unable to commit: disk full"], False),
        (["Applied edit to table.py", COMMIT, "Applied edit to table.py"], False),
        (["Applied edit to table.py"], False),
        (["Applied edit to table.py", "Unable to commit: disk full"], False),
    ],
)
@pytest.mark.parametrize(
    "reply",
    [
        "table.py\n<source>\nx = 2\n</source>",
        "table.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE",
    ],
)
def test_a_commit_holds_what_was_applied_before_it(
    reply: str, printed: list[str], committed: bool | None
) -> None:
    files = read(printed, reply).summary().file_modifications
    assert [f.committed for f in files if f.path.endswith("table.py")] == [committed]
