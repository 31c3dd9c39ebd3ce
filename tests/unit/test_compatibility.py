"""Does a saved state fit: the design's arithmetic, the table of verdicts, the world's warnings."""

import pytest

from leftoff.handover.similarity import text_similarity

# -- similarity ------------------------------------------------------------------------------


def test_one_long_line_with_two_edits_is_nearly_the_same() -> None:
    line = " ".join(f'"k{n * 7919 % 99991}":{n},' for n in range(30_000))
    edited = line[:1000] + "XX" + line[1002:300_000] + "more" + line[300_000:]
    found = text_similarity(line, edited, (0.8, 0.5, 0.6))
    assert found.value > 0.9999
    assert (found.changed, found.lines) == (1, 1)


@pytest.mark.parametrize(
    "a,b",
    [
        ("a" * 10**7, "b" * 10**7),
        ("\n" * 10**7, "\n\n" * (5 * 10**6 - 5) + "x"),
        ("a\nb\n" * 2 * 10**6, "b\na\n" * 2 * 10**6),
        (" " * 10**7, " ," * 5 * 10**6),
        ("ab" * 10**6, "ba" * 10**6 + "c"),
        ("", "x" * 10**7),
        ("\u4e00\u4e8c" * 10**6, "\u4e8c\u4e09" * 10**6),
        ("".join(map(str, range(10**6))), "".join(map(str, range(10**6, 0, -1)))),
    ],
    ids=[
        "other letters",
        "blank lines",
        "swapped lines",
        "spaces",
        "shifted",
        "empty",
        "han",
        "digits",
    ],
)
def test_hostile_sizes_never_hang(a: str, b: str) -> None:
    found = text_similarity(a, b, (0.8, 0.6, 0.5))
    assert 0 <= found.low <= found.high <= 1
    if not found.estimated:
        for threshold in (0.8, 0.6, 0.5):
            assert found.high < threshold or found.low >= threshold
