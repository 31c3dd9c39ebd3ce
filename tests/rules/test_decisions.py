"""Rules of decisions and of requests on their examples."""

import pytest

from leftoff.analysis.decisions.person import ACTS, ORDER, Act, _marked, rank
from leftoff.extraction.decision_model import (
    ENGLISH,
    MODEL,
    PATTERNS,
    VERBS,
    subject_features,
    subjects_of,
)
from leftoff.extraction.requests import RULES
from leftoff.extraction.rules import Rule
from leftoff.model import Ref
from leftoff.summary import DECISION_TYPES, KeyDecision

# The patterns beside the decision model, and those on the person's words.
EVERY, REQUESTS = (
    [rule for group in named.values() for rule in group] for named in (PATTERNS, RULES)
)


@pytest.mark.parametrize("rule", [*EVERY, *REQUESTS], ids=lambda r: f"{r.topic}-{r.id}")
def test_it_matches_its_examples_only(rule: Rule) -> None:
    assert rule.matches
    assert rule.misses
    for text in rule.matches:
        assert rule.search(text), text
    for text in rule.misses:
        assert not rule.search(text), text


def ranked(text: str, rule: str) -> int:
    """The rank of a sentence of the person that a rule found."""
    return rank(KeyDecision(text, "approach", 0.9, 0, Ref(0), owner="user", rule=rule))


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.id)
def test_a_rule_of_the_person_finds_its_examples_only(act: Act) -> None:
    assert act.matches
    assert act.misses
    for text in act.matches:
        assert act.found_in(_marked(text)), text
    for text in act.misses:
        assert not act.found_in(_marked(text)), text
    for text in act.once_matches:
        assert act.found_in(_marked(text)), text
        assert ranked(text, act.id) == ORDER
    assert not act.once or any(ranked(text, act.id) > ORDER for text in act.matches)


def test_ids_are_unique() -> None:
    assert len({rule.id for rule in EVERY}) == len(EVERY)
    assert len({act.id for act in ACTS}) == len(ACTS)
    assert len({rule.id for rule in REQUESTS}) == len(REQUESTS)


@pytest.mark.parametrize(
    ("form", "stands_for"),
    [
        ("rename", "CHG"), ("renaming", "CHGING"), ("splitting", "CHGING"), ("kept", "KEEPED"),
        ("dropped", "DROPED"), ("verifies", "LOOK"), ("fixing", "FIXING"),
    ],
)  # fmt: skip
def test_forms_of_a_verb_stand_for_its_class(form: str, stands_for: str) -> None:
    assert VERBS[form] == stands_for


@pytest.mark.parametrize(
    ("word", "subjects"),
    [
        ("crashing", ("fault",)),
        ("schema", ("structure",)),
        ("rebased", ("manner",)),
        ("parameters", ("detail",)),
        ("field", ("structure", "detail")),
        ("fixture", ("fault",)),  # the price of a star
        ("errorless", ()),
        ("the", ()),
        ("<code>", ()),
    ],
)
def test_words_tell_a_subject(word: str, subjects: tuple[str, ...]) -> None:
    assert subjects_of(word) == subjects


def test_subjects_are_counted_in_steps() -> None:
    words = "the crash broke the schema".split()
    assert subject_features(words, "x", (1, 2, 3)) == [
        "x:fault1", "x:fault2", "x:structure1", "x:most-fault",
    ]  # fmt: skip
    assert subject_features(["the", "<code>"], "x", (1,)) == []


def test_the_shipped_weights_are_whole() -> None:
    assert set(MODEL.kinds) <= set(DECISION_TYPES)
    assert all(len(row) == len(MODEL.kinds) for row in MODEL.kind_weights.values())
    assert 0 < MODEL.least < 1000
    assert MODEL.calibration[0] > 0, "a higher score must mean a higher probability"
    assert MODEL.calibration[2] <= 0, "a lower rank must not mean a higher probability"
    assert MODEL.trained["statements"] > 400
    assert len(MODEL.learnt_from) == MODEL.trained["sessions"]
    assert list(MODEL.learnt_from) == sorted(set(MODEL.learnt_from))
    assert all(len(one) == 16 and int(one, 16) >= 0 for one in MODEL.learnt_from)


KINDS_OF_CUES = set("w b c l s u a d x ss ld hd nx".split())


def test_the_shipped_weights_hold_nothing_but_words_and_cues() -> None:
    for name in MODEL.weights:
        assert name.split(":")[0] in KINDS_OF_CUES, name
        assert len(name) < 60
    assert len(ENGLISH) > 40
