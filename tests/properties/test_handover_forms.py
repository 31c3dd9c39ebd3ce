"""Every form that is delivered names the same facts in the same order, within its budget."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.budget.tasks import TaskTokenBudget
from leftoff.handover.briefing import briefing, render_prompt, size
from leftoff.handover.checkpoint.document import checkpoint_of
from leftoff.handover.checkpoint.from_summary import checkpoint_source
from leftoff.handover.checkpoint.injection import block
from leftoff.handover.packing import BudgetTooSmall
from leftoff.handover.resume_log.document import ResumeLog
from leftoff.handover.resume_state.from_summary import from_summary as state_of
from leftoff.handover.resume_state.message import resume_message
from leftoff.model import Ref
from leftoff.summary import (
    Check,
    ContextSummary,
    ErrorSeen,
    FileModification,
    GitEvent,
    KeyDecision,
    Name,
    NextStep,
    SessionInfo,
    Stats,
    TurnState,
    UserRequest,
    Words,
    WorkingSet,
)
from leftoff.tokens import max_tokens

AT = datetime(2026, 1, 2, tzinfo=UTC)
BUDGET = TaskTokenBudget.start("t1", "a", created_at="", total_allocated=1000).used(950)
PLENTY = 60_000

_MARK = re.compile(r"\bfact\d+x")


def ref(message: int) -> Ref:
    return Ref(0, message + 1, None, message, 0, 0, 1)


@st.composite
def sessions(draw: st.DrawFn) -> ContextSummary:
    """Summaries in which every fact holds a mark of its own."""
    count = 0

    def words() -> str:
        nonlocal count
        count += 1
        filler = draw(
            st.sampled_from(["of the importer", "`code` <b>", "\n\nsecond", "word " * 90])
        )
        return f"note fact{count}x {filler}"

    def many(most: int) -> range:
        return range(draw(st.integers(0, most)))

    kinds = st.sampled_from(["task", "question", "remark", "constraint", "correction"])
    turn = draw(st.sampled_from(["open", "closed", "interrupted", ""]))
    return ContextSummary(
        "leftoff.summary/1", "0", "0", SessionInfo(id="s"), Stats(message_count=60),
        turn=TurnState(turn, "2026-01-02T10:00:00", ref(60)),
        user_requests=tuple(
            UserRequest(words(), draw(kinds), draw(st.sampled_from(["open", "done"])), ref(n))
            for n in many(6)
        ),
        key_decisions=tuple(KeyDecision(words(), "other", 0.7, n, ref(n)) for n in many(4)),
        next_steps=tuple(NextStep(words(), "said", ref(n)) for n in many(3)),
        errors=tuple(ErrorSeen(words(), "Bash", ref(n)) for n in many(3)),
        checks=tuple(
            Check("test", "pytest", f"pytest {words()}", "failed", ref(n)) for n in many(3)
        ),
        git=tuple(GitEvent("commit", words(), ref(n), hash="0123abcd") for n in many(2)),
        file_modifications=tuple(
            FileModification(f"src/fact{1000 + n}x.py", "modified", 1, (), last_message=n)
            for n in many(5)
        ),
        working_set=WorkingSet(last_words=Words(words(), 59)),
    )  # fmt: skip


def marks(text: str) -> list[str]:
    return list(dict.fromkeys(_MARK.findall(text)))


@given(sessions())
@settings(max_examples=60, deadline=None)
def test_every_form_names_the_same_facts_in_the_same_order(summary: ContextSummary) -> None:
    prompt = marks(render_prompt(summary, PLENTY))
    made = checkpoint_of(checkpoint_source(summary), budget=BUDGET, capacity="95", at=AT)
    assert marks(briefing(summary, whole=PLENTY)) == prompt
    assert marks(block(made, PLENTY)) == prompt
    # The design's layout begins with phase, strategy and discoveries.
    _, _, known = resume_message(state_of(summary), budget=PLENTY).partition("CURRENT STATE:")
    assert marks(known) == prompt
    # The log has the seven sections of its design; the facts are the same.
    log = ResumeLog.from_summary(summary).to_markdown(PLENTY)
    assert {*marks(log)} >= {*prompt}


@given(sessions(), st.integers(0, 3_000))
@settings(max_examples=60, deadline=None)
def test_no_form_exceeds_its_budget_or_says_nothing(
    summary: ContextSummary, budget: int
) -> None:
    made = checkpoint_of(checkpoint_source(summary), budget=BUDGET, capacity="95", at=AT)
    state = state_of(summary)
    forms: tuple[tuple[Callable[[], str], Callable[[str], int]], ...] = (
        (lambda: render_prompt(summary, budget), max_tokens),
        (lambda: briefing(summary, whole=budget), size),
        (lambda: block(made, budget), max_tokens),
        (lambda: resume_message(state, budget=budget), max_tokens),
        (lambda: ResumeLog.from_summary(summary).to_markdown(budget or 1), max_tokens),
    )
    for form, measure in forms:
        try:
            text = form()
        except BudgetTooSmall as error:
            assert "needs at least" in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert measure(text) <= max(1, budget)
            assert text


def test_a_stored_checkpoint_and_state_shorten_what_they_hold_and_keep_its_place() -> None:
    long = "Keep the totals as integers " * 60
    summary = ContextSummary(
        "leftoff.summary/1", "0", "0", SessionInfo(), Stats(),
        user_requests=(UserRequest(long, "task", "open", ref(4)),),
    )  # fmt: skip
    made = checkpoint_of(checkpoint_source(summary), budget=BUDGET, capacity="95", at=AT)
    for text in (block(made, 400), resume_message(state_of(summary), budget=600)):
        (line,) = [n for n in text.splitlines() if "Keep the totals" in n]
        assert line.endswith("… #5")
    with pytest.raises(BudgetTooSmall):
        block(made, 1)


def test_what_comes_first_stands_in_a_small_budget_whatever_else_there_is() -> None:
    """Shares of a small budget hold no line: names and decisions once took the place of the last
    message."""
    summary = ContextSummary(
        "leftoff.summary/1", "0", "0", SessionInfo(), Stats(message_count=90),
        turn=TurnState("open", "2026-01-02T10:00:00", ref(80)),
        user_requests=tuple(
            UserRequest(f"Sort list number {n} " * 20, "task", "open", ref(n)) for n in range(9)
        ),
        key_decisions=tuple(
            KeyDecision(f"Use list {n}", "other", 0.9, n, ref(n)) for n in range(9)
        ),
        file_modifications=(FileModification("src/sort.py", "modified", 1, (), last_message=7),),
        working_set=WorkingSet(
            last_words=Words("Now I sort the last of them", 80),
            names=tuple(Name(f"name_{n}", n % 5 + 1, n) for n in range(60)),
        ),
    )  # fmt: skip
    made = checkpoint_of(checkpoint_source(summary), budget=BUDGET, capacity="95", at=AT)
    for text in (
        block(made, 600),
        render_prompt(summary, 600),
        resume_message(state_of(summary), budget=900),
    ):
        for words in ("still at work", "Sort list number 8", "Now I sort", "src/sort.py"):
            assert words in text
