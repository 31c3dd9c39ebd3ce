"""What a credential looks like, apart from the rules: one judgement at a time."""

import pytest

from leftoff.redaction.disguise import DISGUISE, disguised, reveal, revealed


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
    view = revealed(text)
    assert view.text == shown
    assert view.original(0, len(shown)) == (0, len(text))
    places = [view.original(i, i + 1) for i in range(len(shown))]
    assert all(start < end for start, end in places)
    plain = [text[a:b] for a, b in places if b - a == 1]
    assert set("".join(plain)) <= set(text)
