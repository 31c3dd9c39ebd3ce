"""The trained baseline learns nothing from where it is tested."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from leftoff.evaluation import labels
from leftoff.evaluation.sessions import LabelledSession
from leftoff.model import Message, Text

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks/ is not installed
linear = import_module("benchmarks.accuracy.labels.linear")


def session(file: str, *texts: str, gold: tuple[int, ...] = ()) -> LabelledSession:
    messages = [
        Message(i, "assistant", (Text(text),), line=i + 1) for i, text in enumerate(texts)
    ]
    marked = tuple(labels.Decision(i, texts[i - 1], "approach") for i in gold)
    return LabelledSession(labels.Labels(file, decisions=marked), file, messages)


def talk(file: str) -> LabelledSession:
    decided = [f"I'll settle on plan {n} instead of waiting" for n in range(12)]
    routine = [f"reading file {n} now" for n in range(12)]
    return session(file, *decided, *routine, gold=tuple(range(1, 13)))


def test_it_learns_from_other_repositories() -> None:
    pytest.importorskip(
        "sklearn", reason="the trained baseline is a benchmark: pip install scikit-learn"
    )
    here = session("z__z__1", "I'll settle on one instead of two", "reading on now", gold=(1,))
    said = linear.bag_of_words([here, talk("a__a__1"), talk("b__b__1")])(here)
    assert [c.place for c in said.decisions] == [1]
    assert said.decisions[0].kind == "approach"


def test_it_never_sees_its_own_repository() -> None:
    with pytest.raises(ValueError, match="two repositories"):
        linear.bag_of_words([talk("a__a__1"), talk("a__a__2")])


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    predict = linear.bag_of_words([talk("a__a__1"), talk("b__b__1")])
    with pytest.raises(SystemExit, match="pip install scikit-learn"):
        predict(talk("a__a__1"))


def test_the_best_threshold() -> None:
    best = linear.best_threshold
    assert best([(0.9, True), (0.8, True), (0.4, False), (0.3, True)]) == 0.3
    assert best([(0.9, True), (0.4, False), (0.3, False)]) == 0.65
    assert best([]) == 0.5


def test_a_message_that_only_repeats_a_decision_teaches_nothing() -> None:
    messages = [Message(i, "assistant", (Text(f"plan {i}"),), line=i + 1) for i in range(3)]
    marked = (labels.Decision(1, "plan 0", "approach", 2, (2,)),)
    here = LabelledSession(labels.Labels("a__b__c", decisions=marked), "x", messages)
    assert [(e.text, e.right) for e in linear.examples(here)] == [
        ("plan 0", True),
        ("plan 2", False),
    ]
