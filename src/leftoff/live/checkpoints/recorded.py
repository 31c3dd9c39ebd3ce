"""The recording of a task so far, and the facts that a checkpoint takes from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from leftoff.budget.tasks import TaskTokenBudget, limit_of
from leftoff.handover.checkpoint.from_summary import collect_facts
from leftoff.handover.checkpoint.prompt_log import (
    ValidationResult,
    first_user_text,
    validations,
)
from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.decision_table import TaskProgress
from leftoff.handover.facts import Handover, with_goal
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
    """Reads one session of a recording in one pass, so the path may be standard input.

    Raises:
        InputError: it cannot be read.
        UsageError: no such session.
    """
    read = read_with_listener(path, _MessageList, format=format, session=session, reader=reader)
    # A subagent's own file is treated as a session.
    messages = (
        replace(m, agent="") if m.agent else m
        for m in read.listener.messages
        if m.index not in read.without
    )
    return Recorded(read.summary, tuple(messages))


class CheckpointSource(Struct, frozen=True):
    """The source of a checkpoint's sections; without a recording only the goal is known."""

    facts: Handover
    checks: tuple[ValidationResult, ...] = ()
    session: str = ""
    reached: TaskProgress = TaskProgress()

    @property
    def task(self) -> str:
        """The task in its owner's words, "" if it is not known."""
        return self.facts.goal.text if self.facts.goal else ""


def checkpoint_source(
    recorded: Recorded | None, goal: str, role: Role | None
) -> CheckpointSource:
    """The source of a checkpoint's sections, with the files of a role."""
    if recorded is None:
        return CheckpointSource(with_goal(Handover(), goal))
    summary, messages = recorded.summary, recorded.messages
    session = summary.session
    task = goal or ("" if summary.user_requests else first_user_text(messages))
    facts = collect_facts(summary, goal=task, role=role)
    return CheckpointSource(
        facts,
        validations(summary, messages),
        session.id or session.path,
        TaskProgress.of(summary, facts),
    )


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
