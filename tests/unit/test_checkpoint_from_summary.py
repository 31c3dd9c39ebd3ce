"""What a checkpoint tells: every part of a summary that the next agent needs, and no other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from leftoff.budget.tasks import TaskTokenBudget
from leftoff.handover.checkpoint.document import from_summary
from leftoff.handover.checkpoint.from_summary import (
    MAX_EARLIER_ERRORS,
    CheckpointFacts,
    collect_facts,
)
from leftoff.handover.checkpoint.injection import FILLER_BUDGET, block
from leftoff.handover.facts import EARLIER_NOTE, is_in_force
from leftoff.model import Ref
from leftoff.summary import (
    Command,
    ContextSummary,
    ErrorSeen,
    FileModification,
    Finding,
    KeyDecision,
    Milestone,
    NextStep,
    ProgressInfo,
    SessionInfo,
    Stats,
    UserRequest,
    Words,
    WorkingSet,
)
from leftoff.tokens import max_tokens

AT = datetime(2026, 1, 2, tzinfo=UTC)
BUDGET = TaskTokenBudget.start("t1", "a", created_at="", total_allocated=1000).used(950)


def ref(message: int, part: int | None = None) -> Ref:
    return Ref(source=0, line=message + 1, item=None, message=message, part=part,
               start=None, end=None, hash="00000000")  # fmt: skip


def decision(text: str, at: int, **more: Any) -> KeyDecision:
    return KeyDecision(text, "approach", more.pop("confidence", 0.8), at, ref(at), **more)


def command(text: str, kind: str, passed: bool | None, at: int) -> Command:
    return Command(text, kind, passed, 1, ref(at, 0))


SUMMARY = ContextSummary(
    schema="s", leftoff="0", rules="r",
    session=SessionInfo(cwd="/w"), stats=Stats(),
    user_requests=(
        UserRequest("Sort the invoices by date", "task", "done", ref(0)),
        UserRequest("no new dependencies, ever again", "constraint", "open", ref(1)),
        UserRequest("do not write code, only the page", "constraint", "open", ref(2)),
        UserRequest("Add a total to each page", "task", "open", ref(10)),
        UserRequest("Print the currency, too", "task", "withdrawn", ref(11)),
        UserRequest("Round the cents", "correction", "done", ref(12)),
        UserRequest("Now write the export", "task", "open", ref(20)),
        UserRequest("touch nothing in legacy", "constraint", "open", ref(21)),
    ),
    key_decisions=(
        decision("keep cents as integers", 15, confidence=0.6),
        decision("sort in the database", 5, confidence=0.9),
        decision("perhaps a cache", 6, confidence=0.3),
        decision("sort in memory", 4, status="reversed"),
    ),
    progress=ProgressInfo(
        completed_stages=("planning",), current_stage="implementation", progress_percentage=88,
        tests_older_than_last_edit=True,
        milestones=(
            Milestone("the sorting tests pass", "tests_pass", "verified", ref(8), "tool"),
            Milestone("the rounding is right", "bug_fixed", "claimed", ref(14)),
        ),
    ),
    file_modifications=(
        FileModification("/w/src/export.py", "created", 1, ("Write",)),
        FileModification("/w/src/sort.py", "modified", 2, ("Edit",)),
        FileModification("/w/old.py", "deleted", 1, ("Bash",)),
        FileModification("/w/README.md", "read", 1, ("Read",)),
    ),
    errors=(
        ErrorSeen("early failure of the linter", "Bash", ref(9)),
        ErrorSeen("a mended failure", "Bash", ref(22), fixed=True),
        ErrorSeen("cannot find column total", "Bash", ref(23)),
        ErrorSeen("the export has no header", "Bash", ref(24)),
        ErrorSeen("no such file to look at", "Read", ref(25)),
        ErrorSeen("Output:", "Bash", ref(26)),
    ),
    next_steps=(NextStep("write the header line", "in_progress", ref(24)),),
    key_findings=(Finding("dates are strings in the old table", ref(7)),),
    working_set=WorkingSet(
        commands=(
            command("pytest -q", "test", False, 23),
            command("ruff check .", "lint", None, 9),
            command("make all", "build", True, 8),
            command("pytest tests/old", "test", False, 3),
            command("python -m shop serve", "run", True, 4),
        ),
        last_words=Words("The header is missing still.", 25),
        recent=(Words("The header comes from the schema.", 24), Words("dates are strings in the old table", 7)),
    ),
)  # fmt: skip


@pytest.fixture
def facts() -> CheckpointFacts:
    return collect_facts(SUMMARY)


@pytest.fixture
def told(facts: CheckpointFacts) -> dict[str, tuple[str, ...]]:
    return dict(facts.sections())


@pytest.mark.parametrize(
    ("title", "items"),
    [
        ("Task", ["Sort the invoices by date (done, as far as the recording shows, #1)"]),
        ("Asked last", ["Now write the export (not seen done, #21)"]),
        ("Asked", ["Add a total to each page (not seen done, #11)"]),
        ("Asked and done", ["Round the cents (done, as far as the recording shows, #13)"]),
        ("Constraints", [
            "no new dependencies, ever again (#2)",
            f"do not write code, only the page ({EARLIER_NOTE}, #3)",
            "touch nothing in legacy (#22)",
        ]),
        ("Left open", ["write the header line (in_progress, #25)"]),
        ("Last words", ["The header is missing still. (#26)"]),
        ("Decided", ["sort in the database (#6)", "keep cents as integers (#16)"]),
        ("Files modified", ["src/sort.py"]),
        ("Files deleted", ["old.py"]),
        ("Errors", [
            "`the export has no header` (Bash, #25)",
            "`cannot find column total` (Bash, #24)",
            "`early failure of the linter` (Bash, before the last prompt, #10)",
        ]),
        ("Checks", [
            "make all: passed (build, #9)",
            "ruff check .: result unknown (lint, #10)",
            "pytest -q: failed (test, #24)",
        ]),
        ("Commands", ["python -m shop serve: passed (run, #5)"]),
        ("Progress", ["stage implementation; files were edited after the last test run"]),
        ("Reached", [
            "the sorting tests pass (tests_pass, #9)",
            "the rounding is right (bug_fixed, #15) (said, not shown)",
        ]),
        ("Found out", ["dates are strings in the old table (#8)"]),
        ("Also said", ["The header comes from the schema. (#25)"]),
    ],
)  # fmt: skip
def test_each_part_is_told(
    told: dict[str, tuple[str, ...]], title: str, items: list[str]
) -> None:
    assert list(told[title]) == items


def test_every_title_stands_in_the_block_with_its_items(
    told: dict[str, tuple[str, ...]],
) -> None:
    made = from_summary(SUMMARY, budget=BUDGET, capacity="95", at=AT)
    text = block(made)
    for title, items in told.items():
        assert "\n".join([f"{title}:", *(f"- {item}" for item in items)]) in text
    assert "\nFiles created: src/export.py\n" in text
    assert "%" not in text
    assert made.execution_state.current_error == told["Errors"][0]


def test_what_is_to_be_finished_holds_no_constraint(facts: CheckpointFacts) -> None:
    assert facts.to_finish == (
        "write the header line (in_progress, #25)",
        "Add a total to each page (not seen done, #11)",
        "Now write the export (not seen done, #21)",
    )


def test_the_owners_words_come_before_the_first_request() -> None:
    facts = collect_facts(SUMMARY, goal="Ship the export")
    assert (facts.task, facts.task_state) == ("Ship the export", "")
    assert any(item.startswith("Sort the invoices") for item in facts.done)


def test_of_the_failures_before_the_last_prompt_the_latest_are_told() -> None:
    errors = tuple(ErrorSeen(f"failure number {n}", "Bash", ref(n)) for n in range(20))
    told = collect_facts(replace(SUMMARY, errors=errors)).errors
    assert len(told) == MAX_EARLIER_ERRORS
    assert told[0].startswith("`failure number 19` ")


def test_a_small_block_keeps_what_is_open_and_fills_its_room() -> None:
    many = tuple(Words(f"Sentence number {n} about the export.", n) for n in range(200))
    done = tuple(
        UserRequest(f"Old wish number {n}", "task", "done", ref(n)) for n in range(1, 9)
    )
    summary = replace(
        SUMMARY,
        user_requests=(*SUMMARY.user_requests[:1], *done, *SUMMARY.user_requests[1:]),
        working_set=replace(SUMMARY.working_set, recent=many),
    )
    made = from_summary(summary, budget=BUDGET, capacity="95", at=AT)
    for budget in (450, 700, 1000, 1500):
        text = block(made, budget)
        used = max_tokens(text)
        assert 0.85 * budget < used <= budget
        for wanted in ("Sort the invoices", "Now write the export", "write the header line",
                       "Add a total", "src/sort.py", "src/export.py"):  # fmt: skip
            assert wanted in text
        assert "left out: " in text
    assert "- Sentence number" not in block(made, 450)
    assert "- Sentence number 0 " in block(made, 1500)
    assert FILLER_BUDGET - 100 < max_tokens(block(made, 100_000)) <= FILLER_BUDGET


def test_items_stand_in_the_order_of_the_recording_where_the_latest_are_taken_first() -> None:
    decisions = tuple(decision(f"decide on matter number {n}", n) for n in range(60))
    made = from_summary(
        replace(SUMMARY, key_decisions=decisions), budget=BUDGET, capacity="95", at=AT
    )
    lines = [n for n in block(made, 900).splitlines() if n.startswith("- decide on")]
    assert lines == [f"- {d.text} (#{d.message_index + 1})" for d in decisions[-len(lines) :]]
    assert 0 < len(lines) < 60


@pytest.mark.parametrize(
    ("text", "later", "holds"),
    [
        ("do not write code. just the doc", True, False),
        ("do not write code. just the doc", False, True),
        ("never write to the ledger", True, True),
        ("never mind the tests here", True, False),
        ("from now on use tabs", True, True),
    ],
)
def test_a_constraint_of_an_earlier_task_stands_only_where_it_says_so(
    text: str, later: bool, holds: bool
) -> None:
    constraint = UserRequest(text, "constraint", "open", ref(3))
    task = UserRequest("great, let's implement it", "task", "open", ref(9 if later else 2))
    assert is_in_force(constraint, [constraint, task]) is holds
