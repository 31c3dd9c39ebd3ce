"""What is kept of a task, so that a supervisor that was killed goes on where it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from leftoff import codec
from leftoff.budget.tasks import TaskDocument
from leftoff.errors import LeftoffError, StateError, UnknownName
from leftoff.handover.decision_table import Reached
from leftoff.live.tasks import TaskBudgets
from leftoff.live.telemetry import TOKEN_BUDGET, Event, logger
from leftoff.redaction.redactor import Redactor
from leftoff.stores.protocol import Store


class Pending(Struct, frozen=True):
    """A crossing, or a failure, that has not been dealt with to its end.

    Attributes:
        capacity: "90" | "95" | "98", "" for a failure.
        threshold: its name in the preset.
        provider: who worked on the task then.
        at: ISO 8601.
        error: the provider's failure, "" for a crossing.
        asked: the agent was asked for its dump.
        before: the files as they were when it was asked, by name.
        handoffs: as they were counted before, once a handoff has begun.
    """

    provider: str
    at: str
    capacity: str = ""
    threshold: str = ""
    error: str = ""
    asked: bool = False
    before: dict[str, str] = field(default_factory=dict)
    handoffs: int | None = None


class Late(Struct, frozen=True):
    """A dump that nobody waited for.

    Attributes:
        checkpoint_id: which asked for it.
        before: the files as they were then, by name.
    """

    checkpoint_id: str
    before: dict[str, str]


class Plan(Struct, frozen=True):
    """What an orchestrator knows of a task.

    Attributes:
        directory: where the task works; its sandbox is in there.
        project, specific: names of its files, without the ending.
        status: in_progress | stopped | completed.
        staged: the provider that takes over next.
        late: the dump that may still come.
        seen: number of the last crossing that was noted.
        session, reached: how far which session was at the last handoff.
        extra: keys of the task's document that are not ours; they are written back.
    """

    task_id: str
    goal: str = ""
    role: str = ""
    directory: str = "."
    project: str = "project"
    specific: str = "task"
    status: str = "in_progress"
    staged: str = ""
    pending: tuple[Pending, ...] = ()
    late: Late | None = None
    seen: int = 0
    session: str = ""
    reached: Reached = Reached()
    extra: dict[str, Any] = {}


def document(task: TaskDocument, plan: Plan) -> dict[str, Any]:
    """The task document: the budgets of a task and what is planned for it."""
    kept: dict[str, Any] = codec.plain(task)
    planned = codec.plain(plan)
    others = {k: v for k, v in planned.pop("extra").items() if k not in kept}
    return {**kept, "plan": planned, **others}


def read(data: dict[str, Any]) -> tuple[TaskDocument, Plan]:
    """What `document` made.

    Raises:
        StateError: it is another kind of document, or damaged.
    """
    try:
        task = msgspec.convert({k: v for k, v in data.items() if k != "plan"}, TaskDocument)
        plan = msgspec.convert(data.get("plan", {"task_id": task.task_id}), Plan)
        known = {*TaskDocument.__struct_fields__, "plan"}
        return task, replace(plan, extra={k: v for k, v in data.items() if k not in known})
    except msgspec.ValidationError as error:
        raise StateError(f"no task document: {error}") from error


class Plans:
    """The plans of tasks, kept in a store; hears of crossings and notes them as pending.

    Args:
        manager: counts the tokens.
        store: keeps the tasks.
        clock: gives the time now, with its zone.
    """

    def __init__(
        self, manager: TaskBudgets, store: Store, clock: Callable[[], datetime]
    ) -> None:
        self.manager, self.store = manager, store
        self._clock = clock
        preset = manager.settings.preset_of("handoff")
        self.thresholds = {t.name: t for t in preset.thresholds if t.capacity}
        self._plans: dict[str, Plan] = {}
        self._busy: dict[str, threading.Lock] = {}
        self._saving: dict[str, threading.Lock] = {}
        self._growth: dict[tuple[str, str], tuple[int, int]] = {}
        self._lock = threading.RLock()
        self.close = manager.subscribe(self._heard)

    def __getitem__(self, task_id: str) -> Plan:
        with self._lock:
            if task_id not in self._plans:
                raise UnknownName("task", task_id, self._plans)
            return self._plans[task_id]

    def load(self, task_id: str) -> Plan | None:
        """Goes on with a task that the store knows; None if it knows none of that id.

        Raises:
            StateError: what it keeps is damaged.
        """
        kept = self.store.load("task", task_id)
        if kept is None:
            return None
        task, plan = read(kept.document)
        self.manager.adopt(task)
        return plan

    def put(self, plan: Plan) -> None:
        """Takes a task on."""
        with self._lock:
            self._plans[plan.task_id] = plan
            self._busy.setdefault(plan.task_id, threading.Lock())
            self._saving.setdefault(plan.task_id, threading.Lock())

    def change(self, task_id: str, **fields: Any) -> Plan:
        """Changes fields of a plan, in memory."""
        with self._lock:
            self._plans[task_id] = replace(self[task_id], **fields)
            return self._plans[task_id]

    def change_head(self, task_id: str, **fields: Any) -> Pending:
        """Changes fields of what is pending first, in memory."""
        with self._lock:
            head, *rest = self[task_id].pending
            head = replace(head, **fields)
            self.change(task_id, pending=(head, *rest))
            return head

    def keep(self, task_id: str) -> None:
        """Saves a task's document. A store that fails must not end the task: that is said."""
        with self._saving[task_id]:
            try:
                task = self.manager.task(task_id)
                self.store.save("task", task_id, document(task, self[task_id]))
            except UnknownName:
                return  # nobody works on it yet
            except LeftoffError as error:
                logger.error("%s is not saved: %s", task_id, Redactor().text(str(error)))

    def busy(self, task_id: str) -> threading.Lock:
        """Held while somebody deals with a task."""
        self[task_id]
        return self._busy[task_id]

    def growth(self, task_id: str, provider: str) -> int:
        """Tokens by which a task's last call filled the window of a provider."""
        return self._growth.get((task_id, provider), (0, 0))[1]

    # -- what is pending -------------------------------------------------------------------

    def _heard(self, event: Event) -> None:
        if event.name != TOKEN_BUDGET or event.fields["task_id"] not in self._plans:
            return
        task_id, provider = event.fields["task_id"], event.fields["provider"]
        consumed = event.fields["consumed"]
        with self._lock:
            before, _ = self._growth.get((task_id, provider), (consumed, 0))
            if consumed != before:
                self._growth[task_id, provider] = (consumed, max(0, consumed - before))
        if event.crossing is not None:
            self.note_crossings(task_id)

    def note_crossings(self, task_id: str) -> None:
        """Notes what a task has crossed since the last look."""
        with self._lock:
            plan = self[task_id]
            try:
                crossed = self.manager.task(task_id).crossed
            except UnknownName:
                return  # nobody works on it yet
            new = [c for c in crossed if c.number > plan.seen]
            if not new:
                return
            pending = [
                Pending(c.provider, c.at, self.thresholds[c.threshold].capacity, c.threshold)
                for c in new
                if c.threshold in self.thresholds
            ]
            self.change(task_id, pending=(*plan.pending, *pending), seen=new[-1].number)
        if pending:
            self.keep(task_id)

    def note_failure(self, task_id: str, provider: str, error: str) -> None:
        """A provider failed on a task."""
        with self._lock:
            new = Pending(provider, self._clock().isoformat(), error=error)
            self.change(task_id, pending=(*self[task_id].pending, new))
        self.keep(task_id)

    def done(self, task_id: str, *, elsewhere: bool) -> None:
        """What is pending first was dealt with.

        Args:
            elsewhere: the task left the provider, so what else is pending there is over.
        """
        with self._lock:
            plan = self[task_id]
            head, rest = plan.pending[0], plan.pending[1:]
            if elsewhere:
                rest = tuple(p for p in rest if p.provider != head.provider)
            self.change(task_id, pending=rest)
        self.keep(task_id)
