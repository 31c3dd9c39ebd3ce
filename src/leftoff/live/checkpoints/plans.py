"""The saved plans of tasks: a supervisor that was killed continues from them."""

from __future__ import annotations

import threading

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from leftoff import codec
from leftoff.budget.tasks import TaskDocument
from leftoff.errors import LeftoffError, StateError, UnknownName
from leftoff.handover.decision_table import TaskProgress
from leftoff.live.tasks import Clock, TaskBudgets
from leftoff.live.telemetry import TOKEN_BUDGET, Event, logger
from leftoff.redaction.redactor import Redactor
from leftoff.stores.protocol import Store


class Pending(Struct, frozen=True):
    """A threshold crossing, or a provider's failure, whose handling is not finished."""

    provider: str
    at: str
    capacity: str = ""  # "90" | "95" | "98", "" for a failure
    threshold: str = ""
    error: str = ""  # the provider's failure, "" for a crossing
    asked: bool = False
    # Contents of the files when the agent was `asked` for its dump, by name.
    before: dict[str, str] = field(default_factory=dict)
    # The task's handoffs before this one; None until a handoff has begun.
    handoffs: int | None = None


class LateDump(Struct, frozen=True):
    """A dump that was requested without waiting for it; `before`: contents of the files
    then."""

    checkpoint_id: str
    before: dict[str, str]


class Plan(Struct, frozen=True):
    """The orchestrator's state of a task; saved in the task's document."""

    task_id: str
    goal: str = ""
    role: str = ""
    directory: str = "."  # where the task works; its sandbox is in there
    # project, specific: names of its files, without suffix.
    project: str = "project"
    specific: str = "task"
    status: str = "in_progress"  # in_progress | stopped | completed
    staged: str = ""  # the provider that takes over next
    pending: tuple[Pending, ...] = ()
    late: LateDump | None = None
    seen: int = 0  # number of the last crossing that was added to `pending`
    # session, reached: the session and its progress at the last crossing.
    session: str = ""
    reached: TaskProgress = TaskProgress()
    extra: codec.JsonObject = {}  # unknown keys of the task's document; they are written back


def document(task: TaskDocument, plan: Plan) -> codec.JsonObject:
    """The task document: the budgets of a task, its plan and unknown keys."""
    budgets: codec.JsonObject = codec.to_builtins(task)
    planned = codec.to_builtins(plan)
    others = {k: v for k, v in planned.pop("extra").items() if k not in budgets}
    return {**budgets, "plan": planned, **others}


def read(data: codec.JsonObject) -> tuple[TaskDocument, Plan]:
    """Parses a task document.

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
    """The plans of tasks, saved in a store. It subscribes to budget events and adds crossings
    to the pending items."""

    def __init__(self, manager: TaskBudgets, store: Store, clock: Clock) -> None:
        self.manager, self.store = manager, store
        self._clock = clock
        preset = manager.settings.preset_of("handoff")
        self.thresholds = {t.name: t for t in preset.thresholds if t.capacity}
        self._plans: dict[str, Plan] = {}
        self._busy: dict[str, threading.Lock] = {}
        self._saving: dict[str, threading.Lock] = {}
        self._growth: dict[tuple[str, str], tuple[int, int]] = {}
        self._lock = threading.RLock()
        self.close = manager.subscribe(self._on_event)

    def __getitem__(self, task_id: str) -> Plan:
        with self._lock:
            if task_id not in self._plans:
                raise UnknownName("task", task_id, self._plans)
            return self._plans[task_id]

    def load(self, task_id: str) -> Plan | None:
        """Loads a task from the store; None if there is none of that id."""
        stored = self.store.load("task", task_id)
        if stored is None:
            return None
        task, plan = read(stored.document)
        self.manager.adopt(task)
        return plan

    def put(self, plan: Plan) -> None:
        """Adds a task."""
        with self._lock:
            self._plans[plan.task_id] = plan
            self._busy.setdefault(plan.task_id, threading.Lock())
            self._saving.setdefault(plan.task_id, threading.Lock())

    def change(self, task_id: str, **fields: object) -> Plan:
        """Changes fields of a plan, in memory."""
        with self._lock:
            self._plans[task_id] = replace(self[task_id], **fields)
            return self._plans[task_id]

    def change_head(self, task_id: str, **fields: object) -> Pending:
        """Changes fields of the first pending item, in memory."""
        with self._lock:
            head, *rest = self[task_id].pending
            head = replace(head, **fields)
            self.change(task_id, pending=(head, *rest))
            return head

    def save(self, task_id: str) -> None:
        """Saves a task's document. A failure of the store is logged, not raised."""
        with self._saving[task_id]:
            try:
                task = self.manager.task(task_id)
                self.store.save("task", task_id, document(task, self[task_id]))
            except UnknownName:
                return  # it has no provider yet
            except LeftoffError as error:
                logger.error("%s is not saved: %s", task_id, Redactor().text(str(error)))

    def busy(self, task_id: str) -> threading.Lock:
        """The lock of a task; held while its pending items are handled."""
        self[task_id]
        return self._busy[task_id]

    def growth(self, task_id: str, provider: str) -> int:
        """Tokens by which a task's last call increased its use of a provider."""
        return self._growth.get((task_id, provider), (0, 0))[1]

    # -- what is pending -------------------------------------------------------------------

    def _on_event(self, event: Event) -> None:
        if event.name != TOKEN_BUDGET or event.fields["task_id"] not in self._plans:
            return
        task_id, provider = event.fields["task_id"], event.fields["provider"]
        consumed = event.fields["consumed"]
        with self._lock:
            before, _ = self._growth.get((task_id, provider), (consumed, 0))
            if consumed != before:
                self._growth[task_id, provider] = (consumed, max(0, consumed - before))
        if event.crossing is not None:
            self.add_crossings(task_id)

    def add_crossings(self, task_id: str) -> None:
        """Adds the task's new threshold crossings to its pending items."""
        with self._lock:
            plan = self[task_id]
            try:
                crossed = self.manager.task(task_id).crossed
            except UnknownName:
                return  # it has no provider yet
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
            self.save(task_id)

    def add_failure(self, task_id: str, provider: str, error: str) -> None:
        """Adds a provider's failure to the pending items."""
        with self._lock:
            new = Pending(provider, self._clock().isoformat(), error=error)
            self.change(task_id, pending=(*self[task_id].pending, new))
        self.save(task_id)

    def remove_head(self, task_id: str, *, elsewhere: bool) -> None:
        """Removes the first pending item, which is handled. If the task went `elsewhere`, the
        provider's other pending items are dropped, too."""
        with self._lock:
            plan = self[task_id]
            head, rest = plan.pending[0], plan.pending[1:]
            if elsewhere:
                rest = tuple(p for p in rest if p.provider != head.provider)
            self.change(task_id, pending=rest)
        self.save(task_id)
