"""Dumps: the words of the design, sections that are replaced, files that others write into."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.budget.tasks import TaskTokenBudget
from leftoff.handover.checkpoint import dumps
from leftoff.handover.checkpoint.document import Capacity, checkpoint_of
from leftoff.handover.checkpoint.from_summary import checkpoint_source
from leftoff.handover.checkpoint.templates import TEMPLATES, fill_placeholders
from leftoff.model import Ref
from leftoff.summary import (
    ContextSummary,
    FileModification,
    SessionInfo,
    Stats,
    TurnState,
    UserRequest,
)
from leftoff.tokens import max_tokens

AT = datetime(2026, 1, 2, tzinfo=UTC)


def _golden(root: Path) -> dict[str, str]:
    text = (root / "tests" / "golden" / "checkpoint_blocks.txt").read_text("utf-8")
    parts = [part.partition("\n") for part in text.split("=== ")[1:]]
    # A file that the design appends to at several capacities is listed once for each.
    found: dict[str, str] = {}
    for name, _, body in parts:
        capacity = "".join(c for c in body.partition("Capacity")[0] if c.isdigit())[:2]
        key = name if name in {"block", "handoff"} or "dump" in name else f"{name} {capacity}"
        found[key] = body.strip("\n")
    return found


@pytest.mark.parametrize("capacity", ["90", "95", "98"])
def test_the_words_are_those_of_the_design(root: Path, capacity: str) -> None:
    golden, level = _golden(root), TEMPLATES.for_capacity(capacity)
    asked = golden[f"/tmp/context-dump-{capacity}.md"]
    asked = asked.replace('$(date -u +"%Y-%m-%dT%H:%M:%SZ")', "{timestamp}")
    example = {"remaining": "40"} if capacity == "98" else {}
    assert fill_placeholders(level.dump, example) == asked
    assert level.project == golden[f"contexts/sandbox/{{project}}/project.md {capacity}"]
    own = golden.get(f"contexts/sandbox/{{project}}/{{specific_project}}.md {capacity}")
    assert own is None or level.specific == own


def test_the_block_and_the_line_are_those_of_the_design(root: Path) -> None:
    golden = _golden(root)
    assert (TEMPLATES.block, TEMPLATES.handoff) == (golden["block"], golden["handoff"])


@pytest.mark.parametrize("capacity", ["90", "95", "98"])
@pytest.mark.parametrize("count", [0, 3, 400])
def test_a_dump_of_ours_keeps_its_budget_and_says_what_is_left_out(
    capacity: Capacity, count: int
) -> None:
    ref = Ref(0, 1, None, 0, 0, 0, 1)
    summary = ContextSummary(
        "s", "0", "0", SessionInfo(), Stats(),
        user_requests=tuple(
            UserRequest(f"Write report number {n} " * 9, "task", "open", ref) for n in range(count)
        ),
        file_modifications=tuple(
            FileModification(f"src/report_{n}.py", "modified", 1, ()) for n in range(count)
        ),
        turn=TurnState("open", "2026-01-02T10:00:00", ref),
    )  # fmt: skip
    budget = TaskTokenBudget.start("t", "g", created_at="", total_allocated=1_000).used(950)
    made = checkpoint_of(checkpoint_source(summary), budget=budget, capacity=capacity, at=AT)
    page = dumps.build_payload(made, checkpoint_source(summary), ("p.md", "s.md"))
    most = dumps.BUDGETS[capacity]
    assert max_tokens(page.project_md.content) <= most + 100  # with the design's own lines
    assert max_tokens(page.specific_project_md.content) <= dumps.BUDGETS["95"]
    assert ("left out)" in page.project_md.content) == (count == 400 and capacity != "98")
    state = ("the agent was still at work", "no answer to the person's last message")
    assert any(x in page.project_md.content for x in state) or capacity == "95"
    if capacity != "90":
        assert "%" not in page.project_md.content.replace(f"{capacity}%", "")
