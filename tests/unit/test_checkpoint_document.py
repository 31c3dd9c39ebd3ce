"""A checkpoint: made of a recording, written, read, refused; its history and its roles."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leftoff import api
from leftoff.budget.tasks import TaskTokenBudget
from leftoff.errors import StateError
from leftoff.handover.checkpoint.document import ContextCheckpoint, checkpoint_of, validated
from leftoff.handover.checkpoint.from_summary import checkpoint_source

AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
BUDGET = TaskTokenBudget.start(
    "t1", "a", created_at="2026-01-01T00:00:00Z", total_allocated=1000
)


@pytest.fixture
def made(root: Path) -> ContextCheckpoint:
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    source = checkpoint_source(api.summarize(path), list(api.read(str(path))))
    return checkpoint_of(
        source, budget=BUDGET.used(950), capacity="95", at=AT,
        git_diff="diff --git a/x b/x\n+y\n",
    )  # fmt: skip


def test_unknown_keys_are_kept_at_every_depth(made: ContextCheckpoint) -> None:
    value = made.to_dict()
    value["operator"] = {"note": 1}
    value["tokens"]["cached"] = 5
    value["conversation"]["full_history"][0]["model"] = "m"
    assert validated(value).to_dict() == value


@pytest.mark.parametrize(
    ("path", "new", "why"),
    [
        (("tokens", "consumed"), "many", "tokens.consumed"),
        (("tokens", "consumed"), 10, "remaining is not"),
        (("capacity_threshold",), "97", "capacity_threshold"),
        (("reason",), "window_warning", "does not go with"),
        (("created_at",), "yesterday", "no ISO 8601"),
        (("checkpoint_id",), "../x", "plain path"),
        (("execution_state", "status"), "odd", "execution_state.status"),
        (("next_action", "type"), "helper_agent", "names no role"),
        (("conversation", "iteration_count"), 1, "more iterations"),
        (("conversation", "full_history"), "all", "full_history"),
        (("tokens",), None, "tokens"),
    ],
)
def test_an_edited_one_is_refused_with_the_reason(
    made: ContextCheckpoint, path: tuple[str, ...], new: Any, why: str
) -> None:
    value: Any = made.to_dict()
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    with pytest.raises(StateError, match=why):
        validated(value)


def test_a_missing_part_is_named(made: ContextCheckpoint) -> None:
    value = made.to_dict()
    del value["execution_state"]
    with pytest.raises(StateError, match="execution_state"):
        validated(value)
