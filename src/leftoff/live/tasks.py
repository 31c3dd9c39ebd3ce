"""The budgets of tasks: what each has used with each provider, and what became of it."""

import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from leftoff.budget.tasks import (
    DEFAULT_MODEL,
    CheckpointMetadata,
    Crossed,
    Handoff,
    TaskDocument,
    TaskTokenBudget,
    limit_of,
)
from leftoff.budget.thresholds import Crossing, FiredThresholds, crossings
from leftoff.errors import UnknownName, UsageError
from leftoff.handover.decision_table import MAX_HANDOFFS
from leftoff.live.telemetry import (
    CHECKPOINT_CREATED,
    CONTEXT_DUMP_REQUESTED,
    HANDOFF_DECISION,
    TOKEN_BUDGET,
    Channel,
    Event,
    Subscriber,
    logged,
    logger,
)
from leftoff.model import Usage
from leftoff.settings import Settings, load_here
from leftoff.stores.locked_file import LockedFile

# Number of threshold crossings that are saved for a task.
MAX_CROSSINGS = 32
# Number of API responses whose usage is saved, to recognise repeated reports.
RECENT = 256


class SessionState(Struct):
    """The saved state of a running session."""

    session_id: str
    schema: Literal["leftoff.session/1"] = "leftoff.session/1"
    basis: str = ""  # "sum" or "occupancy", decided by the first call; "" before it
    used: int = 0  # tokens used on that basis
    spent: Usage = Usage()  # tokens over distinct API calls
    stop_reason: str = ""
    model: str = DEFAULT_MODEL
    started: str = ""
    updated: str = ""
    status: str = "active"
    # The session's thresholds that have fired since the last compaction.
    armed: FiredThresholds = FiredThresholds()
    # Usage by response id of the latest `RECENT` responses that have an id.
    calls: dict[str, Usage] = field(default_factory=dict)
    # `used` after each of the latest calls since the last compaction.
    counts: list[int] = field(default_factory=list)
    # Reasons for which a resume log was written since the last compaction.
    logged_for: tuple[str, ...] = ()
    unlogged: bool = False  # tokens were used since the last resume log
    tasks: dict[str, TaskDocument] = field(default_factory=dict)


# Logs that the file cannot be used instead of raising it: a full disk must not end the session.
_not_saved = partial(logged, "the session is not saved: %s", level=logging.ERROR)

# Returns the current time, with its zone.
Clock: TypeAlias = Callable[[], datetime]


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def unique_id(now: datetime) -> str:
    """An id for a session that begins now, such as `20251101_115000_9f3c61ab`: the time to the
    second, and eight random digits, so that no two sessions of one second share a log."""
    return f"{now:%Y%m%d_%H%M%S}_{secrets.token_hex(4)}"


