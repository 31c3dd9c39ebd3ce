"""The resume state as a document: every shape it comes in, its bounds, and what it says."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leftoff.api import summarize
from leftoff.errors import StateError
from leftoff.handover.lines import TITLES
from leftoff.handover.packing import BudgetTooSmall
from leftoff.handover.resume_state.document import (
    ChatMessage,
    CompletedTool,
    ContextEvolution,
    FunctionCall,
    ResumeState,
    decode,
    execution_context,
    schema,
)
from leftoff.handover.resume_state.from_summary import KEYS, from_summary
from leftoff.handover.resume_state.message import resume_message
from leftoff.handover.resume_state.running_workflow import optimize_for_storage
from leftoff.model import Ref
from leftoff.summary import (
    Check,
    ContextSummary,
    ProgressInfo,
    SessionInfo,
    Stats,
    TurnState,
    UserRequest,
)
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


def test_the_designs_example_round_trips(example: dict[str, Any]) -> None:
    state = ResumeState.from_dict(example)
    assert state.to_dict() == example
    assert list(state.to_dict()) == list(example)
    assert ResumeState.from_dict(state.to_dict()) == state
    assert state.workflow_id == "workflow_project-analysis_20250710_143022_1234"
    assert state.available_tools is not None
    assert len(state.available_tools) == 3
    assert "available_tools" not in state.workflow_variables


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


def test_unknown_keys_are_kept_at_every_depth(example: dict[str, Any]) -> None:
    example["novel"] = {"deep": [1, None]}
    example["workflow_metadata"]["novel"] = 1
    example["completed_tools"][0]["novel"] = "a"
    example["chat_history"][2]["function_calls"][0]["novel"] = {"b": 2}
    example["context_evolution"]["changes"][1]["novel"] = False
    assert ResumeState.from_dict(example).to_dict() == example


def test_no_key_tells_how_far_the_work_got() -> None:
    words = json.dumps(schema()["$defs"]).casefold()
    for word in ("percent", "progress_", "eta", "completion"):
        assert f'"{word}' not in words


def test_the_context_goes_on_where_it_was(example: dict[str, Any]) -> None:
    context = execution_context(ResumeState.from_dict(example))
    assert context.current_step == 2
    assert context.variables == example["workflow_variables"]
    assert [entry.step_name for entry in context.execution_history] == [
        "ProjectAnalysis.analyze_project",
        "FileSystem.read_file",
    ]
    assert context.start_time == "2025-07-10T14:30:22Z"


# -- ids -------------------------------------------------------------------------------------


def test_what_is_a_rule_or_an_insight_stands_there_alone(root: Path) -> None:
    found = summarize(root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl")
    evolution = from_summary(found).context_evolution
    context = evolution.current_context
    (rules,) = [c for c in context["constraints"] if c.startswith("Rules: ")]
    assert not any(rules.removesuffix(" #1") in line for line in context["likely_decisions"])
    assert len(evolution.key_insights) == 1
    assert not any(evolution.key_insights[0] in line for line in context["also_said"])


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


def result(identity: str) -> ChatMessage:
    return ChatMessage(role="tool", content="r", tool_call_id=identity)


def says(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def test_a_knot_that_is_too_long_keeps_its_words() -> None:
    many = ChatMessage(
        role="assistant",
        content="all at once",
        function_calls=tuple(FunctionCall(call_id=str(n)) for n in range(30)),
    )
    chat = (says("before"), many, *(result(str(n)) for n in range(30)))
    kept = optimize_for_storage(ResumeState(chat_history=chat))
    assert [m.content for m in kept.chat_history] == ["before", "all at once"]
    assert all(m.function_calls is None for m in kept.chat_history)
    assert kept.dropped == {"chat_history": 30}


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


def test_a_fresh_start_carries_nothing_over(example: dict[str, Any]) -> None:
    text = resume_message(ResumeState.from_dict(example), strategy="fresh_start")
    assert "MyApp" not in text
    assert "beginning" in text


# -- of a recording --------------------------------------------------------------------------


def at(message: int) -> Ref:
    return Ref(source=0, line=message + 1, item=None, message=message, part=None,
               start=None, end=None, hash="")  # fmt: skip


def state_of(
    requests: tuple[UserRequest, ...] = (),
    checks: tuple[Check, ...] = (),
    turn: TurnState | None = None,
) -> ResumeState:
    summary = ContextSummary(
        schema="", leftoff="", rules="", session=SessionInfo(), stats=Stats(),
        user_requests=requests, checks=checks, turn=turn or TurnState(),
        progress=ProgressInfo(current_stage="testing", progress_percentage=88),
    )  # fmt: skip
    return from_summary(summary)


def test_the_message_says_whose_turn_it_is_and_neither_stage_nor_percentage() -> None:
    task = UserRequest("Sort the list", "task", "open", at(0))
    state = state_of((task,), turn=TurnState("interrupted", "", at(1)))
    text = resume_message(state)
    assert "• Phase when interrupted: the person interrupted the agent\n" in text
    assert "testing" not in text
    assert "%" not in text
    assert "• Phase when interrupted: unknown\n" in resume_message(state_of((task,)))
    run = state_of((task,), turn=TurnState("closed", "", at(1), ended="Submitted"))
    assert "• Phase when interrupted: the run ended: Submitted\n" in resume_message(run)


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
