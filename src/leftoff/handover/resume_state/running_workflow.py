"""How a resume state grows while its workflow runs: calls, variables, conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec.structs import replace

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.errors import FormatError
from leftoff.handover.facts import Handover, handover_of
from leftoff.handover.lines import RUN_ENDED, TURNS
from leftoff.handover.resume_state.conversation import MAX_REMEMBERED, truncate_values
from leftoff.handover.resume_state.document import (
    UNDERSTANDING,
    ChatMessage,
    CompletedTool,
    ContextChange,
    ResumeState,
    WorkflowExecutionContext,
)
from leftoff.handover.resume_state.from_summary import phase, strategy
from leftoff.handover.resume_state.templates import ADDED_TEXTS
from leftoff.model import parse_time
from leftoff.redaction.redactor import Redactor

# Variables that stand elsewhere in the state.
_BOOKKEEPING = frozenset({"workflow_file", "workflow_hash", "original_content"})


def content_hash(content: str) -> str:
    """SHA-256 of a workflow's raw content, in hex."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def with_context(
    state: ResumeState, context: WorkflowExecutionContext, now: str
) -> ResumeState:
    """The state with the variables and steps of its run; changes are recorded.

    Steps that were tracked as tools are not taken twice.
    """
    variables = plain_values(context.variables)
    tools = variables.pop("available_tools", None)
    evolution = state.context_evolution
    known = {
        k: v
        for k, v in variables.items()
        if k not in _BOOKKEEPING and not k.startswith("current_")
    }
    source = state.completed_tools[-1].function_name if state.completed_tools else ""
    changes = [
        ContextChange(
            timestamp=now,
            key=key,
            old_value=evolution.current_context.get(key),
            new_value=value,
            source=source,
        )
        for key, value in known.items()
        if evolution.current_context.get(key) != value
    ]
    content = variables.get("original_content") or state.original_workflow_content
    tracked = {(t.function_name, t.executed_at) for t in state.completed_tools}
    steps = tuple(
        CompletedTool(
            function_name=step.step_name,
            result=None if step.success else f"ERROR: {step.error_message}",
            executed_at=step.start_time,
            success=step.success,
        )
        for step in context.execution_history
        if step.step_type == "function" and (step.step_name, step.start_time) not in tracked
    )
    return replace(
        state,
        workflow_file_path=variables.get("workflow_file") or state.workflow_file_path,
        original_workflow_content=content,
        original_workflow_hash=variables.get("workflow_hash")
        or state.original_workflow_hash
        or (content_hash(content) if content else ""),
        start_time=context.start_time or state.start_time,
        current_phase=variables.get("current_phase") or state.current_phase,
        current_strategy=variables.get("current_strategy") or state.current_strategy,
        completed_tools=_by_time(state.completed_tools, steps),
        available_tools=tuple(map(str, tools))
        if isinstance(tools, list)
        else state.available_tools,
        workflow_variables=variables,
        context_evolution=replace(
            evolution,
            current_context={**evolution.current_context, **known},
            changes=(*evolution.changes, *changes),
        ),
    )


def plain_values(values: Mapping[str, object]) -> codec.JsonObject:
    """Variables as JSON can hold them."""
    found: codec.JsonObject = codec.to_valid_json(dict(values))
    return found


def _storable(tool: CompletedTool) -> CompletedTool:
    """A call as JSON can hold it, long texts shortened."""
    gate = Redactor()
    return replace(
        tool,
        parameters=truncate_values(codec.to_valid_json(tool.parameters), gate=gate),
        result=None
        if tool.result is None
        else truncate_values(codec.to_valid_json(tool.result), gate=gate),
    )


def with_tool(state: ResumeState, tool: CompletedTool) -> ResumeState:
    """The state with one more call; beyond what is held the oldest goes, and is counted."""
    tools = (*state.completed_tools, _storable(tool))
    if len(tools) <= MAX_REMEMBERED:
        return replace(state, completed_tools=tools)
    count = state.dropped.get("completed_tools", 0) + len(tools) - MAX_REMEMBERED
    return replace(
        state,
        completed_tools=tools[-MAX_REMEMBERED:],
        dropped={**state.dropped, "completed_tools": count},
    )


def _by_time(
    tools: tuple[CompletedTool, ...], more: tuple[CompletedTool, ...]
) -> tuple[CompletedTool, ...]:
    """Tools and steps by the time at which they began; those without a time stay in front."""
    if not more:
        return tools
    first = datetime.min.replace(tzinfo=UTC)
    return tuple(sorted((*tools, *more), key=lambda t: parse_time(t.executed_at) or first))


def _phase(state: ResumeState, handover: Handover) -> str:
    """The phase that a run named; else whose turn it is."""
    unnamed = {UNDERSTANDING, ADDED_TEXTS["unknown"], *TURNS.values()}
    named = state.current_phase not in unnamed and not state.current_phase.startswith(RUN_ENDED)
    return state.current_phase if named else phase(handover)


def with_conversation(state: ResumeState, chat: tuple[ChatMessage, ...]) -> ResumeState:
    """The state with a conversation, and what it tells of phase, strategy and insights."""
    if not chat:
        return state
    evolution = state.context_evolution
    document = {
        "workflow_metadata": {"id": state.workflow_id, "started_at": state.start_time},
        "chat_history": [message.to_dict() for message in chat],
    }
    session_pass = Pass("<chat history>", "semantic_kernel")
    try:
        session_pass.feed(codec.dumps(codec.to_valid_json(document)))
        session_pass.close()
    except FormatError:
        return replace(state, chat_history=chat)
    summary = session_pass.conclude()
    variables = state.workflow_variables
    handover = handover_of(summary)
    plan = variables.get("current_strategy") or strategy(handover)
    insights = dict.fromkeys(
        [*evolution.key_insights, *(finding.text for finding in reversed(handover.findings))]
    )
    return replace(
        state,
        chat_history=chat,
        current_phase=variables.get("current_phase") or _phase(state, handover),
        current_strategy=plan or state.current_strategy,
        context_evolution=replace(evolution, key_insights=tuple(insights)),
    )
