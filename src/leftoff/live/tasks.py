"""The budgets of tasks: what each has used with each provider, and what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from leftoff.budget.tasks import (
    CheckpointMetadata,
    Crossed,
    Handoff,
    TaskDocument,
    TaskTokenBudget,
    limit_of,
)
from leftoff.budget.thresholds import Armed, Crossing, crossings
from leftoff.errors import UnknownName, UsageError
from leftoff.live import session_file as states
from leftoff.live.session_file import SessionState
from leftoff.live.telemetry import (
    CHECKPOINT_CREATED,
    CONTEXT_DUMP_REQUESTED,
    HANDOFF_DECISION,
    TOKEN_BUDGET,
    Channel,
    Event,
    Subscriber,
    logger,
)
from leftoff.settings import Settings

HANDOFFS = 3
"""Handoffs without progress after which a task is stuck."""

CROSSINGS = 32
"""Crossings of a task that are remembered."""


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class TaskBudgets:
    """The tasks of a session and the state that they are kept in.

    Args:
        path: a file that keeps the session over a restart; in memory if None. Processes that
            name the same file share one session: nothing that one of them counts is lost. The
            one that begins another session has the file from then on.
        session_id: an id of one's own; by default the saved one, or the time.
        settings: budgets, thresholds and what is logged; the defaults if None.
        clock: gives the time now, with its zone.

    Raises:
        StateError: there is something at `path` that is no saved session.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        session_id: str | None = None,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self.settings = settings or Settings()
        self._file = None if path is None else states.StateFile(Path(path))
        self._clock = clock
        self._handoff = self.settings.preset_of("handoff")
        self._lock = threading.RLock()
        self._channel = Channel()
        self._ours = True
        saved = self._file.found if self._file else None
        if saved is None or session_id not in {None, saved.session_id}:
            saved = self._begun(session_id)
        self._state = saved

    def _begun(self, session_id: str | None) -> SessionState:
        now = self._clock()
        return SessionState(session_id or f"{now:%Y%m%d_%H%M%S}", started=now.isoformat())

    @contextmanager
    def _changing(self, *, begins: bool = False) -> Iterator[SessionState]:
        """Changes of the state: saved when they are done; events go out after that.

        Args:
            begins: another session takes the place of whatever is in the file.
        """
        with self._lock, self._held(begins=begins) as keeps:
            try:
                yield self._state
            finally:
                self._state.updated = self._clock().isoformat()
                if keeps and self._file:
                    with self._told():
                        self._file.save(self._state)
        self._channel.deliver()

    @contextmanager
    def _held(self, *, begins: bool) -> Iterator[bool]:
        """Takes in what another process has changed; whether the session may be saved."""
        with ExitStack() as stack:
            keeps = False
            if self._file is not None:
                with self._told():
                    changed = stack.enter_context(self._file.held())
                    self._take_in(self._file.found if changed and not begins else None)
                    self._ours = keeps = self._ours or begins
            yield keeps

    def _take_in(self, found: SessionState | None) -> None:
        """Goes on from what another process has saved."""
        if found is None:
            return
        if found.session_id == self._state.session_id:
            self._state, self._ours = found, True
        elif self._ours and self._file is not None:
            self._ours = False
            what = "another session was begun in it; this one is no longer saved"
            logger.error("%s: %s", self._file.path, what)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """A session that cannot be saved, as on a full disk, must not end: that is said."""
        try:
            yield
        except OSError as error:
            where = self._file.path if self._file else ""
            logger.error("%s: the session is not saved (%s)", where, error.strerror)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Tells `subscriber` every `Event` from now on; calling the result ends that."""
        return self._channel.subscribe(subscriber)

    def set_task_budget(
        self, task_id: str, provider: str, total_allocated: int | None = None
    ) -> TaskTokenBudget:
        """The budget of a task with a provider, which works on it from now on.

        A budget that exists stays as it is, but for another `total_allocated`.

        Raises:
            UsageError: nobody said how much this provider may use.
        """
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
                budget = msgspec.structs.replace(budget, total_allocated=total)
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
            shares=msgspec.structs.asdict(self.settings.token_budget.thresholds),
        )

    def task(self, task_id: str) -> TaskDocument:
        """All that is kept of a task.

        Raises:
            UnknownName: there is no such task.
        """
        with self._lock:
            return self._task(self._state, task_id)

    @staticmethod
    def _task(state: SessionState, task_id: str) -> TaskDocument:
        if task_id not in state.tasks:
            raise UnknownName("task", task_id, state.tasks)
        return state.tasks[task_id]

    def adopt(self, task: TaskDocument) -> None:
        """Goes on with a task that was kept elsewhere; one that is known stays as it is."""
        with self._changing() as state:
            state.tasks.setdefault(task.task_id, task)

    def remaining(self, task_id: str) -> dict[str, int]:
        """Tokens that a task has left with each provider that has worked on it."""
        budgets = self.task(task_id).budgets
        return {name: max(0, b.tokens_remaining) for name, b in sorted(budgets.items())}

    def _task_used(
        self, state: SessionState, task_id: str, provider: str | None, total: int, more: int
    ) -> None:
        """Counts a call for a task; a task or provider without a budget gets one."""
        options = self.settings.token_budget
        if not options.enabled:
            return
        task = state.tasks.get(task_id, TaskDocument(task_id))
        present = task.token_budget
        name = provider or (present.provider if present else state.model)
        # A provider that nobody set a limit for may use what the session may.
        limit = self._limit(name) or self.settings.context_management.budget_total
        budget = task.budgets.get(name) or self._new_budget(task_id, name, limit)
        used = budget.tokens_consumed + more if state.basis == "sum" else total
        budget = budget.used(used) if total else budget
        reached, armed = crossings(
            self._handoff.at(budget.shares),
            task.armed.get(name, Armed()),
            budget.tokens_consumed,
            budget.total_allocated,
        )
        for crossing in reached:
            if crossing.threshold.does == "handoff" and options.handoff.force_at_98_percent:
                budget = budget.decided(force_handoff_at=self._clock().isoformat())
        task = with_budget(task, budget, armed)
        number = task.crossed[-1].number if task.crossed else 0
        new = tuple(
            Crossed(number + n, name, crossing.threshold.name, self._clock().isoformat())
            for n, crossing in enumerate(reached, 1)
        )
        crossed = (*task.crossed, *new)[-CROSSINGS:]
        state.tasks[task_id] = msgspec.structs.replace(task, crossed=crossed)
        logging = options.logging
        if not reached:
            self._channel.put(_budget_event(budget, None, logged=logging.verbose))
        for crossing in reached:
            self._channel.put(_budget_event(budget, crossing, logged=logging.log_thresholds))

    def record_checkpoint(
        self, task_id: str, checkpoint_id: str, capacity: str, reason: str = ""
    ) -> None:
        """A checkpoint of a task was made at "90", "95" or "98" percent.

        Raises:
            UnknownName: there is no such task, or no such checkpoint.
        """
        known = {t.capacity: t.reason for t in self._handoff.thresholds if t.capacity}
        if capacity not in known:
            raise UnknownName("checkpoint", capacity, known)
        reason = reason or known[capacity]
        with self._changing() as state:
            task = self._task(state, task_id)
            made = CheckpointMetadata(checkpoint_id, self._clock().isoformat(), reason)
            if task.token_budget is not None:
                task = with_budget(task, task.token_budget.with_checkpoint(capacity, made))
            state.tasks[task_id] = msgspec.structs.replace(
                task, checkpoints=(*task.checkpoints, checkpoint_id)
            )
            fields = {
                "checkpoint_id": checkpoint_id,
                "reason": reason,
                "capacity_percent": int(capacity),
            }
            self._channel.put(Event(CHECKPOINT_CREATED, fields))

    def request_dump(self, task_id: str, paths: Iterable[str], status: str = "sent") -> None:
        """The agent was asked to write its context to `paths`, or has answered."""
        fields = {"task_id": task_id, "paths": list(paths), "status": status}
        self._channel.put(Event(CONTEXT_DUMP_REQUESTED, fields))
        self._channel.deliver()

    def record_handoff(
        self, task_id: str, to_provider: str, reason: str, checkpoint_id: str = ""
    ) -> int:
        """A task goes to another provider or a fresh session; gives the number of handoffs
        since it last made progress.

        Raises:
            UnknownName: there is no such task.
        """
        with self._changing() as state:
            task = self._task(state, task_id)
            now = self._clock()
            budget = task.token_budget
            if budget is not None:
                budget = budget.decided(
                    fallback_provider=to_provider, fallback_triggered_at=now.timestamp()
                )
                task = with_budget(task, budget)
            handoff = Handoff(now.isoformat(), to_provider, reason)
            task = msgspec.structs.replace(
                task, last_handoff=handoff, handoffs=task.handoffs + 1
            )
            state.tasks[task_id] = task
            fields = {
                "task_id": task_id,
                "from_provider": budget.provider if budget else "",
                "to_provider": to_provider,
                "checkpoint_id": checkpoint_id,
            }
            logged = self.settings.token_budget.logging.log_handoffs
            self._channel.put(Event(HANDOFF_DECISION, fields, logged=logged))
        return task.handoffs

    def record_stop(self, task_id: str, checkpoint_id: str = "") -> None:
        """A task goes to nobody: a `HANDOFF_DECISION` without a provider to go to.

        Raises:
            UnknownName: there is no such task.
        """
        with self._changing() as state:
            budget = self._task(state, task_id).token_budget
            fields = {
                "task_id": task_id,
                "from_provider": budget.provider if budget else "",
                "to_provider": "",
                "checkpoint_id": checkpoint_id,
            }
            logged = self.settings.token_budget.logging.log_handoffs
            self._channel.put(Event(HANDOFF_DECISION, fields, logged=logged))

    def empty_task(self, task_id: str) -> None:
        """The provider of a task begins anew: every threshold of the task is armed again.

        Raises:
            UnknownName: there is no such task.
        """
        with self._changing() as state:
            task = self._task(state, task_id)
            if task.token_budget is not None:
                state.tasks[task_id] = with_budget(task, task.token_budget.used(0), Armed())

    def record_progress(self, task_id: str) -> None:
        """A task got on: earlier handoffs no longer count against it."""
        with self._changing() as state:
            task = self._task(state, task_id)
            state.tasks[task_id] = msgspec.structs.replace(task, handoffs=0)

    def stuck(self, task_id: str) -> bool:
        """Whether a task was handed over three times without getting on."""
        return self.task(task_id).handoffs >= HANDOFFS


def with_budget(
    task: TaskDocument, budget: TaskTokenBudget, armed: Armed | None = None
) -> TaskDocument:
    """A task with a budget of the provider that works on it now."""
    states_of = task.armed if armed is None else {**task.armed, budget.provider: armed}
    return msgspec.structs.replace(
        task,
        token_budget=budget,
        budgets={**task.budgets, budget.provider: budget},
        armed=states_of,
    )


def _budget_event(budget: TaskTokenBudget, crossing: Crossing | None, *, logged: bool) -> Event:
    fields = {
        "task_id": budget.task_id,
        "provider": budget.provider,
        "consumed": budget.tokens_consumed,
        "remaining": budget.tokens_remaining,
        "percent": round(budget.percent_used, 2),
        "threshold": crossing.threshold.at if crossing else None,
    }
    if crossing is None:
        return Event(TOKEN_BUDGET, fields, logged=logged)
    names = {"task_id": budget.task_id, "provider": budget.provider}
    line = crossing.words(crossing.threshold.logs, **names) if logged else ""
    return Event(
        TOKEN_BUDGET, fields, crossing, logged, line=line, level=crossing.threshold.level
    )
