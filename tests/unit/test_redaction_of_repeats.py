"""Redaction's work grows with a text that repeats what its own rules look for, not faster."""

import sys

import pytest
from benchmarks.accuracy.redaction.repeated import literals, repeated

from leftoff.redaction.redactor import Redactor
from leftoff.redaction.rules import encode, places
from leftoff.redaction.scanner import BLOCK, gate_for

LITERALS = [*repeated()]


def work(text: str) -> int:
    """How many functions are called to redact a text."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(see)
    try:
        Redactor().text(text)
    finally:
        sys.setprofile(None)
    return count


def test_literals_of_an_expression() -> None:
    assert literals("(?i)(?:ab|c[x-z])[0-9]{2}d*") == ["ab00", "cx00"]


@pytest.mark.parametrize("part", range(8))
def test_work_doubles_with_the_text(part: int) -> None:
    for name, literal in LITERALS[part::192]:
        sizes = [(literal * (size // len(literal) + 1))[:size] for size in (120_000, 240_000)]
        once, twice = map(work, sizes)
        # So long that the end, which costs less, does not count.
        assert twice <= 2.3 * once + 200, (name, literal, once, twice)


@pytest.mark.parametrize("literal", ["password=", "pwd:", "auth:", "token: ", "api_key="])
def test_the_middle_of_repeats_is_not_looked_at(literal: str) -> None:
    """Each repetition was matched for up to 512 characters: 0.57 MB/s for `password=`."""
    text = (literal * BLOCK)[:BLOCK]
    raw = encode(text)
    for rule in gate_for(False)(raw):
        assert len(list(places(rule, text, 0, raw))) < 400, rule


def test_a_secret_behind_repeats_is_found() -> None:
    key = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    for literal in ("password=", "pwd:", "auth: "):
        for times in (40, 400, 4_000):
            shown = Redactor().text(
                f"{literal * times}Xk9{key[4:20]}Q7! {key} {literal * times}"
            )
            assert key not in shown
            assert key[4:20] not in shown
