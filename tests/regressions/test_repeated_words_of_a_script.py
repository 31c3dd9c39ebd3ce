"""A script that repeats one word takes time in proportion to its length.

`open` repeated 8,000 times in one statement of JavaScript took 1.8 s for 40 KB: from each of them
the rest of the statement was searched for the mode of opening. The last mode is now looked up once
for each statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from leftoff.shell.embedded.tool_script import script_steps

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]


@pytest.mark.parametrize("word", ["open(", "open ", "write ", "a.", "'r' "])
def test_a_word_of_a_script_repeated(word: str, assert_linear: Linear) -> None:
    assert_linear(lambda size: lambda: script_steps(word * (size // len(word)), "node"), 59_000)


def test_a_mode_for_reading_counts_for_what_stands_before_it_in_the_statement() -> None:
    assert not script_steps("open('a', 'r'); fopen('b', '<')", "perl").partial
    assert script_steps("open('a', 'r') && open('b')", "perl").partial
    assert script_steps("open('a')\n'r'", "perl").partial
