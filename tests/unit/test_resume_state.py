"""The resume state as a document: every shape it comes in, its bounds, and what it says."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leftoff.errors import StateError
from leftoff.handover.lines import TITLES
from leftoff.handover.packing import BudgetTooSmall
from leftoff.handover.resume_state.document import (
    CompletedTool,
    ContextEvolution,
    ResumeState,
    decode,
    schema,
)
from leftoff.handover.resume_state.from_summary import KEYS
from leftoff.handover.resume_state.message import resume_message
from leftoff.handover.resume_state.running_workflow import optimize_for_storage
from leftoff.tokens import max_tokens


@pytest.fixture
def example(root: Path) -> dict[str, Any]:
    """The design's own example file."""
    text = (root / "tests" / "golden" / "resume_state.json").read_text("utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


def pascal(value: Any) -> Any:
    """Keys as .NET writes them, those of open dictionaries left alone."""
    if isinstance(value, list):
        return [pascal(v) for v in value]
    if not isinstance(value, dict):
        return value
    kept = {"parameters", "current_context", "workflow_variables"}
    return {
        "".join(w.title() for w in k.split("_")): v if k in kept else pascal(v)
        for k, v in value.items()
    }


def test_keys_of_every_case_load(example: dict[str, Any]) -> None:
    assert ResumeState.from_dict(pascal(example)) == ResumeState.from_dict(example)


def test_the_run_time_type_loads_flat(example: dict[str, Any]) -> None:
    metadata = example["workflow_metadata"]
    flat = {
        "WorkflowId": metadata["id"],
        "WorkflowFilePath": metadata["file_path"],
        "OriginalWorkflowHash": metadata["workflow_hash"],
        "OriginalWorkflowContent": metadata["original_content"],
        "StartTime": metadata["started_at"],
        "LastActivity": metadata["last_activity"],
        "CurrentPhase": metadata["current_phase"],
        "CurrentStrategy": metadata["current_strategy"],
        "CompletedTools": pascal(example["completed_tools"]),
        "ChatHistory": pascal(example["chat_history"]),
        "ContextEvolution": pascal(example["context_evolution"]),
        "AvailableTools": example["workflow_variables"]["available_tools"],
    }
    wanted = replace(ResumeState.from_dict(example), workflow_variables={})
    assert ResumeState.from_dict(flat) == wanted


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, lambda b: base64.b64encode(gzip.compress(b))]
)
def test_a_compressed_file_loads(example: dict[str, Any], pack: Any) -> None:
    assert decode(pack(json.dumps(example).encode())) == ResumeState.from_dict(example)


def test_a_small_file_cannot_unpack_to_a_huge_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leftoff.codec.MAX_DOCUMENT", 1000)
    with pytest.raises(StateError, match="unpacks to more"):
        decode(gzip.compress(b" " * 5000 + b'{"workflow_id": "x"}'))


def test_no_key_tells_how_far_the_work_got() -> None:
    words = json.dumps(schema()["$defs"]).casefold()
    for word in ("percent", "progress_", "eta", "completion"):
        assert f'"{word}' not in words


# -- bounds ----------------------------------------------------------------------------------


def tool(number: int, *, success: bool = True) -> CompletedTool:
    return CompletedTool(function_name=f"t{number}", success=success)


def test_successful_tools_come_first_and_later_ones_before_earlier() -> None:
    tools = tuple(tool(n, success=n % 10 != 0) for n in range(60))
    kept = optimize_for_storage(ResumeState(completed_tools=tools)).completed_tools
    assert [t.function_name for t in kept] == [f"t{n}" for n in range(60) if n % 10][4:]
    few = tuple(tool(n, success=n < 5) for n in range(60))
    kept = optimize_for_storage(ResumeState(completed_tools=few)).completed_tools
    assert [t.function_name for t in kept] == [f"t{n}" for n in [*range(5), *range(15, 60)]]


def test_within_the_bounds_nothing_is_dropped(example: dict[str, Any]) -> None:
    state = ResumeState.from_dict(example)
    assert optimize_for_storage(state) == state


# -- the message -----------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["continue", "partial_resume", "context_migration"])
def test_the_message_keeps_its_budget_and_counts_what_is_left_out(strategy: Any) -> None:
    context = {f"key{n}": f"value {n} " * 20 for n in range(30)}
    context["main_goal"] = "the goal"
    state = ResumeState(
        workflow_id="w",
        context_evolution=ContextEvolution(
            current_context={"main_goal": "the goal", **context}
        ),
    )
    for budget in (500, 700, 1500):
        text = resume_message(state, budget=budget, strategy=strategy)
        assert max_tokens(text) <= budget
        assert "Left out for room" in text
        assert "main_goal: the goal" in text
    assert "Left out" not in resume_message(state, budget=20_000, strategy=strategy)
    with pytest.raises(BudgetTooSmall, match="a resume message needs at least"):
        resume_message(state, budget=50, strategy=strategy)


# -- of a recording --------------------------------------------------------------------------


def test_every_part_of_a_handover_has_a_variable() -> None:
    assert {*TITLES} - {"Found out"} == {*KEYS}


def test_a_state_of_an_earlier_version_is_still_given(root: Path) -> None:
    """Its variables had other names and no places; they are packed and marked all the same."""
    earlier = (root / "tests/golden/versions/1/resume_state.json").read_text("utf-8")
    state = decode(earlier.encode())
    known = state.context_evolution.current_context
    assert "open_work" in known or "latest_request" in known
    for budget in (800, 4000):
        text = resume_message(state, budget=budget)
        assert max_tokens(text) <= budget
        assert str(known["latest_request"])[:100] in text
