"""How a resume state grows while its workflow runs: calls, variables, conversation; and the
bounds of what is stored of it."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.codec import JsonObject
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

    Steps that were tracked as tools are not taken twice."""
    variables = plain_values(context.variables)
    available = variables.pop("available_tools", None)
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
    tools = state.completed_tools
    if steps:  # those without a time stay in front
        first = datetime.min.replace(tzinfo=UTC)
        tools = tuple(
            sorted((*tools, *steps), key=lambda t: parse_time(t.executed_at) or first)
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
        completed_tools=tools,
        available_tools=tuple(map(str, available))
        if isinstance(available, list)
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


def with_tool(state: ResumeState, tool: CompletedTool) -> ResumeState:
    """The state with one more call, as JSON can hold it, long texts shortened; beyond what is
    held the oldest goes, and is counted."""
    gate = Redactor()
    storable = replace(
        tool,
        parameters=truncate_values(codec.to_valid_json(tool.parameters), gate=gate),
        result=truncate_values(codec.to_valid_json(tool.result), gate=gate),
    )
    tools = (*state.completed_tools, storable)
    lost = len(tools) - MAX_REMEMBERED
    if lost <= 0:
        return replace(state, completed_tools=tools)
    count = state.dropped.get("completed_tools", 0) + lost
    dropped = {**state.dropped, "completed_tools": count}
    return replace(state, completed_tools=tools[lost:], dropped=dropped)


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


class Bounds(Struct, frozen=True):
    """How many of each a stored state holds at most."""

    tools: int = 50
    messages: int = 20
    variables: int = 30
    insights: int = 10
    changes: int = 100


# Variables without which a workflow is hard to take up.
CRITICAL_KEYS = frozenset(
    "project_path main_goal current_phase last_strategy key_findings target_framework "
    "critical_issue file_path current_analysis next_steps workflow_intent".split()
)


def importance(key: str, value: object) -> float:
    """How much a variable matters for resuming: 1, 2, 3 or 6."""
    words = value if isinstance(value, list) else [value]
    found = any(isinstance(w, str) and ("discovered" in w or "found" in w) for w in words)
    return (3.0 if key.casefold() in CRITICAL_KEYS else 1.0) * (2.0 if found else 1.0)


def optimize_for_storage(state: ResumeState, bounds: Bounds | None = None) -> ResumeState:
    """The state within its bounds; `dropped` counts what was left out, added to what it
    already counted.

    Tools that succeeded come before those that failed, later ones before earlier ones.
    Variables go by `importance`, earlier ones first where it is equal. Of the conversation the
    end is retained, cut so that no call is separated from its result."""
    bounds = bounds or Bounds()
    evolution = state.context_evolution
    held: dict[str, Any] = {
        "completed_tools": _tools(state.completed_tools, bounds.tools),
        "chat_history": _messages(state.chat_history, bounds.messages),
    }
    known: dict[str, Any] = {
        "current_context": _variables(evolution.current_context, bounds.variables),
        "key_insights": _last(evolution.key_insights, bounds.insights),
        "changes": _last(evolution.changes, bounds.changes),
    }
    dropped = dict(state.dropped)
    for part, values in ((state, held), (evolution, known)):
        for name, left in values.items():
            if lost := len(getattr(part, name)) - len(left):
                dropped[name] = dropped.get(name, 0) + lost
    evolution = replace(evolution, **known)
    return replace(state, **held, context_evolution=evolution, dropped=dropped)


def _last(items: tuple[object, ...], most: int) -> tuple[object, ...]:
    return items[max(0, len(items) - most) :]


def _tools(tools: tuple[CompletedTool, ...], most: int) -> tuple[CompletedTool, ...]:
    order = sorted(range(len(tools)), key=lambda i: (not tools[i].success, -i))
    return tuple(tools[i] for i in sorted(order[:most]))


def _variables(context: JsonObject, most: int) -> JsonObject:
    ranked = sorted(context, key=lambda key: -importance(key, context[key]))
    chosen = set(ranked[:most])
    return {key: value for key, value in context.items() if key in chosen}


def _messages(chat: tuple[ChatMessage, ...], most: int) -> tuple[ChatMessage, ...]:
    """The last messages from the first place on at which nothing is parted.

    If calls and results overlap so that there is no such place, the texts are retained and all
    calls are dropped together with their results."""
    if len(chat) <= most:
        return chat
    for start in range(len(chat) - most, len(chat)):
        called = {c.call_id for m in chat[:start] for c in m.function_calls or ()}
        called -= {c.call_id for m in chat[start:] for c in m.function_calls or ()}
        if not any(m.role == "tool" and m.tool_call_id in called for m in chat[start:]):
            return chat[start:]
    texts = [replace(m, function_calls=None) for m in chat if m.role != "tool" and m.content]
    return tuple(texts[max(0, len(texts) - most) :])
