"""Where redaction begins and ends: blocks, rounds, names, spans, quotations."""

import base64
from collections.abc import Callable

import pytest
from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.redaction.redactor import MAX_NESTING, Redactor, Span
from leftoff.redaction.scanner import BLOCK, safe_quote_end

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
JWT = ".".join(
    base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode()
    for part in ('{"alg":"HS256","typ":"JWT"}', '{"sub":"' + "0123456789abcdef" * 150 + '"}')
) + "." + "qL8vXz3Rt6Yw1Ns5" * 2  # fmt: skip


@pytest.mark.parametrize("end", ["", " after", "\nafter", "\n"])
@pytest.mark.parametrize("before", [1000, 2500, 3200, 10])
def test_a_secret_longer_than_the_overlap_crosses_a_border(before: int, end: str) -> None:
    text = "x " * ((BLOCK - before) // 2) + JWT + end
    found = Redactor().text(text)
    assert found == "x " * ((BLOCK - before) // 2) + "[REDACTED:jwt:1]" + end


@pytest.mark.parametrize("before", [BLOCK - 1, BLOCK, BLOCK + 5])
def test_a_secret_at_the_head_of_a_block_is_found(before: int) -> None:
    text = "x" * before + "\n" + TOKEN + "\n" + "y\n" * BLOCK
    assert Redactor().text(text) == text.replace(TOKEN, "[REDACTED:github-token:1]")


class Box(Struct):
    held: object


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: (v,), lambda v: {"held": v}, Box])
def test_nesting_is_followed_to_the_limit_and_no_further(
    wrap: Callable[[object], object],
) -> None:
    def nested(innermost: object, depth: int) -> object:
        for _ in range(depth):
            innermost = wrap(innermost)
        return innermost

    token = "[REDACTED:github-token:1]"
    assert Redactor().value(nested(TOKEN, MAX_NESTING)) == nested(token, MAX_NESTING)
    over = nested("[REDACTED:nesting:1]", MAX_NESTING)
    assert Redactor().value(nested("plain words", MAX_NESTING + 1)) == over


def test_many_short_strings_are_each_looked_at() -> None:
    texts = [f"line {number} of many that say nothing" for number in range(3000)]
    for place in (0, 1499, 2999):
        texts[place] = TOKEN
    found = Redactor().value(texts)
    assert [i for i, text in enumerate(found) if text == "[REDACTED:github-token:1]"] == [
        0,
        1499,
        2999,
    ]
    assert [t for i, t in enumerate(found) if i not in (0, 1499, 2999)] == [
        t for i, t in enumerate(texts) if i not in (0, 1499, 2999)
    ]


def test_a_string_as_long_as_a_block_is_looked_at() -> None:
    text = ("x" * (BLOCK - len(TOKEN) - 1)) + " " + TOKEN
    assert len(text) == BLOCK
    assert Redactor().value([text])[0].endswith(" [REDACTED:github-token:1]")


@pytest.mark.parametrize(
    "text,found",
    [
        ("[REDACTED:mine:1]", "[REDACTED:mine:1]"),
        ("[REDACTED:mine:1]ab1", "[REDACTED:mine:1]ab1"),
        ("[REDACTED:mine:1]ab12", "[REDACTED:mine:2]"),
        ("[REDACTED:x:1", "[REDACTED:x:1"),
        ("x[REDACTED:mine:1]y[REDACTED:mine:2]z", "x[REDACTED:mine:1]y[REDACTED:mine:2]z"),
        ("REDACTED", "[REDACTED:mine:1]"),
        ("ab", "[REDACTED:mine:1]"),
    ],
)
def test_what_is_left_of_a_placeholder_is_no_secret(text: str, found: str) -> None:
    redactor = Redactor(extra=[lambda text: [Span(0, len(text), "mine")]])
    assert redactor.text(text) == found


@pytest.mark.parametrize(
    "word,kind,found",
    [
        ("abc", "mine", "[REDACTED:mine:1]de"),
        ("cde", "mine", "ab[REDACTED:mine:1]"),
        ("abcde", "a" * 40, f"[REDACTED:{'a' * 40}:1]"),
        ("", "mine", "abcde"),
    ],
)
def test_a_span_may_be_anywhere_in_the_text(word: str, kind: str, found: str) -> None:
    def finder(text: str) -> list[Span]:
        at = text.find(word)
        return [Span(at, at + len(word), kind)] if at >= 0 else []

    assert Redactor(extra=[finder]).text("abcde") == found


@pytest.mark.parametrize(
    "span",
    [
        Span(-1, 3, "mine"),
        Span(3, 2, "mine"),
        Span(0, 6, "mine"),
        Span(0, 1, "a" * 41),
        Span(0, 1, ""),
        Span(0, 1, "Mine"),
    ],
)
def test_a_span_beyond_the_text_is_the_redactors_mistake(span: Span) -> None:
    with pytest.raises(UsageError):
        Redactor(extra=[lambda _: [span]]).text("abcde")


def test_a_quotation_is_looked_at_in_its_surroundings() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bqQ\n" * 40
    far = "x\n" * 4000 + key
    inside = len(far) - 30
    assert safe_quote_end(far, inside, len(far)) == inside
    assert safe_quote_end("y\n" * 4000, 100, 200) == 200
