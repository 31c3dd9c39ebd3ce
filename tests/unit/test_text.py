"""The layout, the cleaning and the cutting of text, by example."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from leftoff.text import clean, in_code, sentence_at, sentences
from leftoff.text.truncation import one_line, truncate

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]


def test_truncation_measures_what_it_is_told_to() -> None:
    def count(text: str) -> int:
        return len(text.encode())

    text = "日本語の文です。次の文です。" * 20
    result = truncate(text, 100, measure=count, marker="…")
    assert count(result) <= 100
    assert count(result) > 50
    assert result.endswith(("。…", "。 …"))


@pytest.mark.parametrize(
    "piece",
    [
        "`",
        "`a",
        "(",
        "<!-- ",
        "a. ",
        '"a ',
        "> ",
        "- ",
        " ",
        "\n    x",
        "```\n",
        "| a |\n",
        "--- | ",
        "x",
        "\u0301",
        "\x1b[",
        "\x1b]",
        "1.",
    ],
    ids=repr,
)
def test_hostile_text_takes_time_linear_in_its_length(
    piece: str, assert_linear: Linear
) -> None:
    def work(hostile: str) -> None:
        for start, _ in sentences(hostile)[:50]:
            sentence_at(hostile, start)
            in_code(hostile, start)
        clean(hostile)
        one_line(hostile, 100)
        truncate(hostile, len(hostile) // 2)

    def prepare(size: int) -> Callable[[], object]:
        hostile = piece * (size // len(piece))
        return lambda: work(hostile)

    assert_linear(prepare, 120_000)
