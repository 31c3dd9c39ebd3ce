"""What a credential looks like, apart from the rules: one judgement at a time."""

from __future__ import annotations

import base64

import pytest

from leftoff.redaction.disguise import DISGUISE, disguised, positions, reveal
from leftoff.redaction.encodings import base64_text, hex_text, private_key_spans
from leftoff.redaction.plausible import CHECKS
from leftoff.redaction.redactor import safe_quote_end


def passes(check: str, value: str) -> bool:
    return CHECKS[check](value, None)


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


@pytest.mark.parametrize("text", ["pass", "100%", "50%1", "a\\nb", "\\u0416", "é", ""])
def test_what_is_not_disguised(text: str) -> None:
    assert not disguised(text)


@pytest.mark.parametrize(
    "check,value,real",
    [
        ("luhn", "4111 1111 1111 1111", True),
        ("luhn", "4111 1111 1111 1112", False),
        ("luhn", "378282246310005", True),
        ("luhn", "378282246310006", False),
        ("luhn", "4222222222222", True),  # 13 digits
        ("luhn", "422222222226", False),  # 12, with a right sum
        ("luhn", "0000000000000000", False),
        ("phone", "+1234567", False),
        ("phone", "+12345678", True),
        ("phone", "123456789", False),
        ("phone", "1234567890", True),
        ("phone", "123456789012345", True),
        ("phone", "1234567890123456", False),
        ("email", "ann@firma.de", True),
        ("email", "git@firma.de", False),
        ("email", "no-reply@firma.de", False),
        ("email", "x@users.noreply.firma.de", False),
        ("email", "ann@example.com", False),
        ("email", "ann@mail.example.org", False),
        ("email", "ann@notexample.com", True),
        ("email", "logo@2x.png", False),
        ("email", "ann@-x.de", False),
        ("basic", base64.b64encode(b"a:bcd").decode(), True),
        ("basic", base64.b64encode(b"a:bc").decode(), False),
        ("basic", base64.b64encode(b"ab-cd").decode(), False),
        ("basic", base64.b64encode(b"a:bc\x7f").decode(), False),
        ("basic", base64.b64encode(b"a:bc\x1f").decode(), False),
        ("basic", "YTpiY", False),
        ("mixed", "xxxxxxxxxxxxxxxx", False),
        ("mixed", "abcdefghijkl", False),
        ("mixed", "ABCDEFGHIJKL", False),
        ("mixed", "abcdefghijk1", True),
        ("mixed", "abcdefghijkL", True),
        ("mixed-letters", "xx-abcdefghiJ", True),
        ("mixed-letters", "xx-abcdefghi", False),
        ("mixed-letters", "xx-abcdefghij", False),
        ("mixed-letters", "xx-ABCDEFGHIJ", False),
        ("credential", "aB3dE5fG7hJ9kL1m", True),
        ("credential", "aB3dE5fG7hJ9kL1", False),  # 15
        ("credential", "aB3dE5fG 7hJ9kL1m", False),
        ("credential", '"aB3dE5fG7hJ9kL1m"', True),
        ("credential", "$aB3dE5fG7hJ9kL1m", False),
        ("credential", "123e4567-e89b-12d3-a456-426614174000", False),
        ("credential", "sha256:aB3dE5fG7hJ9kL1m", False),
        ("credential", "self.aB3dE5.fG7hJ9kL1m", False),
        ("credential", "/home/aB3dE5fG7hJ9kL1m", False),
        ("credential", "aB3aB3aB3aB3aB3aB3", False),  # 3 different
        ("credential", "handleRequestFinished", False),
        ("credential", "your-openai-key-goes-here", False),
        ("password", "h0rse!", True),
        ("password", "h0rs!", False),  # 5
        ("password", "horse", False),
        ("password", "letmein", False),
        ("password", "utf-8", False),
        ("password", "s3 cret!", False),
        ("password", "getpass()", False),
        ("password", "example1!", False),
        ("password", "123456!", False),
        ("password", "tRuSt nO1", False),
        ("password", "tRuStNoOne", True),
        ("password", "trustNoone", False),
        ("url", "tr0ub4dor", True),
        ("url", "postgres", False),
        ("url", "p", False),
        ("url", "${DB_PASS}", False),
        ("url", "your-password", False),
        ("cookie", "a=1; sid=aB3dE5fG7hJ9kL1m", True),
        ("cookie", "theme=darkmode; lang=en-US", False),
        ("cookie", "session=0123456789abcdef", True),
        ("cookie", "colour=0123456789abcdef", False),
    ],
)
def test_a_value_is_real_or_stands_in(check: str, value: str, real: bool) -> None:
    assert passes(check, value) is real


def test_a_password_that_is_the_users_own_name_is_none() -> None:
    assert passes("url", "tr0ub4dor")


# -- encoded text ------------------------------------------------------------------------------


def test_base64_is_found_from_a_place_inside_it() -> None:
    words = "the words that are in there are plain"
    run = base64.b64encode(words.encode()).decode()
    text = f"--- {run} ---"
    for inside in (4, 8, 12):
        assert list(base64_text(text, [inside])) == [(4, 4 + len(run), words)]
    assert list(base64_text(text, [4, 8, 12])) == [(4, 4 + len(run), words)]
    noise = base64.b64encode(bytes(range(128, 160)) * 2).decode()
    assert not list(base64_text(noise.replace("=", ""), [])), "no hint, no look"


def test_hexadecimal_that_spells_text() -> None:
    words = "twenty letters or so"
    run = words.encode().hex()
    assert len(words) == 20
    assert list(hex_text(f"x {run} y")) == [(2, 2 + len(run), words)]
    assert not list(hex_text(run[:-2]))


def test_a_private_key_that_is_cut_short_ends_with_its_body() -> None:
    body = "MIIEpAIBAAKCAQEA" * 4
    head = "-----BEGIN RSA " + "PRIVATE KEY-----\n"
    foot = "\n-----END RSA " + "PRIVATE KEY-----"
    whole = f"a {head}{body}{foot} b"
    assert list(private_key_spans(whole)) == [(2, len(whole) - 2)]
    cut = f"a {head}{body}\n\nwords"
    assert list(private_key_spans(cut)) == [(2, 2 + len(head) + len(body))]
    assert list(private_key_spans(f"a {head} words")) == []


def test_base64_of_control_characters_is_no_text() -> None:
    for control, told in (("\t", 1), ("\x1f", 0), ("\x7f", 0)):
        run = base64.b64encode((control * 4 + "twenty letters or so").encode()).decode()
        assert len(list(base64_text(run, [8]))) == told


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
