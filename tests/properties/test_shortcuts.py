"""What is done faster where a text allows it comes to what the long way does."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.analysis import intents
from leftoff.extraction import checks
from leftoff.extraction.requests import RULES, matches
from leftoff.extraction.rules import lowered
from leftoff.extraction.session_state import ContextOccupancy
from leftoff.redaction.redactor import QuoteEnds, is_quiet, redact, safe_quote_end

WORDS = st.sampled_from(
    "Fix the tests, please\nreview Commit it 1 ok. why? does not work push a PR plan yes x_y"
    " pytest ./test_a.py jest.exe my-lint /bin/go éjest check never mind do not use $(tsc)"
    " continue again | && ; cat git log diff \x0b \x1c ’ — ſ İ".split(" ")
)
TEXTS = st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=60)


@given(TEXTS)
def test_the_automaton_of_intents_is_its_patterns(text: str) -> None:
    long_way = {
        name
        for name, pattern in intents._PATTERNS.items()
        if re.search(pattern, text, re.IGNORECASE | re.MULTILINE)
    }
    assert intents._found(text) == long_way


@given(TEXTS)
def test_the_gate_of_commands_is_their_pattern(command: str) -> None:
    if checks.may_run_a_check(command):
        assert re.search(checks._COMMANDS, command)
    elif not checks._LOOKING.fullmatch(command):
        assert not re.search(checks._COMMANDS, command)


@pytest.mark.parametrize("topic", sorted(RULES))
@given(text=TEXTS)
def test_an_anchored_rule_is_tried_at_the_beginning_alone(topic: str, text: str) -> None:
    long_way = any(
        re.search(rule.exact, lowered(text) if rule.ignore_case else text)
        for rule in RULES[topic]
    )
    assert matches(topic, text) == long_way


@given(
    st.lists(st.sampled_from(["passed", "token=" + "aB3" * 9, "ok \n", "x" * 30]), max_size=9)
)
def test_quotations_of_one_text_end_where_each_alone_would(parts: list[str]) -> None:
    text = "\n".join(parts)
    ends = QuoteEnds(text)
    for start in range(0, len(text), 7):
        end = min(len(text), start + 40)
        assert ends.end(start, end) == safe_quote_end(text, start, end)
    if is_quiet(text):
        assert redact(text)[0] == text


@given(st.lists(st.text(), max_size=5))
def test_packed_texts_have_the_same_estimate(texts: list[str]) -> None:
    plain, packed = ContextOccupancy(texts=list(texts)), ContextOccupancy(texts=list(texts))
    packed.pack_texts()
    assert packed.estimate_texts() == plain.estimate_texts()
    assert not packed.texts
