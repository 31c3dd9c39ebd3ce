"""What is recorded of a task so far, its window as a budget, and the diff of its directory."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from leftoff import workspace
from leftoff.budget.tasks import TaskTokenBudget, limit_of
from leftoff.handover.checkpoint import roles
from leftoff.incremental.messages import read_with_listener
from leftoff.model import Message
from leftoff.redaction.rules import is_secret_path
from leftoff.second_reading import AnyReader
from leftoff.settings import Settings
from leftoff.summary import ContextSummary


class Recorded(Struct, frozen=True):
    """A recording up to now. `messages` are those of the main thread, without rewound ones."""

    summary: ContextSummary
    messages: tuple[Message, ...] = ()


Recorder: TypeAlias = Callable[[], Recorded]


class _MessageList(list[Message]):
    see = list[Message].append


def recorded(
    path: str | Path, *, format: str | None = None, reader: AnyReader | None = None
) -> Recorded:
    """Reads one session of a recording in one pass, so the path may be standard input;
    `InputError` where it cannot be read, `UsageError` where there is no such session."""
    summary, heard, without = read_with_listener(
        path, _MessageList, format=format, reader=reader
    )
    # A subagent's own file is treated as a session.
    messages = (replace(m, agent="") if m.agent else m for m in heard if m.index not in without)
    return Recorded(summary, tuple(messages))


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


def git_diff(directory: str | os.PathLike[str], globs: Sequence[str] = ()) -> str | None:
    """The diff of a directory against the last commit, of the files that match `globs`, without
    the content of secret files; None if git fails or times out."""
    diff = workspace.git_diff(directory)
    return None if diff is None else filter_diff(diff, globs)


def filter_diff(diff: str, globs: Sequence[str] = ()) -> str:
    """The files of a diff that match the globs, without the content of secret files."""
    patterns = [roles.glob_matcher(g) for g in globs]
    out: list[str] = []
    included = True
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            names = [n.removeprefix("a/") for n in line[len("diff --git ") :].split(" b/")]
            included = not patterns or any(fits(names[-1]) for fits in patterns)
            if included:
                out.append(line)
            if included and any(is_secret_path(name) for name in names):
                out.append("(a file of secrets: its content is left out)")
                included = False
        elif included:
            out.append(line)
    return "\n".join(out) + ("\n" if out else "")
