"""`${name##pattern}` takes as long as the value, not its square.

Each beginning of the value was matched by itself: with twenty stars in the pattern a command of eight
thousand characters took ten seconds, and `${x##*/}` of a file's content took hours.
"""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leftoff.shell.ast import BRACKET, QUESTION, STAR
from leftoff.shell.expansion import _apply_operation
from leftoff.shell.globs import ends, matches

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]

PATTERNS = st.lists(
    st.sampled_from(["a", "b", STAR, QUESTION, f"{BRACKET}ab]", f"{BRACKET}!a]", BRACKET, "]"]),
    max_size=6,
).map("".join)


@given(value=st.text("ab[]", max_size=7), pattern=PATTERNS)
@example("a", f"{BRACKET}]")
@example("", STAR)
@example("abab", f"{STAR}b")
def test_the_ends_are_those_that_match(value: str, pattern: str) -> None:
    sizes = range(len(value) + 1)
    first = [n for n in sizes if matches(value[:n], pattern)]
    assert ends(value, pattern) == ((first[0], first[-1]) if first else None)
    last = [n for n in sizes if matches(value[len(value) - n :], pattern)]
    assert ends(value, pattern, last=True) == ((last[0], last[-1]) if last else None)


@pytest.mark.parametrize("operation", ["##*/", "%%/*", "#*b", "##" + "*a" * 20 + "b", "%[!a]*"])
def test_long_values(operation: str, assert_linear: Linear) -> None:
    assert _apply_operation("a" * 60_000, operation) == "a" * 60_000
    assert_linear(lambda size: lambda: _apply_operation("a" * size, operation), 60_000)
