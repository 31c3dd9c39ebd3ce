"""A follower that ran for an hour grew by tens of MiB: the costs of pieces of text, remembered so
that none is costed twice, were kept for 200,000 pieces of any length, and a paragraph in a script
without spaces is one piece."""

import pytest

from leftoff import tokens

MEMORIES = (tokens._max_cost, tokens._weights_of(tokens.DEFAULT_FAMILY))


def read(text: str) -> tuple[int, int]:
    return tokens.estimate_tokens(text), tokens.max_tokens(text)


def test_what_is_remembered_is_bounded() -> None:
    for start in range(0, 80_000, 8_000):
        read(" ".join(str(n) for n in range(start, start + 8_000)))
    for memory in MEMORIES:
        assert len(memory) < 40_000


def test_of_long_pieces_less_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory in MEMORIES:
        memory.clear()  # what earlier tests of this process left
    monkeypatch.setattr(tokens, "_CACHE_BYTES", 10_000)
    for n in range(40):
        text = "漢字" * (150 + n)
        assert read(text) == read(text)
    for memory in MEMORIES:
        assert sum(map(len, memory)) <= 10_000
