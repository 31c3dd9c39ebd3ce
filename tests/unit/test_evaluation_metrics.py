"""Scores of one session and the figures that follow, worked out by hand."""

from typing import Any

import pytest

from leftoff.evaluation import labels
from leftoff.evaluation.matching import Counts
from leftoff.evaluation.metrics import FIGURES, SessionScore, figure_named, score
from leftoff.evaluation.sessions import LabelledSession, Predictions
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
    assert figure_named("stage_accuracy").of([found]) == pytest.approx(2 / 3)


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


def test_what_a_system_does_not_speak_of_is_not_scored() -> None:
    found = score(session(*TALK, decisions=DECIDED), Predictions())
    assert found == SessionScore("owner__name__one.jsonl", "owner__name")
    assert all(figure.of([found]) is None for figure in FIGURES)


# -- calibration -----------------------------------------------------------------------------


def test_figures_of_many_sessions_come_from_summed_counts() -> None:
    scores = [
        SessionScore("a", "r", decisions=Counts(1, 0, 0)),
        SessionScore("b", "r", decisions=Counts(0, 3, 9)),
    ]
    assert figure_named("decisions_f1").of(scores) == pytest.approx(2 / 14)


def test_names_of_figures_are_unique() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


def test_what_a_subagent_says_is_no_part_of_the_session() -> None:
    other = Message(6, "assistant", (Text("I'll do it."),), line=7, agent="a1")
    here = session(*TALK, other)
    assert 7 not in here.texts
    assert here.turns == session(*TALK).turns


def test_what_the_annotator_did_not_read_is_no_part_of_the_session() -> None:
    whole, begun = session(*TALK), session(*TALK, until=3)
    assert (whole.lines, len(whole.messages)) == (None, 6)
    assert (begun.lines, len(begun.messages)) == (3, 3)
