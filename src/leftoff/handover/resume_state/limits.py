"""Size limits of a stored resume state: which items are dropped, and how many."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from leftoff.codec import JsonObject
from leftoff.handover.resume_state.document import ChatMessage, CompletedTool, ResumeState


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
    end is retained, cut so that no call is separated from its result.
    """
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
    calls are dropped together with their results.
    """
    if len(chat) <= most:
        return chat
    for start in range(len(chat) - most, len(chat)):
        called = {c.call_id for m in chat[:start] for c in m.function_calls or ()}
        called -= {c.call_id for m in chat[start:] for c in m.function_calls or ()}
        if not any(m.role == "tool" and m.tool_call_id in called for m in chat[start:]):
            return chat[start:]
    texts = [replace(m, function_calls=None) for m in chat if m.role != "tool" and m.content]
    return tuple(texts[max(0, len(texts) - most) :])
