"""A text that repeats what a rule looks for takes time in proportion to its length.

`TODO: ` and `Next: ` repeated without a line break took 20 s for 2 MB: for each hit of a rule the
inline code of the whole paragraph was looked up anew, and after each heading of a list the blocks of
the whole text were searched for it. The layout of a text is now read once for all of its hits.
"""

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.strategies.literals import literals

from leftoff import Pass
from leftoff.extraction.decision_model import PATTERNS
from leftoff.extraction.rule_sets import GROUPS, OUTPUT_RULES
from leftoff.extraction.rules import Rule
from leftoff.text.markdown import Layout, in_code, sentence_at

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]

RULES = [rule for group in (*GROUPS.values(), *PATTERNS.values()) for rule in group]


def answer(text: str) -> bytes:
    """A recording in which the agent says a text."""
    said = ({"role": "user", "content": "Go."}, {"role": "assistant", "content": text})
    return b"".join(json.dumps(record).encode() + b"\n" for record in said)


def output(text: str) -> bytes:
    """A recording in which a command prints a text."""
    call = {"name": "Bash", "arguments": '{"command": "pytest"}'}
    said = (
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": call}]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in said)


def summarized(data: bytes) -> Callable[[], object]:
    def work() -> object:
        reading = Pass("s", "chat_lines")
        reading.feed(data)
        reading.close()
        return reading.conclude()

    return work


@pytest.mark.parametrize(
    "piece",
    ["TODO: ", "Next: ", "`a` TODO: ", "Next steps:\n\n", "TODO: x\n", "- all tests pass\n"],
)
def test_a_claim_repeated(piece: str, assert_linear: Linear) -> None:
    assert_linear(lambda size: summarized(answer(piece * (size // len(piece)))), 200_000)


def texts_of(rule: Rule) -> list[str]:
    return [*literals(rule.pattern), *rule.matches]


@pytest.mark.parametrize("break_", [" ", "\n"], ids=["one line", "lines"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_a_rule_looks_for_repeated(rule: Rule, break_: str, assert_linear: Linear) -> None:
    """Every alternative of the rule in turn, on one line and on lines of their own."""
    piece = "".join(text + break_ for text in texts_of(rule))
    assert_linear(
        lambda size: summarized(answer((piece * (size // len(piece) + 1))[:size])), 60_000
    )


@pytest.mark.parametrize("rule", OUTPUT_RULES, ids=lambda rule: rule.id)
def test_what_an_output_rule_looks_for_repeated(rule: Rule, assert_linear: Linear) -> None:
    piece = "".join(text + "\n" for text in texts_of(rule))
    assert_linear(
        lambda size: summarized(output((piece * (size // len(piece) + 1))[:size])), 60_000
    )


def test_literals_are_found_by_the_rule_they_come_from() -> None:
    """Otherwise the tests above repeat what no rule looks at."""
    for rule in (*RULES, *OUTPUT_RULES):
        found = [text for text in literals(rule.pattern) if rule.search(text)]
        assert len(found) * 2 >= len(literals(rule.pattern)), rule.id


@pytest.mark.parametrize(
    "text",
    [
        "Next: `a` and `b`. TODO: `c`.\n\n    indented TODO: x\n\n> Next: quoted\n",
        "- Next: one\n- TODO: `two`\n\n```\nTODO: code\n```\n<!-- Next: x -->after. Done",
        "",
    ],
)
def test_a_layout_says_the_same_as_its_text(text: str) -> None:
    layout = Layout(text)
    for position in range(len(text) + 1):
        assert layout.in_code(position) == in_code(text, position)
        assert layout.sentence_at(position) == sentence_at(text, position)
