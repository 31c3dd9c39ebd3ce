"""The recording of a task so far, and its window as the budget of a task."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from leftoff.budget.tasks import TaskTokenBudget, limit_of
from leftoff.incremental.messages import read_with_listener
from leftoff.model import Message
from leftoff.second_reading import AnyReader
from leftoff.settings import Settings
from leftoff.sources.session_choice import Choice
from leftoff.summary import ContextSummary


class Recorded(Struct, frozen=True):
    """A recording up to now. `messages` are those of the main thread, without rewound ones."""

    summary: ContextSummary
    messages: tuple[Message, ...] = ()


Recorder: TypeAlias = Callable[[], Recorded]


class _MessageList:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.see = self.messages.append


def recorded(
    path: str | Path,
    *,
    format: str | None = None,
    session: Choice = None,
    reader: AnyReader | None = None,
) -> Recorded:
    """Reads one session of a recording in one pass, so the path may be standard input;
    `InputError` where it cannot be read, `UsageError` where there is no such session."""
    read = read_with_listener(path, _MessageList, format=format, session=session, reader=reader)
    # A subagent's own file is treated as a session.
    messages = (
        replace(m, agent="") if m.agent else m
        for m in read.listener.messages
        if m.index not in read.without
    )
    return Recorded(read.summary, tuple(messages))


def budget_of(
    summary: ContextSummary,
    task_id: str,
    settings: Settings,
    provider: str = "",
    limit: int | None = None,
) -> TaskTokenBudget:
    """What a recording says of its window, as the budget of a task."""
    models, used = summary.session.models, summary.context.occupancy
    name = provider or (models[-1] if models else summary.session.format)
    total = (
        limit
        or limit_of(name, dict(settings.token_budget.provider_limits))
        or summary.context.usable_window
        or settings.context_management.budget_total
    )
    budget = TaskTokenBudget.start(
        task_id, name, created_at=summary.session.started, total_allocated=total
    )
    return budget.used(summary.stats.estimated_tokens if used is None else used)
