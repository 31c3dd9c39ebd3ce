"""Calls and results in the text of messages."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from leftoff.formats import text_calls

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]


@pytest.mark.parametrize(
    "piece",
    ["-", "----- START OF EXAMPLE -----", "<function=a>\n", "<parameter=a>", " ", "\n \t"],
)
def test_long_hostile_text_is_read_in_linear_time(piece: str, assert_linear: Linear) -> None:
    def work(text: str) -> None:
        text_calls.without_example(text)
        text_calls.calls_in(text, 0)
        text_calls.result_of("", text)

    def prepare(size: int) -> Callable[[], object]:
        text = piece * (size // len(piece))
        return lambda: work(text)

    assert_linear(prepare, 800_000)
