"""The arithmetic behind key decisions, apart from the shipped weights."""

import pytest

from leftoff.extraction.decision_model import VERBS, place_features


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


def test_lengths_are_told_by_the_edges_that_the_weights_were_trained_with() -> None:
    for kind, edges in (
        ("len", (20, 40, 70, 110, 160, 240)),
        ("size", (60, 120, 200, 350, 700, 1500, 4000)),
    ):
        for number, edge in enumerate(edges):
            for length, told in ((edge, number), (edge + 1, number + 1)):
                found = place_features("x" * length, 3, f"item 0 {length}")
                assert f"l:{kind}{told}" in found
