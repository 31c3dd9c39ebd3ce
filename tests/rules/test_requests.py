"""The patterns on the person's words match their examples and leave their counterexamples."""

import pytest

from leftoff.extraction.requests import RULES
from leftoff.extraction.rules import Rule

EVERY = [rule for group in RULES.values() for rule in group]


@pytest.mark.parametrize("rule", EVERY, ids=lambda r: f"{r.topic}-{r.id}")
def test_it_matches_its_examples_only(rule: Rule) -> None:
    assert rule.matches
    assert rule.misses
    for text in rule.matches:
        assert rule.search(text), text
    for text in rule.misses:
        assert not rule.search(text), text


def test_ids_are_unique() -> None:
    assert len({rule.id for rule in EVERY}) == len(EVERY)
