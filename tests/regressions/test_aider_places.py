"""What aider prints was read by the wrong number, in the wrong time and at the wrong place.

A count of thousands of digits ended the reading; many blocks that failed, one after the other,
took the square of their number; and an edit of a form that is no call stood where the commit
after it stands, so that the commit of a reply did not hold the reply's own files.
"""

from __future__ import annotations

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
