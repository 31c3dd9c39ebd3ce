"""A checkpoint: made of a recording, written, read, refused; its history and its roles."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leftoff import api
from leftoff.budget.tasks import TaskTokenBudget
from leftoff.errors import StateError
from leftoff.handover.checkpoint.document import (
    ContextCheckpoint,
    checkpoint_of,
    problems,
    validated,
)
from leftoff.handover.checkpoint.from_summary import checkpoint_source
from leftoff.handover.checkpoint.prompt_log import history
from leftoff.model import Message, Text, Typed

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


def test_it_has_the_keys_of_the_design(made: ContextCheckpoint) -> None:
    value = made.to_dict()
    assert set(value) == {
        "checkpoint_id", "created_at", "capacity_threshold", "reason", "task_id",
        "provider_name", "tokens", "conversation", "execution_state", "context_dump_outputs",
        "next_action",
    }  # fmt: skip
    assert set(value["tokens"]) == {"consumed", "remaining", "total_allocated", "percent_used"}
    assert set(value["conversation"]) == {"full_history", "summary", "iteration_count"}
    assert set(value["execution_state"]) >= {
        "iteration", "files_created", "files_modified", "git_diff", "last_validation_result",
        "status",
    }  # fmt: skip
    assert set(value["context_dump_outputs"]) == {
        "project_md_updated", "specific_md_updated", "dump_timestamp", "dump_size_bytes",
    }  # fmt: skip


def test_it_says_what_the_recording_says(made: ContextCheckpoint) -> None:
    state = made.execution_state
    assert "src/outbox.js" in state.files_created
    assert (state.iteration, made.conversation.iteration_count) == (5, 5)
    assert state.last_validation_result is not None
    assert state.last_validation_result.command.startswith("npm test")
    assert state.last_validation_result.failed == 0
    assert {e.iteration for e in made.conversation.full_history} == {1, 2, 3, 4, 5}
    assert (made.reason, made.tokens.remaining) == ("window_critical", 50)
    assert problems(made) == []


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


# -- history ---------------------------------------------------------------------------------


def _message(index: int, text: str, *, typed: bool = False) -> Message:
    spans = (Typed(0, 0, len(text)),) if typed else ()
    return Message(index, "user" if typed else "assistant", (Text(text),), typed=spans)


def test_the_history_keeps_five_iterations_or_500_lines_whichever_is_less() -> None:
    short = [_message(n, f"prompt {n}", typed=True) for n in range(9)]
    entries, count = history(short)
    assert ([e.iteration for e in entries], count) == ([5, 6, 7, 8, 9], 9)
    long = [_message(0, "go", typed=True)]
    long += [_message(n, "line\n" * 40) for n in range(1, 30)]
    entries, _ = history(long)
    assert sum(len(e.content.splitlines()) for e in entries) == 480
    (only,), _ = history([_message(0, "\n".join(map(str, range(600))), typed=True)])
    assert only.content.splitlines()[-1] == "599"
    assert len(only.content.splitlines()) == 500
