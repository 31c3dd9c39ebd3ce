"""How a resume state grows while its workflow runs: calls, variables, conversation; and the
bounds of what is stored of it."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime

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
    score = 1.0
    if key.casefold() in CRITICAL_KEYS:
        score *= 3.0
    words = value if isinstance(value, list) else [value]
    if any(isinstance(w, str) and ("discovered" in w or "found" in w) for w in words):
        score *= 2.0
    return score


def optimize_for_storage(state: ResumeState, bounds: Bounds | None = None) -> ResumeState:
    """The state within its bounds; `dropped` counts what was left out, added to what it
    already counted.

    Tools that succeeded come before those that failed, later ones before earlier ones.
    Variables go by `importance`, earlier ones first where it is equal. Of the conversation the
    end is retained, cut so that no call is separated from its result."""
    bounds = bounds or Bounds()
    evolution = state.context_evolution
    tools = _tools(state.completed_tools, bounds.tools)
    chat = _messages(state.chat_history, bounds.messages)
    trimmed = replace(
        evolution,
        current_context=_variables(evolution.current_context, bounds.variables),
        key_insights=_last(evolution.key_insights, bounds.insights),
        changes=_last(evolution.changes, bounds.changes),
    )
    dropped = dict(state.dropped)
    for what, before, after in (
        ("completed_tools", state.completed_tools, tools),
        ("chat_history", state.chat_history, chat),
        *(
            (name, getattr(evolution, name), getattr(trimmed, name))
            for name in ("current_context", "key_insights", "changes")
        ),
    ):
        if len(before) > len(after):
            dropped[what] = dropped.get(what, 0) + len(before) - len(after)
    return replace(
        state,
        completed_tools=tools,
        chat_history=chat,
        context_evolution=trimmed,
        dropped=dropped,
    )


def _last(items: tuple[object, ...], most: int) -> tuple[object, ...]:
    return items[len(items) - most :] if len(items) > most else items


def _tools(tools: tuple[CompletedTool, ...], most: int) -> tuple[CompletedTool, ...]:
    if len(tools) <= most:
        return tools
    order = sorted(range(len(tools)), key=lambda i: (not tools[i].success, -i))
    return tuple(tools[i] for i in sorted(order[:most]))


def _variables(context: JsonObject, most: int) -> JsonObject:
    if len(context) <= most:
        return context
    ranked = sorted(context, key=lambda key: -importance(key, context[key]))[:most]
    return {key: value for key, value in context.items() if key in set(ranked)}


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
