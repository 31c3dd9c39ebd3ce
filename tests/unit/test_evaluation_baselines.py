"""The baselines do what they are named for, and learn nothing from where they are tested."""

from __future__ import annotations

import re

import pytest

from leftoff.evaluation import baselines, labels
from leftoff.evaluation.linear import Detector, Example, best_threshold
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


def talk(file: str) -> LabelledSession:
    decided = [f"I'll settle on plan {n} instead of waiting" for n in range(12)]
    routine = [f"reading file {n} now" for n in range(12)]
    return session(file, *decided, *routine, gold=tuple(range(1, 13)))


def test_the_bag_of_words_learns_from_other_repositories() -> None:
    here = session("z__z__1", "I'll settle on one instead of two", "reading on now", gold=(1,))
    said = baselines.bag_of_words(here, [here, talk("a__a__1"), talk("b__b__1")])
    assert said.decisions is not None
    assert [c.place for c in said.decisions] == [1]
    assert said.decisions[0].kind == "approach"


def test_the_bag_of_words_never_sees_its_own_repository() -> None:
    here = talk("a__a__1")
    with pytest.raises(ValueError, match="learn from"):
        baselines.bag_of_words(here, [here, talk("a__a__2")])
    names = [name for name, _ in baselines.all_baselines([here, talk("a__a__2")])]
    assert "linear bag of words" not in names


def test_training_repeats() -> None:
    examples = [
        Example(text, n < 12, f"g{n % 3}")
        for n, text in enumerate(sorted(talk("a__a__1").texts.values()))
    ]
    first, second = Detector.trained(examples), Detector.trained(examples)
    assert first.model.weights == second.model.weights
    assert first.threshold == second.threshold


def test_the_best_threshold() -> None:
    assert best_threshold([(0.9, True), (0.8, True), (0.4, False), (0.3, True)]) == 0.3
    assert best_threshold([(0.9, True), (0.4, False), (0.3, False)]) == 0.65
    assert best_threshold([]) == 0.5


def test_a_message_that_only_repeats_a_decision_teaches_nothing() -> None:
    messages = [Message(i, "assistant", (Text(f"plan {i}"),), line=i + 1) for i in range(3)]
    marked = (labels.Decision(1, "plan 0", "approach", 2, (2,)),)
    here = LabelledSession(labels.Labels("a__b__c", decisions=marked), "x", messages)
    assert [(e.text, e.right) for e in baselines.examples(here)] == [
        ("plan 0", True),
        ("plan 2", False),
    ]
