"""The arithmetic behind key decisions, apart from the shipped weights."""

from __future__ import annotations

import math

import pytest

from leftoff.extraction.decision_model import (
    FEW,
    MIN_LOG_ODDS,
    VERBS,
    Model,
    Scorer,
    any_log_odds,
    bucket,
    calibrated,
    is_english,
    layout_features,
    message_features,
    place_features,
    sentence_subjects,
    subject_features,
    subjects,
    subjects_of,
    word_features,
    words,
)
from leftoff.text.markdown import block_before, blocks_of


def test_a_number_falls_to_the_first_edge_that_it_does_not_exceed() -> None:
    assert [bucket(n, (2, 4)) for n in (0, 2, 3, 4, 5)] == [0, 0, 1, 1, 2]


def probability(log_odds: float) -> float:
    return calibrated(log_odds, 0, (1000, 0, 0))


def test_probabilities_are_calibrated_by_a_line() -> None:
    assert probability(0.0) == 0.5
    assert probability(1.0) == pytest.approx(1 / (1 + math.exp(-1)))
    assert calibrated(2.0, 0, (500, -1000, 0)) == 0.5
    assert probability(1e9) == probability(30.0) < 1
    assert probability(-1e9) == probability(-30.0) > 0


def test_several_sentences_are_taken_as_independent() -> None:
    assert any_log_odds([]) == MIN_LOG_ODDS
    assert any_log_odds([-50.0]) == MIN_LOG_ODDS
    assert any_log_odds([0.7]) == pytest.approx(0.7)
    both = 1 - (1 - probability(0.5)) * (1 - probability(-1.0))
    assert probability(any_log_odds([0.5, -1.0])) == pytest.approx(both)


def test_a_later_rank_in_a_session_counts_by_its_logarithm() -> None:
    model = Model(calibration=(1000, 200, -500), message=(2000, 0, -100))
    assert model.statement_probability(0.3, 0) == probability(0.5)
    assert model.statement_probability(0.3, 3) == pytest.approx(
        probability(0.5 - 0.5 * math.log(4))
    )
    assert model.message_probability(0.3, 0) == probability(0.6)


def test_what_stands_around_a_sentence_is_told() -> None:
    text = "# Storage\n\nWe change two things:\n\n- Keep rows sorted. Then read.\n- Drop `b`."
    blocks = blocks_of(text)[0]
    start = text.index("Keep")
    number = block_before(blocks, start)
    found = layout_features(text, blocks, number, start, start + len("Keep rows sorted."))
    assert {"l:ord0", "l:items1", "l:headed", "hd:storage", "ld:things", "ld:end:"} <= set(
        found
    )
    assert "nx:then" in found
    assert not {"l:bold", "ld:keep"} & set(found)
    first = blocks[1]
    alone = layout_features(text, blocks, 1, first[0], first[1])
    assert "l:ord0" not in alone
    assert "l:headed" in alone


def test_a_model_without_weights_may_learn_every_feature() -> None:
    assert Model().knows("l:k0")
    assert Model(weights={"l:k0": 3}).knows("l:k0")
    assert not Model(weights={"l:k0": 3}).knows("l:k1")


def test_a_gate_a_score_a_kind_and_its_reasons() -> None:
    model = Model(
        gate={"use": 3, "the": -1},
        gate_least=2,
        weights={"w:use": 700, "w:the": -100, "w:a": 700, "l:x": 5},
        bias=-300,
        kinds=("x", "y", "z"),
        kind_weights={"w:use": (0, 2, 2), "w:a": (5, 0, 0)},
        kind_bias=(1, 0, 0),
    )
    assert model.passes_gate(["use", "the"])
    assert not model.passes_gate(["use", "the", "the"])
    assert not model.passes_gate(["other", "unknown", "words"])
    assert model.score(["w:use", "w:the", "unknown"]) == 0.3
    assert model.kind(["w:use"]) == "y"
    assert model.kind(["w:use", "w:a"]) == model.kind([]) == "x"
    found = ["l:x", "w:use", "w:the", "w:a", "w:use"]
    assert model.top_features(found) == ["w:a", "w:use", "l:x"]
    assert model.top_features(found, 1) == ["w:a"]


def test_the_fast_score_is_the_score() -> None:
    verb = next(iter(VERBS))
    model = Model(
        weights={
            "w:a": 1, "b:^_a": 10, "b:a_a": 100, "b:a_$": 1000, "c:^_a": 10_000,
            f"c:a_{VERBS[verb]}": 100_000, "l:x": 7,
        },
        bias=3,
    )  # fmt: skip
    for found in (["a"], ["a", "a", "a"], ["a", verb], []):
        slow = model.score([*word_features(found), "l:x"])
        scorer = Scorer(model)
        assert [scorer.score(found, ["l:x"]) for _ in range(FEW + 2)] == [slow] * (FEW + 2)


@pytest.mark.parametrize(
    "text,told",
    [
        ("We’ll USE `x y`", "we'll use <code>"),
        ("see https://a.b/c or src/x.py", "see <url> or <path>"),
        ("my_name 42 now!", "<id> <num> now !"),
        ("— ✅ :", "— ✅ :"),
    ],
)
def test_words_are_told_by_what_they_are(text: str, told: str) -> None:
    assert [w for w in words(text) if w != "my"] == told.split()


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


def test_english_is_told_by_its_small_words() -> None:
    assert is_english(["uno"] * 7, "uno")
    assert not is_english(["uno"] * 8, "uno")
    assert is_english(["the"] + ["uno"] * 19, "x")
    assert not is_english(["the"] + ["uno"] * 20, "x")
    # A sixth of the letters of another script is too many.
    assert is_english([], "abcdeж")
    assert not is_english([], "abcdж")


def test_subjects_are_counted_in_steps() -> None:
    name = next(iter(subjects()))
    word = next(w for w in subjects()[name].pattern.replace(r"\w*", "x").split("|"))
    told = subjects_of(word)
    assert told[0] == name
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


@pytest.mark.parametrize(
    "start,size,at",
    [
        (0, 12, "only"),
        (0, 13, "first"),
        (2, 40, "first"),
        (3, 40, "mid"),
        (28, 40, "last"),
        (27, 40, "mid"),
    ],
)
def test_where_a_sentence_stands(start: int, size: int, at: str) -> None:
    found = place_features("Ten chars.", 1, "item", start == 0, start, size)
    assert found[:2] == ["l:item", "l:end."]
    assert found[2:6] == ["l:len0", "l:size0", f"l:{at}", "l:code1"]
    assert found[6:] == (["l:opens"] if start == 0 else [])
    assert place_features("none", 5, "item", False, 0, 9)[1] == "l:endx"
    assert place_features("none", 5, "item", False, 0, 9)[5] == "l:code4"


def test_lengths_are_told_by_the_edges_that_the_weights_were_trained_with() -> None:
    for kind, edges in (
        ("len", (20, 40, 70, 110, 160, 240)),
        ("size", (60, 120, 200, 350, 700, 1500, 4000)),
    ):
        for number, edge in enumerate(edges):
            for length, told in ((edge, number), (edge + 1, number + 1)):
                found = place_features("x" * length, 0, "item", False, 3, length)
                assert f"l:{kind}{told}" in found
