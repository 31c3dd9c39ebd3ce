"""Sets, spans and one-to-one pairs."""

from __future__ import annotations

import itertools
import random

import pytest

from leftoff.evaluation.matching import (
    Counts,
    assignment,
    compare_sets,
    confidence_by_place,
    count_statements,
    match_spans,
    match_statements,
    similarity,
    tokens,
    total,
)


def test_counts_add_up_and_give_precision_recall_f1() -> None:
    both = Counts(3, 1, 2) + Counts(1, 1, 0)
    assert both == Counts(4, 2, 2) == total([Counts(3, 1, 2), Counts(1, 1, 0)])
    assert both.precision == pytest.approx(4 / 6)
    assert both.recall == pytest.approx(4 / 6)
    assert both.f1 == pytest.approx(8 / 12)


def test_nothing_said_and_nothing_labelled_has_no_figure() -> None:
    assert Counts().precision is None
    assert Counts().recall is None
    assert Counts().f1 is None
    assert Counts(0, 0, 4).f1 == 0.0


def test_what_is_ignored_counts_only_where_it_is_labelled() -> None:
    assert compare_sets({1, 2, 3}, {1, 9}, ignored={2, 9}) == Counts(1, 1, 1)
    assert compare_sets({9}, {9}, ignored={9}) == Counts(1, 0, 0)


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("Keep one table", "keep ONE table", 1.0),
        ("keep one table", "drop two views", 0.0),
        ("keep one table", "keep one", 2 / 3),
        ("a a", "a", 0.5),
        ("", "", 0.0),
    ],
)
def test_likeness_is_common_tokens_over_all(a: str, b: str, value: float) -> None:
    assert similarity(tokens(a), tokens(b)) == pytest.approx(value)


def test_assignment_finds_the_best_total_where_taking_the_best_pair_first_does_not() -> None:
    assert assignment([[0.9, 0.8], [0.8, 0.1]]) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("shape", [(1, 1), (2, 4), (4, 2), (3, 3), (4, 4)])
def test_assignment_is_as_good_as_trying_everything(shape: tuple[int, int]) -> None:
    rng = random.Random(repr(shape))
    for _ in range(30):
        worth = [
            [rng.choice([0.0, rng.random()]) for _ in range(shape[1])] for _ in range(shape[0])
        ]
        found = assignment(worth)
        assert len({row for row, _ in found}) == len({column for _, column in found})
        assert all(worth[row][column] > 0 for row, column in found)
        small, large = sorted(shape)
        best = max(
            sum(
                worth[i][j] if shape[0] <= shape[1] else worth[j][i]
                for i, j in zip(range(small), order, strict=True)
            )
            for order in itertools.permutations(range(large), small)
        )
        assert sum(worth[row][column] for row, column in found) == pytest.approx(best)


def test_pairs_stay_within_a_place() -> None:
    said = [(1, "we keep one table"), (2, "we keep one table")]
    assert match_spans(said, [(2, "we keep one table")]) == [(1, 0)]


def test_a_pair_needs_half_of_the_tokens() -> None:
    said = [(1, "one two three four")]
    assert match_spans(said, [(1, "one two three four five six seven eight")]) == [(0, 0)]
    assert match_spans(said, [(1, "one two three four five six seven eight nine")]) == []
    assert match_spans(said, [(1, "one nine")], threshold=0.0) == [(0, 0)]


def test_one_statement_answers_for_one_label() -> None:
    assert match_spans([(1, "keep it")], [(1, "keep it"), (1, "keep it")]) == [(0, 0)]


def test_a_sentence_around_a_labelled_clause_is_one_statement_with_it() -> None:
    label = (3, "keep one queue for each tenant")
    around = (3, "For now I'll keep one queue for each tenant, and merge them later.")
    longer = (3, f"{around[1]} {'Nothing else of the layout changes here. ' * 4}")
    assert match_statements([around, longer, (4, around[1])], [label]) == [0, -1, -1]
    assert match_statements([(3, "")], [label]) == [-1]


def test_a_second_statement_of_a_label_is_wrong_but_no_false_line_to_a_reader() -> None:
    labels = [(1, "use a ring buffer"), (2, "drop the cache")]
    found = [(1, "use a ring buffer", 0.5), (1, "so use a ring buffer", 0.9), (1, "hm", 0.7)]
    counts, first = count_statements(found, labels)
    assert (counts.right, counts.wrong, counts.missed) == (1, 2, 1)
    assert first == (True, False, True)
    assert count_statements(found, labels, {1})[0] == Counts(1, 1, 1)
    assert count_statements([], labels) == (Counts(0, 0, 2), ())


def test_the_statements_of_a_place_are_taken_as_independent() -> None:
    found = confidence_by_place([(1, "a", 0.5), (1, "b", 0.5), (2, "c", 0.2)])
    assert found == {1: 0.75, 2: pytest.approx(0.2)}
