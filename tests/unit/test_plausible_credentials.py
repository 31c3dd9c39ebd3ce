"""What a credential looks like, apart from the rules: one judgement at a time."""

import pytest

from leftoff.redaction.disguise import DISGUISE, disguised, positions, reveal


@pytest.mark.parametrize(
    "text,shown",
    [
        ("p\\u0061ss", "pass"),
        ("p\\\\u0061ss", "pass"),
        ("a\\/b", "a/b"),
        ("p%61ss", "pass"),
        ("p%2561ss", "pass"),
        ("p\u200bass", "pass"),
        ("p\u0430ss", "pass"),
        ("\uff50ass", "pass"),
        ("p\U000e0041ass", "pass"),
    ],
)
def test_a_reader_sees_through(text: str, shown: str) -> None:
    assert disguised(text)
    assert DISGUISE.sub(reveal, text) == shown
    starts, ends = positions(text)
    assert len(starts) == len(ends) == len(shown)
    assert (starts[0], ends[-1]) == (0, len(text))
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    plain = [text[a:b] for a, b in zip(starts, ends, strict=True) if b - a == 1]
    assert set("".join(plain)) <= set(text)
