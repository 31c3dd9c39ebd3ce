"""What a checkpoint tells: every part of a summary that the next agent needs, and no other."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from leftoff.budget.tasks import TaskTokenBudget
from leftoff.handover.checkpoint.document import checkpoint_of
from leftoff.handover.checkpoint.from_summary import blockers, checkpoint_source, collect_facts
from leftoff.handover.checkpoint.injection import block
from leftoff.handover.checkpoint.roles import Role
from leftoff.model import Ref
from leftoff.summary import (
    Check,
    ContextSummary,
    ErrorSeen,
    FileModification,
    Finding,
    KeyDecision,
    NextStep,
    ProgressInfo,
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


def ref(message: int, part: int | None = None) -> Ref:
    return Ref(source=0, line=message + 1, item=None, message=message, part=part,
               start=None, end=None, hash="00000000")  # fmt: skip


def decision(text: str, at: int, **more: Any) -> KeyDecision:
    return KeyDecision(text, "approach", more.pop("confidence", 0.8), at, ref(at), **more)


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
        UserRequest("touch nothing in legacy", "constraint", "open", ref(19)),
    ),
    key_decisions=(
        decision("keep cents as integers", 15, confidence=0.6),
        decision("sort in the database", 5, confidence=0.9),
        decision("perhaps a cache", 6, confidence=0.3),
        decision("sort in memory", 4, status="reversed"),
    ),
    progress=ProgressInfo(current_stage="implementation", progress_percentage=88),
    turn=TurnState("open", "2026-01-02T10:00:00", ref(26)),
    checks=(
        Check("lint", "ruff", "ruff check .", "unknown", ref(9)),
        Check("test", "pytest", "pytest -q", "failed", ref(23), failed=2, line="no header"),
    ),
    file_modifications=(
        FileModification("src/export.py", "created", 1, ("Write",), last_message=22),
        FileModification("src/sort.py", "modified", 2, ("Edit",), last_message=12, added=3, removed=1),
        FileModification("old.py", "deleted", 1, ("Bash",), last_message=6),
        FileModification("README.md", "read", 1, ("Read",)),
    ),
    errors=(
        ErrorSeen("early failure of the linter", "Bash", ref(9)),
        ErrorSeen("a mended failure", "Bash", ref(22), fixed=True),
        ErrorSeen("cannot find column total", "Bash", ref(23)),
        ErrorSeen("the export has no header", "Bash", ref(24)),
        ErrorSeen("no such file to look at", "Read", ref(25)),
        ErrorSeen("Output:", "Bash", ref(26)),
    ),
    next_steps=(NextStep("write the header line", "said", ref(24)),),
    key_findings=(Finding("dates are strings in the old table", ref(7)),),
    working_set=WorkingSet(
        last_words=Words("The header is missing still.", 25),
        recent=(Words("The header comes from the schema.", 24), Words("dates are strings in the old table", 7)),
    ),
)  # fmt: skip


def test_the_current_error_is_the_latest_failure_that_nothing_mended() -> None:
    made = checkpoint_of(checkpoint_source(SUMMARY), budget=BUDGET, capacity="95", at=AT)
    assert made.execution_state.current_error == "`the export has no header` (Bash, #25)"
    assert blockers(collect_facts(SUMMARY))[2].startswith("`pytest -q` (failed")


def test_the_owners_words_are_the_task_and_the_first_request_is_still_there() -> None:
    facts = collect_facts(SUMMARY, goal="Ship the export")
    assert facts.goal is not None
    assert facts.goal.text == "Ship the export"
    assert facts.said[-1].text == "Sort the invoices by date"
    long = "\n\n".join(f"Paragraph {n} of the order. " + "It is long. " * 20 for n in range(9))
    assert len(collect_facts(SUMMARY, goal=long).task) == 9
    assert collect_facts(SUMMARY, goal="Now write the export") == collect_facts(SUMMARY)


def test_a_role_lists_its_files_only() -> None:
    role = Role(files_to_track=("**/*.md",))
    assert collect_facts(SUMMARY, role=role).files == ()
    assert len(collect_facts(SUMMARY).files) == 3


def test_a_small_block_keeps_what_comes_first_and_uses_its_room() -> None:
    many = tuple(Words(f"Sentence number {n} about the export.", n) for n in range(200))
    summary = replace(SUMMARY, working_set=replace(SUMMARY.working_set, recent=many))
    made = checkpoint_of(checkpoint_source(summary), budget=BUDGET, capacity="95", at=AT)
    for budget in (500, 700, 1000, 1500):
        text = block(made, budget)
        assert 0.8 * budget < max_tokens(text) <= budget
        for wanted in ("still at work", "Now write the export", "The header is missing",
                       "src/sort.py", "src/export.py"):  # fmt: skip
            assert wanted in text
        assert "left out: " in text
    assert "- Sentence number 0 " in block(made, 1500)


def test_a_checkpoint_of_an_earlier_version_is_given_in_the_order_of_today() -> None:
    """Version 0.1 began with the task and had titles of its own; the stage is left out."""
    made = checkpoint_of(checkpoint_source(SUMMARY), budget=BUDGET, capacity="95", at=AT)
    earlier = (
        "Task:\n- sort the invoices (done, as far as the recording shows, #1)\n"
        "Asked last:\n- write the export (not seen done, #21)\n"
        "Last words:\n- The header is missing still. #26\n"
        "Errors:\n- `no header` (Bash, #25)\n"
        "Progress:\n- stage implementation; files were edited after the last test run\n"
        "Reached:\n- the sorting tests pass (tests_pass, #9)\n"
    )
    conversation = replace(made.conversation, summary=earlier)
    text = block(replace(made, conversation=conversation))
    assert "stage implementation" not in text
    titles = [line for line in text.splitlines() if line.endswith(":")]
    assert titles == [
        "Progress Summary:",
        "The person's last message:",
        "The agent's last words:",
        "Files changed, latest first:",
        "The task:",
        "Failed, no later clean run seen:",
        "Noted:",
    ]
