"""Running tasks and their saved plans: a supervisor that was killed continues from them."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from leftoff import codec
from leftoff.budget.tasks import TaskDocument
from leftoff.errors import StateError, UnknownName
from leftoff.handover.checkpoint.file_names import dump_paths
from leftoff.handover.checkpoint.from_summary import TaskProgress
from leftoff.handover.checkpoint.roles import Role
from leftoff.live.checkpoints.recorded import Recorder
from leftoff.live.tasks import Clock, TaskBudgets
from leftoff.live.telemetry import Event, logged
from leftoff.stores.protocol import Store

# Takes an instruction and returns its dump; may be a coroutine function. A dump is a text for
# `project.md`, a mapping {"project": ..., "specific": ...}, or None if the agent wrote into the
# files itself.
Agent: TypeAlias = Callable[[str], Any]


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

    @property
    def paths(self) -> tuple[str, str]:
        """The task's two markdown files, relative to its directory."""
        return dump_paths(self.project, self.specific)


class RunningTask:
    """A task that this process supervises: its plan, which is saved in the task's document, and
    what cannot be saved.

    Attributes:
        busy: held while its pending items are handled.
        growth: tokens by which the last call increased its use of a provider, by name."""

    recording: Recorder | None = None
    agent: Agent | None = None
    role: Role | None = None

    def __init__(self, plan: Plan, manager: TaskBudgets, store: Store, clock: Clock) -> None:
        self.id, self.plan = plan.task_id, plan
        self.manager, self.clock = manager, clock
        self._store = store
        preset = manager.settings.preset_of("handoff")
        self.thresholds = {t.name: t for t in preset.thresholds if t.capacity}
        self.growth: dict[str, int] = {}
        self._used: dict[str, int] = {}
        self.busy, self._saving = threading.Lock(), threading.Lock()
        self._lock = threading.RLock()

    @property
    def budgets(self) -> TaskDocument:
        """What it has used, and what became of it."""
        return self.manager.task(self.id)

    def change(self, **fields: object) -> None:
        """Changes fields of the plan, in memory."""
        with self._lock:
            self.plan = replace(self.plan, **fields)

    def change_head(self, **fields: object) -> Pending:
        """Changes fields of the first pending item, in memory."""
        with self._lock:
            head, *rest = self.plan.pending
            head = replace(head, **fields)
            self.change(pending=(head, *rest))
            return head

    def save(self) -> None:
        """Saves the document. A failure of the store is logged, not raised."""
        error = logged("%s is not saved: %s", self.id, level=logging.ERROR)
        # It is unknown until it has a provider.
        with self._saving, error, suppress(UnknownName):
            self._store.save("task", self.id, document(self.budgets, self.plan))

    # -- what is pending -------------------------------------------------------------------

    def note_usage(self, event: Event) -> None:
        """Takes in an event of its budget."""
        provider, used = event.fields["provider"], event.fields["consumed"]
        with self._lock:
            before = self._used.get(provider, used)
            if used != before:
                self.growth[provider] = max(0, used - before)
            self._used[provider] = used
        if event.crossing is not None:
            self.add_crossings()

    def add_crossings(self) -> None:
        """Adds new threshold crossings to the pending items."""
        with self._lock:
            try:
                crossed = self.budgets.crossed
            except UnknownName:
                return  # it has no provider yet
            new = [c for c in crossed if c.number > self.plan.seen]
            if not new:
                return
            pending = [
                Pending(c.provider, c.at, self.thresholds[c.threshold].capacity, c.threshold)
                for c in new
                if c.threshold in self.thresholds
            ]
            self.change(pending=(*self.plan.pending, *pending), seen=new[-1].number)
        if pending:
            self.save()

    def add_failure(self, provider: str, error: str) -> None:
        """Adds a provider's failure to the pending items."""
        new = Pending(provider, self.clock().isoformat(), error=error)
        with self._lock:
            self.change(pending=(*self.plan.pending, new))
        self.save()

    def remove_head(self, *, elsewhere: bool) -> None:
        """Removes the first pending item, which is handled. If the task went `elsewhere`, the
        provider's other pending items are dropped, too."""
        with self._lock:
            head, *rest = self.plan.pending
            if elsewhere:
                rest = [p for p in rest if p.provider != head.provider]
            self.change(pending=tuple(rest))
        self.save()


def document(task: TaskDocument, plan: Plan) -> codec.JsonObject:
    """The document of a task: its budgets, its plan and unknown keys."""
    budgets: codec.JsonObject = codec.to_builtins(task)
    planned = codec.to_builtins(plan)
    others = {k: v for k, v in planned.pop("extra").items() if k not in budgets}
    return {**budgets, "plan": planned, **others}


def read(data: codec.JsonObject) -> tuple[TaskDocument, Plan]:
    """Parses the document of a task; `StateError` where it is another kind of document, or
    damaged."""
    try:
        task = msgspec.convert(data, TaskDocument)
        plan = msgspec.convert(data.get("plan", {"task_id": task.task_id}), Plan)
        known = {*TaskDocument.__struct_fields__, "plan"}
        return task, replace(plan, extra={k: v for k, v in data.items() if k not in known})
    except msgspec.ValidationError as error:
        raise StateError(f"no task document: {error}") from error
