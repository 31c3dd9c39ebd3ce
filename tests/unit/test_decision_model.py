"""The arithmetic behind key decisions, apart from the shipped weights."""

from __future__ import annotations

import pytest

from leftoff.extraction.decision_model import (
    SUBJECTS,
    VERBS,
    message_features,
    place_features,
    sentence_subjects,
    subject_features,
    subjects_of,
)


@pytest.mark.parametrize(
    "verb,form,ending",
    [
        ("use", "use", ""),
        ("use", "uses", ""),
        ("use", "used", "ED"),
        ("use", "using", "ING"),
        ("add", "added", "ED"),
        ("add", "adding", "ING"),
        ("drop", "dropped", "ED"),
        ("drop", "dropping", "ING"),
        ("modify", "modifies", ""),
        ("modify", "modified", "ED"),
        ("switch", "switches", ""),
    ],
)
def test_forms_of_verbs(verb: str, form: str, ending: str) -> None:
    assert VERBS[form] == VERBS[verb] + ending


def test_subjects_are_counted_in_steps() -> None:
    name = next(iter(SUBJECTS))
    word = f"{SUBJECTS[name][1][0]}x"
    assert subjects_of(word)[0] == name
    assert subjects_of(f"{word}'s") == ()
    assert subject_features(["zzzz"], "x", (1, 2)) == []
    one, two = sentence_subjects([word]), sentence_subjects([word, word])
    assert f"x:{name}1" in one
    assert f"x:{name}2" not in one
    assert f"x:{name}2" in two
    assert f"x:{name}3" not in two
    assert f"x:most-{name}" == one[-1]
    whole = message_features([word] * 4)
    assert whole[0] == f"mw:{word}"
    assert f"y:{name}4" in whole
    assert f"y:{name}8" not in whole


def test_lengths_are_told_by_the_edges_that_the_weights_were_trained_with() -> None:
    for kind, edges in (
        ("len", (20, 40, 70, 110, 160, 240)),
        ("size", (60, 120, 200, 350, 700, 1500, 4000)),
    ):
        for number, edge in enumerate(edges):
            for length, told in ((edge, number), (edge + 1, number + 1)):
                found = place_features("x" * length, 0, "item", False, 3, length)
                assert f"l:{kind}{told}" in found
