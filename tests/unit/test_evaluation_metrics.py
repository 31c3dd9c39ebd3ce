"""Scores of one session and the figures that follow, worked out by hand."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from leftoff.evaluation import labels
from leftoff.evaluation.matching import Counts
from leftoff.evaluation.metrics import (
    FIGURES,
    Ranked,
    SessionScore,
    brier,
    brier_skill,
    calibration_error,
    confusion,
    figure_named,
    macro_f1,
    reliability,
    score,
)
from leftoff.evaluation.predictions import Prediction, Predictions
from leftoff.evaluation.sessions import LabelledSession
from leftoff.model import Message, Role, Text, ToolResult


def said(index: int, role: Role, text: str, response: str = "") -> Message:
    return Message(index, role, (Text(text),), line=index + 1, response=response)


def session(*messages: Message, **marked: Any) -> LabelledSession:
    return LabelledSession(
        labels.Labels("owner__name__one.jsonl", **marked), "one.jsonl", messages
    )


TALK = (
    said(0, "user", "Make uploads survive a restart. No new dependencies."),
    said(1, "assistant", "I'll keep the queue in SQLite. Rows are claimed by one update."),
    said(2, "assistant", "As I said, SQLite it is."),
    said(3, "assistant", "All 14 tests pass now."),
    Message(4, "tool", (ToolResult("c", "14 passed"),), line=5),
    said(5, "assistant", "Nothing else to say."),
)
DECIDED = (
    labels.Decision(2, "I'll keep the queue in SQLite.", "architecture", 3, (3,)),
    labels.Decision(2, "Rows are claimed by one update.", "implementation", 2),
)


def test_decisions_by_message_span_and_type() -> None:
    found = score(
        session(*TALK, decisions=DECIDED),
        Predictions(
            decisions=(
                Prediction(2, "I'll keep the queue in SQLite.", "architecture", 0.9),
                Prediction(
                    3, "As I said, SQLite it is.", "approach", 0.8
                ),  # only says it again
                Prediction(6, "Nothing else to say.", "other", 0.6),
                Prediction(1, "No new dependencies.", "other", 0.7),  # the person's own
                Prediction(5, "14 passed", "other", 0.9),  # not the agent's words
            )
        ),
    )
    assert found.decisions == Counts(1, 1, 0)
    assert found.decision_spans == Counts(1, 1, 1)
    assert found.joint == Counts(1, 1, 1)
    assert found.joint_spans == Counts(1, 1, 1)
    assert found.types == {
        "->other": 1,
        "architecture>architecture": 1,
        "implementation>-": 1,
    }
    assert found.calibration == ((0.9, True), (0.6, False))
    assert found.ranked is None  # fewer than five labelled decisions


def test_what_readers_are_unsure_of_is_scored_neither_way() -> None:
    near = (
        labels.NearMiss(2, "Rows are claimed by one update.", "unsure"),
        labels.NearMiss(6, "Nothing else to say.", "report"),
    )
    said_so = tuple(
        Prediction(place, text, "fix", 0.9)
        for place, text in (
            (2, "I'll keep the queue in SQLite."),
            (2, "Rows are claimed by one update."),
            (6, "Nothing else to say."),
        )
    )
    for decisions in (DECIDED, DECIDED[:1]):
        found = score(
            session(*TALK, decisions=decisions, near_misses=near),
            Predictions(decisions=said_so),
        )
        assert found.statements == Counts(1, 1, 0)
        assert found.decisions == Counts(1, 1, 0)


def test_a_wrong_type_is_wrong_only_with_type() -> None:
    found = score(
        session(*TALK, decisions=DECIDED[:1]),
        Predictions(decisions=(Prediction(2, "I'll keep the queue in SQLite.", "fix", 0.9),)),
    )
    assert found.decisions == Counts(1, 0, 0)
    assert found.joint == found.joint_spans == Counts(0, 1, 1)


def test_what_is_said_beside_a_repeat_in_a_labelled_message_is_ignored_by_span() -> None:
    marked = (
        labels.Decision(2, "I'll keep the queue in SQLite.", "architecture", 3, (4,)),
        labels.Decision(4, "All 14 tests pass now.", "approach"),
    )
    found = score(
        session(*TALK, decisions=marked),
        Predictions(decisions=(Prediction(4, "something quite different", "fix", 0.9),)),
    )
    assert found.decisions == Counts(1, 0, 1)
    assert found.decision_spans == Counts(0, 0, 2)


def many(count: int) -> tuple[list[Message], tuple[labels.Decision, ...]]:
    messages = [said(i, "assistant", f"I'll take road {i}.") for i in range(count * 2)]
    marked = tuple(
        labels.Decision(i + 1, f"I'll take road {i}.", "approach") for i in range(count)
    )
    return messages, marked


def test_the_first_ten_are_ranked_by_confidence() -> None:
    messages, marked = many(6)
    claims = [
        Prediction(i + 1, f"I'll take road {i}.", "approach", 0.9 - i / 100) for i in range(8)
    ]
    # Road 0 falls behind: of the first six by confidence five are labelled.
    claims[0] = Prediction(1, "I'll take road 0.", "approach", 0.1)
    found = score(session(*messages, decisions=marked), Predictions(decisions=tuple(claims)))
    assert found.ranked == Ranked(6, 5, 6)


def test_offering_fewer_than_asked_costs_precision_at_ten() -> None:
    messages, marked = many(5)
    found = score(
        session(*messages, decisions=marked),
        Predictions(decisions=(Prediction(1, "I'll take road 0.", "approach", 0.9),)),
    )
    assert figure_named("p_at_10").of([found]) == pytest.approx(0.2)
    assert figure_named("r_at_10").of([found]) == pytest.approx(0.2)


def test_milestones_need_their_kind_and_a_place_with_words() -> None:
    found = score(
        session(*TALK, milestones=(labels.Milestone(4, "All 14 tests pass", "tests_pass"),)),
        Predictions(
            milestones=(
                Prediction(4, "All 14 tests pass now.", "tests_pass", 1.0, "verified"),
                Prediction(4, "All 14 tests pass now.", "task_done", 1.0, "claimed"),
                Prediction(5, "14 passed", "tests_pass", 1.0, "verified"),
            )
        ),
    )
    assert found.milestones == Counts(1, 1, 0)
    assert found.milestone_kinds["task_done"] == Counts(0, 1, 0)
    assert found.milestone_evidence == {
        "claimed": Counts(0, 1, 0),
        "verified": Counts(1, 0, 0),
    }


def test_stages_count_turns_not_lines() -> None:
    messages = (
        said(0, "user", "Go on."),
        said(1, "assistant", "Reading.", "r1"),
        said(2, "assistant", "Still reading.", "r1"),
        said(3, "assistant", "Writing.", "r2"),
        said(4, "assistant", "Testing.", "r3"),
    )
    marked = (
        labels.Stage(1, "planning"),
        labels.Stage(4, "implementation"),
        labels.Stage(5, "testing"),
    )
    here = session(*messages, stages=marked)
    assert here.turns == [(2, 1), (4, 3), (5, 4)]
    found = score(here, Predictions(timeline=((1, "planning"), (4, "testing"))))
    assert found.stages == {
        "implementation>planning": 1,
        "planning>planning": 1,
        "testing>testing": 1,
    }
    assert found.boundaries == Counts(1, 0, 1)
    assert figure_named("stage_accuracy").of([found]) == pytest.approx(2 / 3)


def test_a_turn_before_any_stage_was_said_is_wrong() -> None:
    here = session(TALK[1], stages=(labels.Stage(2, "planning"),))
    found = score(here, Predictions(timeline=()))
    assert found.stages == {"planning>-": 1}


def test_cuts_are_always_the_same_ten_and_ask_for_the_stage_in_force() -> None:
    messages = [said(i, "assistant", f"Step {i}.") for i in range(40)]
    marked = (labels.Stage(3, "planning"), labels.Stage(20, "testing"))
    here = session(*messages, stages=marked)
    assert here.cuts == session(*messages, stages=marked).cuts
    assert len(here.cuts) == 10
    assert min(here.cuts) >= 3
    right = {cut: "planning" if cut < 20 else "testing" for cut in here.cuts}
    assert score(here, Predictions(cuts=right)).cuts == Counts(10, 0, 0)
    assert score(here, Predictions(cuts={})).cuts == Counts(0, 0, 10)


def test_directives_count_messages_and_kinds_apart() -> None:
    found = score(
        session(
            *TALK,
            directives=(
                labels.Directive(1, "Make uploads survive a restart.", "task"),
                labels.Directive(1, "No new dependencies.", "constraint"),
            ),
        ),
        Predictions(
            directives=(
                Prediction(1, "Make uploads survive a restart.", "task"),
                Prediction(5, "x", "task"),
            )
        ),
    )
    assert found.directives == Counts(1, 0, 0)
    assert found.directives_with_kind == Counts(1, 0, 1)


def test_open_items_by_message_and_by_words() -> None:
    found = score(
        session(*TALK, open_items=(labels.OpenItem(6, "Nothing else to say."),)),
        Predictions(open_items=(Prediction(6, "Something completely different here"),)),
    )
    assert found.open_items == Counts(1, 0, 0)
    assert found.open_item_spans == Counts(0, 1, 1)


def test_what_a_system_does_not_speak_of_is_not_scored() -> None:
    found = score(session(*TALK, decisions=DECIDED), Predictions())
    assert found == SessionScore("owner__name__one.jsonl", "owner__name")
    assert all(figure.of([found]) is None for figure in FIGURES)


# -- calibration -----------------------------------------------------------------------------


def test_equal_confidences_stay_in_one_bin() -> None:
    rows = reliability([(0.5, i % 2 == 0) for i in range(30)] + [(0.9, True)])
    assert [row.count for row in rows] == [30, 1]
    assert rows[0].right == pytest.approx(0.5)


def test_bins_have_equal_mass_and_lose_nothing() -> None:
    points = [(i / 97, i % 3 == 0) for i in range(97)]
    rows = reliability(points)
    assert sum(row.count for row in rows) == 97
    assert {row.count for row in rows} <= {9, 10}
    assert all(a.high < b.low for a, b in itertools.pairwise(rows))


def test_calibration_by_hand() -> None:
    points = [(0.8, True)] * 4 + [(0.8, False)]
    assert calibration_error(points) == pytest.approx(0.0)
    assert brier(points) == pytest.approx(0.16)
    assert brier_skill(points) == pytest.approx(0.0)
    assert calibration_error([(0.9, False)]) == pytest.approx(0.9)
    assert brier_skill([(1.0, True), (0.0, False)]) == pytest.approx(1.0)


def test_the_base_rate_cannot_be_beaten_where_all_is_right() -> None:
    assert brier_skill([(0.9, True), (0.8, True)]) is None
    assert calibration_error([]) is None


def test_macro_f1_is_over_the_labels_that_occur() -> None:
    table = {("a", "a"): 3, ("a", "b"): 1, ("b", "b"): 1, ("-", "c"): 5}
    assert macro_f1(table) == pytest.approx((6 / 7 + 2 / 3) / 2)


def test_confusions_add_up() -> None:
    one = SessionScore("a", "r", types={"fix>fix": 2})
    two = SessionScore("b", "r", types={"fix>fix": 1, "fix>-": 1})
    assert confusion([one, two], "types") == {("fix", "-"): 1, ("fix", "fix"): 3}


def test_figures_of_many_sessions_come_from_summed_counts() -> None:
    scores = [
        SessionScore("a", "r", decisions=Counts(1, 0, 0)),
        SessionScore("b", "r", decisions=Counts(0, 3, 9)),
    ]
    assert figure_named("decisions_f1").of(scores) == pytest.approx(2 / 14)


def test_names_of_figures_are_unique() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


@pytest.mark.parametrize(("off", "right"), [(0, 1), (2, 1), (-2, 1), (3, 0), (-3, 0)])
def test_a_boundary_may_be_two_turns_off(off: int, right: int) -> None:
    messages = [said(i, "assistant", f"Step {i}.") for i in range(20)]
    marked = (labels.Stage(1, "planning"), labels.Stage(11, "testing"))
    found = score(
        session(*messages, stages=marked),
        Predictions(timeline=((0, "planning"), (10 + off, "testing"))),
    )
    assert found.boundaries == Counts(right, 1 - right, 1 - right)


def test_what_a_subagent_says_is_no_part_of_the_session() -> None:
    other = Message(6, "assistant", (Text("I'll do it."),), line=7, agent="a1")
    here = session(*TALK, other)
    assert 7 not in here.texts
    assert here.turns == session(*TALK).turns


def test_what_the_annotator_did_not_read_is_no_part_of_the_session() -> None:
    whole, begun = session(*TALK), session(*TALK, until=3)
    assert (whole.lines, len(whole.messages)) == (None, 6)
    assert (begun.lines, len(begun.messages)) == (3, 3)


def test_an_item_of_a_to_do_list_is_no_false_alarm() -> None:
    marked = session(*TALK, open_items=(labels.OpenItem(6, "Nothing else to say."),))
    ours = (Prediction(6, "Polish the lid", "pending"), Prediction(4, "Boil water", "said"))
    found = score(marked, Predictions(open_items=ours)).open_items_by_item
    assert found == Counts(0, 1, 1)
