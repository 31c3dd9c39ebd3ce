"""The baselines do what they are named for."""

from __future__ import annotations

import re

import pytest

from leftoff.evaluation import baselines, labels
from leftoff.evaluation.sessions import LabelledSession
from leftoff.model import Message, Text


def session(file: str, *texts: str, gold: tuple[int, ...] = ()) -> LabelledSession:
    messages = [
        Message(i, "assistant", (Text(text),), line=i + 1) for i, text in enumerate(texts)
    ]
    marked = tuple(labels.Decision(i, texts[i - 1], "approach") for i in gold)
    return LabelledSession(labels.Labels(file, decisions=marked), file, messages)


@pytest.mark.parametrize(
    ("text", "kind", "confidence"),
    [
        ("I will store it in one table", "implementation", 0.9),
        ("we decided to drop the cache", "implementation", 0.95),
        ("Choosing the smaller of the two", "approach", 0.85),
        ("we should split the module", "approach", 0.8),
        ("Using the adapter pattern", "architecture", 0.8),
        ("the bug sits in the parser", "fix", 0.7),
    ],
)
def test_seed_001_patterns(text: str, kind: str, confidence: float) -> None:
    found = baselines.seed001(session("a__b__c", text)).decisions
    assert found is not None
    assert (kind, confidence) in [(c.kind, c.confidence) for c in found]


def test_seed_001_takes_the_first_match_of_each_pattern_only() -> None:
    found = baselines.seed001(
        session("a__b__c", "I will take the first one.\nI will take another one.")
    ).decisions
    assert found is not None
    assert [c.text for c in found] == ["I will take the first one."]


def test_seed_001_has_twelve_three_and_four_patterns() -> None:
    sizes = [
        len(baselines.DECISION_PATTERNS),
        len(baselines.STAGE_PATTERNS),
        len(baselines.MILESTONE_PATTERNS),
    ]
    assert sizes == [12, 3, 4]
    assert re.search(baselines.STAGE_PATTERNS[1], "testing stage completed")


def test_seed_001_stage_markers_make_a_timeline() -> None:
    said = baselines.seed001(
        session("a__b__c", "Stage: testing", "x", "moving to review stage")
    )
    assert said.timeline == ((0, "testing"), (2, "review"))


def test_everything_says_everything() -> None:
    said = baselines.everything(session("a__b__c", "one", "two"))
    assert said.decisions is not None
    assert [c.place for c in said.decisions] == [1, 2]
    assert said.timeline == ((0, "implementation"),)
