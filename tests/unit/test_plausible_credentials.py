"""What a credential looks like, apart from the rules: one judgement at a time."""

from __future__ import annotations

import pytest

from leftoff.redaction.disguise import DISGUISE, disguised, positions, reveal
from leftoff.redaction.encodings import private_key_spans
from leftoff.redaction.redactor import safe_quote_end


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


# -- encoded text ------------------------------------------------------------------------------


def test_a_private_key_that_is_cut_short_ends_with_its_body() -> None:
    body = "MIIEpAIBAAKCAQEA" * 4
    head = "-----BEGIN RSA " + "PRIVATE KEY-----\n"
    foot = "\n-----END RSA " + "PRIVATE KEY-----"
    whole = f"a {head}{body}{foot} b"
    assert list(private_key_spans(whole)) == [(2, len(whole) - 2)]
    cut = f"a {head}{body}\n\nwords"
    assert list(private_key_spans(cut)) == [(2, 2 + len(head) + len(body))]
    assert list(private_key_spans(f"a {head} words")) == []


def test_a_quotation_ends_where_it_would_show_what_is_hidden_where_it_stands() -> None:
    key = "AKIA" + "Q3EGRTEUZPLMB7QA"
    # Known by itself: the quotation hides it, too.
    text = f"key {key} end"
    assert safe_quote_end(text, 4, len(text)) == len(text)
    # Cut in half it would not be known.
    assert safe_quote_end(text, 0, 14) == 4
    # Known by the word before it, which is not quoted.
    text = "password: h0rse!battery end"
    assert safe_quote_end(text, 0, len(text)) == len(text)
    assert safe_quote_end(text, 10, len(text)) == 10
    assert safe_quote_end(text, 24, len(text)) == len(text)
