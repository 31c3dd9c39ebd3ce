"""What is new since a place: items after it, references between them counted anew."""

from __future__ import annotations

from pathlib import Path

from leftoff import api
from leftoff.model import Ref
from leftoff.rendering.changes_since import since
from leftoff.summary import (
    ContextSummary,
    FileModification,
    Finding,
    KeyDecision,
    ProgressInfo,
    SessionInfo,
    StageChange,
    Stats,
)


def at(line: int, source: int = 0) -> Ref:
    return Ref(source, line, None, line - 1)


def decision(line: int, replaced_by: int | None = None) -> KeyDecision:
    return KeyDecision(f"d{line}", "approach", 0.8, line - 1, at(line), replaced_by=replaced_by)


SUMMARY = ContextSummary(
    schema="leftoff.summary/1",
    leftoff="0",
    rules="",
    session=SessionInfo(id="s"),
    stats=Stats(message_count=9),
    key_decisions=(decision(2, replaced_by=1), decision(4, replaced_by=2), decision(6)),
    progress=ProgressInfo(timeline=(StageChange("planning", at(1)), StageChange("testing", at(7)))),
    file_modifications=(
        FileModification("old.py", "modified", 1, ("Edit",), refs=(at(3),)),
        FileModification("both.py", "modified", 2, ("Edit",), refs=(at(3), at(8))),
        FileModification("child.py", "created", 1, ("Write",), refs=(at(1, source=1),)),
    ),
    key_findings=(Finding("early", at(3)), Finding("late", at(5))),
)  # fmt: skip


def test_items_on_the_line_or_before_it_are_left_out() -> None:
    view = since(SUMMARY, line=3)
    assert [d.text for d in view.key_decisions] == ["d4", "d6"]
    assert [f.text for f in view.key_findings] == ["late"]
    assert [c.stage for c in view.progress.timeline] == ["testing"]


def test_a_message_counts_as_it_is_shown() -> None:
    assert since(SUMMARY, message=4).key_decisions == since(SUMMARY, line=4).key_decisions
    assert [d.text for d in since(SUMMARY, message=4).key_decisions] == ["d6"]


def test_items_of_a_document_count_from_one() -> None:
    item = Finding("first", Ref(0, None, 0, 0)), Finding("second", Ref(0, None, 1, 1))
    view = since(ContextSummary("", "", "", SessionInfo(), Stats(), key_findings=item), line=1)
    assert [f.text for f in view.key_findings] == ["second"]


def test_followers_are_counted_anew() -> None:
    assert [d.replaced_by for d in since(SUMMARY, line=3).key_decisions] == [1, None]
    assert [d.replaced_by for d in since(SUMMARY, line=0).key_decisions] == [1, 2, None]


def test_a_file_is_new_if_it_was_touched_after() -> None:
    view = since(SUMMARY, line=3)
    assert [f.path for f in view.file_modifications] == ["both.py", "child.py"]


def test_the_whole_session_stays_told() -> None:
    view = since(SUMMARY, line=100)
    assert view.stats == SUMMARY.stats
    assert view.session == SUMMARY.session
    assert not view.key_decisions


def test_checks_and_git_are_only_those_that_are_new(root: Path) -> None:
    whole = api.summarize(root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl")
    late = since(whole, message=40)
    assert len(late.checks) < len(whole.checks)
    assert late.git == whole.git
    for milestone in late.progress.milestones:
        assert milestone.check is None or late.checks[milestone.check].ref.message >= 40
    assert since(whole, message=10_000).git == ()