class TaskBudgets:
    """The token budgets of a session's tasks, and the saved state of the session. What takes
    the id of a task raises `UnknownName` where there is no such task.

    Args:
        path: a file that stores the session across restarts; in memory if None. Processes that
            use the same file share one session, and no count of theirs is lost. A process that
            starts another session takes over the file.
        session_id: by default the saved id, else `unique_id` of the time.
        settings: budgets, thresholds and logging; those in force here (`load_here`) if None.
        clock: returns the current time, with its zone.

    Raises:
        StateError: the file at `path` is not a saved session.
        UsageError, SourceError: the settings in force here are not valid."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        session_id: str | None = None,
        settings: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        self.settings = settings or load_here().settings
        self._file: LockedFile[SessionState] | None = (
            None if path is None else LockedFile(Path(path), SessionState)
        )
        self._clock = clock
        self._handoff = self.settings.preset_of("handoff")
        self._lock = threading.RLock()
        self._channel = Channel()
        self._owns_file = True
        saved = self._found = self._file.load() if self._file else None
        if saved is None or session_id not in {None, saved.session_id}:
            saved = self._new_session(session_id)
        self._state = saved

    def _new_session(self, session_id: str | None) -> SessionState:
        now = self._clock()
        return SessionState(session_id or unique_id(now), started=now.isoformat())

    @contextmanager
    def _changing(self, *, begins: bool = False) -> Iterator[SessionState]:
        """A transaction on the state: it is saved at the end, then events are delivered. With
        `begins`, a new session replaces the one in the file."""
        with self._lock, ExitStack() as stack:
            held = None
            if self._file is not None:
                with _not_saved():
                    held = stack.enter_context(self._file.locked())
            if held is not None:
                before, self._found = self._found, held.load()
                if begins:
                    self._owns_file = True
                elif self._found is not None and self._found is not before:
                    self._replace_state(self._found)
            try:
                yield self._state
            finally:
                self._state.updated = self._clock().isoformat()
                if held is not None and self._owns_file:
                    with _not_saved():
                        held.save(self._state)
                    self._found = self._state
        self._channel.deliver()

    def _replace_state(self, found: SessionState) -> None:
        """Replaces the state by one that another process has saved. If that is another session,
        this one is no longer saved."""
        if found.session_id == self._state.session_id:
            self._state, self._owns_file = found, True
        elif self._owns_file:
            self._owns_file = False
            what = "another session was begun in it; this one is no longer saved"
            logger.error("%s: %s", self._file.path if self._file else "", what)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls `subscriber` with every later `Event`; returns a function that ends that."""
        return self._channel.subscribe(subscriber)

    def set_task_budget(
        self, task_id: str, provider: str, total_allocated: int | None = None
    ) -> TaskTokenBudget:
        """Makes `provider` the task's present provider; returns the task's budget with it.
        `UsageError` where no limit is known for this provider.

        An existing budget is changed only in `total_allocated`, if that is given."""
        total = total_allocated or self._limit(provider)
        if not total:
            raise UsageError(
                f"no limit is known for provider {provider!r}; give total_allocated "
                "or set token_budget.provider_limits"
            )
        with self._changing() as state:
            task = state.tasks.get(task_id, TaskDocument(task_id))
            budget = task.budgets.get(provider) or self._new_budget(task_id, provider, total)
            if total_allocated is not None:
                budget = replace(budget, total_allocated=total)
                budget = budget.used(budget.tokens_consumed)
            state.tasks[task_id] = with_budget(task, budget)
        return budget

    def _limit(self, provider: str) -> int | None:
        return limit_of(provider, dict(self.settings.token_budget.provider_limits))

    def _new_budget(self, task_id: str, provider: str, total: int) -> TaskTokenBudget:
        return TaskTokenBudget.start(
            task_id,
            provider,
            created_at=self._clock().isoformat(),
            total_allocated=total,
            shares=asdict(self.settings.token_budget.thresholds),
        )

    def task(self, task_id: str) -> TaskDocument:
        """The document of a task."""
        with self._lock:
            tasks = self._state.tasks
            if task_id not in tasks:
                raise UnknownName("task", task_id, tasks)
            return tasks[task_id]

    def adopt(self, task: TaskDocument) -> None:
        """Adds a task that was loaded from a store, unless the session already has it."""
        with self._changing() as state:
            state.tasks.setdefault(task.task_id, task)

    def remaining(self, task_id: str) -> dict[str, int]:
        """Tokens that a task has left with each provider that has worked on it."""
        budgets = self.task(task_id).budgets
        return {name: max(0, b.tokens_remaining) for name, b in sorted(budgets.items())}

    def _task_used(
        self, state: SessionState, task_id: str, provider: str | None, total: int, more: int
    ) -> None:
        """Counts a call for a task; creates task and budget if they are missing."""
        options = self.settings.token_budget
        if not options.enabled:
            return
        task = state.tasks.get(task_id, TaskDocument(task_id))
        present = task.token_budget
        name = provider or (present.provider if present else state.model)
        # A provider without a limit of its own has that of the session.
        limit = self._limit(name) or self.settings.context_management.budget_total
        budget = task.budgets.get(name) or self._new_budget(task_id, name, limit)
        used = budget.tokens_consumed + more if state.basis == "sum" else total
        budget = budget.used(used) if total else budget
        reached, armed = crossings(
            self._handoff.at(budget.shares),
            task.armed.get(name, FiredThresholds()),
            budget.tokens_consumed,
            budget.total_allocated,
        )
        ended = any(crossing.threshold.does == "handoff" for crossing in reached)
        if ended and options.handoff.force_at_98_percent:
            budget = budget.decided(force_handoff_at=self._clock().isoformat())
        task = with_budget(task, budget, armed)
        number = task.crossed[-1].number if task.crossed else 0
        new = tuple(
            Crossed(number + n, name, crossing.threshold.name, self._clock().isoformat())
            for n, crossing in enumerate(reached, 1)
        )
        crossed = (*task.crossed, *new)[-MAX_CROSSINGS:]
        state.tasks[task_id] = replace(task, crossed=crossed)
        logged = options.logging.log_thresholds if reached else options.logging.verbose
        for crossing in reached or (None,):
            self._channel.put(_budget_event(budget, crossing, logged=logged))

    def record_checkpoint(
        self, task_id: str, checkpoint_id: str, capacity: str, reason: str = ""
    ) -> None:
        """Records that a checkpoint of a task was made at "90", "95" or "98" percent.
        `UnknownName` where there is no such task, or no such checkpoint."""
        known = {t.capacity: t.reason for t in self._handoff.thresholds if t.capacity}
        if capacity not in known:
            raise UnknownName("checkpoint", capacity, known)
        reason = reason or known[capacity]
        with self._changing() as state:
            task = self.task(task_id)
            made = CheckpointMetadata(checkpoint_id, self._clock().isoformat(), reason)
            if task.token_budget is not None:
                task = with_budget(task, task.token_budget.with_checkpoint(capacity, made))
            state.tasks[task_id] = replace(task, checkpoints=(*task.checkpoints, checkpoint_id))
            names = {"checkpoint_id": checkpoint_id, "reason": reason}
            fields = {**names, "capacity_percent": int(capacity)}
            self._channel.put(Event(CHECKPOINT_CREATED, fields))

    def request_dump(self, task_id: str, paths: Iterable[str], status: str = "sent") -> None:
        """Reports that the agent was asked to write its context to `paths`, or has answered."""
        fields = {"task_id": task_id, "paths": list(paths), "status": status}
        self._channel.put(Event(CONTEXT_DUMP_REQUESTED, fields))
        self._channel.deliver()

    def record_handoff(
        self, task_id: str, to_provider: str, reason: str, checkpoint_id: str = ""
    ) -> int:
        """Records a handoff to another provider or a fresh session; returns the number of
        handoffs since the task last made progress."""
        with self._changing() as state:
            task = self.task(task_id)
            now = self._clock()
            budget = task.token_budget
            if budget is not None:
                budget = budget.decided(
                    fallback_provider=to_provider, fallback_triggered_at=now.timestamp()
                )
                task = with_budget(task, budget)
            handoff = Handoff(now.isoformat(), to_provider, reason)
            task = replace(task, last_handoff=handoff, handoffs=task.handoffs + 1)
            state.tasks[task_id] = task
            self._put_handoff(task, to_provider, checkpoint_id)
        return task.handoffs

    def _put_handoff(self, task: TaskDocument, to_provider: str, checkpoint_id: str) -> None:
        fields = {
            "task_id": task.task_id,
            "from_provider": task.token_budget.provider if task.token_budget else "",
            "to_provider": to_provider,
            "checkpoint_id": checkpoint_id,
        }
        logged = self.settings.token_budget.logging.log_handoffs
        self._channel.put(Event(HANDOFF_DECISION, fields, logged=logged))

    def record_stop(self, task_id: str, checkpoint_id: str = "") -> None:
        """Records that a task is stopped: a `HANDOFF_DECISION` with an empty `to_provider`."""
        with self._changing():
            self._put_handoff(self.task(task_id), "", checkpoint_id)

    def empty_task(self, task_id: str) -> None:
        """Resets the usage of a task's provider to 0: every threshold is armed again."""
        with self._changing() as state:
            task = self.task(task_id)
            if task.token_budget is not None:
                state.tasks[task_id] = with_budget(
                    task, task.token_budget.used(0), FiredThresholds()
                )

    def record_progress(self, task_id: str) -> None:
        """Records progress of a task: earlier handoffs no longer count against it."""
        with self._changing() as state:
            task = self.task(task_id)
            state.tasks[task_id] = replace(task, handoffs=0)

    def stuck(self, task_id: str) -> bool:
        """Whether a task was handed over `MAX_HANDOFFS` times without progress."""
        return self.task(task_id).handoffs >= MAX_HANDOFFS


def with_budget(
    task: TaskDocument, budget: TaskTokenBudget, armed: FiredThresholds | None = None
) -> TaskDocument:
    """The task with `budget` as that of its present provider."""
    states_of = task.armed if armed is None else {**task.armed, budget.provider: armed}
    return replace(
        task,
        token_budget=budget,
        budgets={**task.budgets, budget.provider: budget},
        armed=states_of,
    )


def _budget_event(budget: TaskTokenBudget, crossing: Crossing | None, *, logged: bool) -> Event:
    names = {"task_id": budget.task_id, "provider": budget.provider}
    fields = {
        **names,
        "consumed": budget.tokens_consumed,
        "remaining": budget.tokens_remaining,
        "percent": round(budget.percent_used, 2),
        "threshold": crossing.threshold.at if crossing else None,
    }
    line = crossing.words(crossing.threshold.logs, **names) if crossing and logged else ""
    return Event(TOKEN_BUDGET, fields, crossing, logged, line)
