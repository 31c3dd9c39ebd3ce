"""`CheckpointOrchestrator`: handles tasks whose context window runs out.

The generated checkpoint and sections are written first, within seconds. Then the agent is asked
for its dump, which replaces the generated sections if it is valid. Last, the task is handed
over if that was decided. Every step is idempotent: the task's document in the store says what
is pending, so a supervisor that was killed at any point continues from there."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff.budget.tasks import TaskTokenBudget, limit_of
from leftoff.errors import StateError, UnknownName, UsageError
from leftoff.handover.checkpoint import dumps, file_names, roles
from leftoff.handover.checkpoint.document import (
    Capacity,
    ContextCheckpoint,
    NextAction,
    checkpoint_id,
    checkpoint_of,
    validated,
)
from leftoff.handover.checkpoint.from_summary import (
    CheckpointSource,
    TaskProgress,
    checkpoint_source,
)
from leftoff.handover.checkpoint.injection import DEFAULT_BUDGET, block, inject
from leftoff.handover.decision_table import (
    HELPER,
    PROVIDER_ERRORS,
    Candidate,
    Situation,
    decide,
    handoff_log_line,
    next_action,
)
from leftoff.live.checkpoints.dumps import (
    Answer,
    DumpResult,
    accept,
    ask_for_dump,
    in_thread,
    outputs,
    write_task_sections,
)
from leftoff.live.checkpoints.plans import Agent, Pending, Plan, RunningTask, read
from leftoff.live.checkpoints.recorded import Recorder, git_diff, recorded
from leftoff.live.tasks import Clock, TaskBudgets, now
from leftoff.live.telemetry import TOKEN_BUDGET, Event, error_words, logged, logger
from leftoff.redaction.redactor import Redactor
from leftoff.stores.protocol import Store
from leftoff.tokens import max_tokens

# Seconds to wait for a recording to be read; after that the checkpoint is made from the budget
# alone. Below the 5 seconds within which a checkpoint has to be on disk.
RECORDING_TIMEOUT = 3.0


class Outcome(Struct, frozen=True):
    """The result of handling a threshold crossing or a failure: the checkpoint and its place in
    the store, who wrote the sections ("agent" or "leftoff"), why the agent's dump was not used,
    and the seconds until the generated checkpoint was saved."""

    checkpoint: ContextCheckpoint
    decision: NextAction
    where: str
    told_by: str = "leftoff"
    why: str = ""
    seconds: float = 0.0

    def prompt(self, original: str, *, budget: int = DEFAULT_BUDGET) -> str:
        """The next prompt: with the checkpoint before it if the task is handed over."""
        if not self.decision.now:
            return original
        return inject(self.checkpoint, original, budget=budget)


class CheckpointOrchestrator:
    """Makes checkpoints of tasks when they cross 90, 95 and 98 %, and hands them over.

        manager = SessionManager()
        orchestrator = CheckpointOrchestrator(manager, store, providers={"a": 180_000})
        orchestrator.add("t1", goal="...", provider="a", recording="s.jsonl", agent=call)
        manager.update_token_usage(..., task_id="t1")
        for outcome in orchestrator.handle("t1"):
            prompt = outcome.prompt(prompt)

    Every method may be called from any thread; tasks do not wait for each other.

    Args:
        manager: counts the tokens.
        store: stores checkpoints and tasks.
        providers: the providers that may take over a task, with their token limits; for names
            alone the settings give the limits.
        known_roles: roles that override the built-in ones.
        helper: whether there is a helper agent.
        diff: returns the diff of a directory, for the globs of a role.
        clock: returns the current time, with its zone.

    Attributes:
        unavailable: providers whose circuit breaker is open; no task is handed to them.

    Raises:
        UsageError: no limit is known for a provider."""

    def __init__(
        self,
        manager: TaskBudgets,
        store: Store,
        *,
        providers: Mapping[str, int] | Iterable[str] = (),
        known_roles: Mapping[str, roles.Role] | None = None,
        helper: bool = True,
        diff: Callable[..., str | None] = git_diff,
        clock: Clock = now,
    ) -> None:
        self.manager, self.store, self.helper = manager, store, helper
        self._options = manager.settings.token_budget
        given = providers if isinstance(providers, Mapping) else dict.fromkeys(providers, 0)
        limits = dict(self._options.provider_limits)
        self.providers = {n: total or limit_of(n, limits) or 0 for n, total in given.items()}
        if unknown := sorted(n for n, total in self.providers.items() if not total):
            raise UsageError(
                f"no limit is known for provider {unknown[0]!r}; give it, as in "
                "providers={name: tokens}, or set token_budget.provider_limits"
            )
        self.unavailable: set[str] = set()
        self._roles, self._diff, self._clock = known_roles, diff, clock
        self._tasks: dict[str, RunningTask] = {}
        self._unsubscribe = manager.subscribe(self._on_event)

    def close(self) -> None:
        """Unsubscribes from the manager's events."""
        self._unsubscribe()

    def _on_event(self, event: Event) -> None:
        if event.name == TOKEN_BUDGET and event.fields["task_id"] in self._tasks:
            self._tasks[event.fields["task_id"]].note_usage(event)

    def _task(self, task_id: str) -> RunningTask:
        if task_id not in self._tasks:
            raise UnknownName("task", task_id, self._tasks)
        return self._tasks[task_id]

    # -- tasks -----------------------------------------------------------------------------

    def add(
        self,
        task_id: str,
        *,
        goal: str = "",
        provider: str = "",
        role: str = "",
        directory: str | Path = ".",
        project: str = "",
        specific: str = "",
        recording: str | Path | Recorder | None = None,
        agent: Agent | None = None,
    ) -> Plan:
        """Adds a task; continues it if the store has its document.

        Args:
            goal: the task in its owner's words.
            provider: the provider that works on it.
            role: selects the files to list and who takes over.
            directory: the task's working directory; the sandbox is in it.
            project, specific: names of its files; derived from directory and goal if "".
            recording: its path, or a function that returns what is recorded.
            agent: the agent to ask for dumps.

        Raises:
            NotPlainName: an id or name is not one safe path component.
            UnknownName: there is no such role.
            UsageError: no limit is known for the provider.
            StateError: the task's document is damaged."""
        checkpoint_id(task_id, provider, "90", self._clock())  # says now what would fail later
        if role:
            roles.role(role, self._roles)
        stored = self.store.load("task", task_id)
        if stored is not None:
            budgets, plan = read(stored.document)
            self.manager.adopt(budgets)
        else:
            home = Path(directory)
            plan = Plan(
                task_id,
                goal,
                role,
                str(home),
                project or file_names.project_name(str(home.absolute())),
                specific or file_names.task_file_name(goal, task_id),
            )
            file_names.dump_paths(plan.project, plan.specific)
            if provider:
                self.manager.set_task_budget(task_id, provider, self.providers.get(provider))
        if isinstance(recording, (str, Path)):
            recording = partial(recorded, recording)
        new = RunningTask(plan, self.manager, self.store, self._clock)
        task = self._tasks.setdefault(task_id, new)
        task.plan, task.recording, task.agent = plan, recording, agent
        task.role = roles.role(plan.role, self._roles) if plan.role else None
        task.add_crossings()
        task.save()
        return task.plan

    def plan(self, task_id: str) -> Plan:
        """The plan of a task that was added."""
        return self._task(task_id).plan

    def complete(self, task_id: str) -> int:
        """Marks a task as completed and deletes its checkpoints; returns how many."""
        task = self._task(task_id)
        task.change(status="completed", pending=())
        self.collect(task_id)
        deleted = sum(self.store.delete("checkpoint", n) for n in task.budgets.checkpoints)
        task.save()
        return deleted

    def collect(self, task_id: str) -> DumpResult | None:
        """Uses the dump requested at 98 % if it has been written by now; None if none is
        expected. Handling the next crossing does this, too."""
        task = self._task(task_id)
        late = task.plan.late
        if late is None:
            return None
        dumped = None
        if found := self._load_valid(late.checkpoint_id):
            source = _read_recording(task)
            dumped = accept(task, found, source, late.before, Answer())
            if dumped.told_by == "agent":
                payload = dumps.build_payload(found, source, task.plan.paths)
                self._save(dumped.checkpoint, payload)
        task.change(late=None)
        task.save()
        return dumped

    def failed(self, task_id: str, error: str) -> None:
        """Reports that the provider of a task failed; `handle` decides who continues.

        Args:
            error: one of `handoff.ERRORS`, or what a vendor calls it.

        Raises:
            UsageError: the task has no provider."""
        budget = self.manager.task(task_id).token_budget
        if budget is None:
            raise UsageError(f"task {task_id!r} has no provider yet")
        known = error if error in PROVIDER_ERRORS else "unavailable"
        self._task(task_id).add_failure(budget.provider, known)

    def handle(
        self,
        task_id: str,
        *,
        prompt: str = "",
        growth: int = 0,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> list[Outcome]:
        """Handles all pending crossings and failures of a task in order; [] if there are none.

        Args:
            prompt: the next prompt, which has to fit into the window.
            growth: tokens that an iteration takes; those of the last call if 0.
            loop: where an agent that is a coroutine function runs, from another thread."""
        outcomes: list[Outcome] = []
        task = self._task(task_id)
        with task.busy:
            task.add_crossings()
            if task.plan.pending:
                self.collect(task_id)
            while pending := task.plan.pending:
                outcomes.append(self._handle_pending(task, pending[0], prompt, growth, loop))
        return outcomes

    async def handle_async(
        self, task_id: str, *, prompt: str = "", growth: int = 0
    ) -> list[Outcome]:
        """`handle` in a thread; an agent that is a coroutine function runs on this event
        loop."""
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(
            self.handle, task_id, prompt=prompt, growth=growth, loop=loop
        )

    # -- the steps -------------------------------------------------------------------------

    def _handle_pending(
        self,
        task: RunningTask,
        pending: Pending,
        prompt: str,
        growth: int,
        loop: asyncio.AbstractEventLoop | None,
    ) -> Outcome:
        began = time.monotonic()
        source = _read_recording(task)
        _note_progress(task, source)
        checkpoint = self._existing_checkpoint(task, pending)
        decided = checkpoint is not None and (not pending.error or pending.handoffs is not None)
        if checkpoint is None:
            checkpoint = self._new_checkpoint(task, pending, source)
        plan = task.plan
        if decided:
            decision = checkpoint.next_action
        else:
            need = max_tokens(prompt or plan.goal) + max_tokens(block(checkpoint))
            decision = self._decide(task, pending, need, growth)
            checkpoint = checkpoint.with_action(decision)
        payload = dumps.build_payload(checkpoint, source, plan.paths)
        dump = self._options.context_dump
        markdown = dump.enabled and dump.markdown_update and not pending.error
        if markdown:
            checkpoint = checkpoint.with_outputs(outputs(payload, checkpoint.created_at))
        where = self._save(checkpoint, payload)
        seconds = time.monotonic() - began
        if markdown and not pending.asked:
            write_task_sections(plan, checkpoint, payload)
        name = checkpoint.checkpoint_id
        if name not in task.budgets.checkpoints:  # else it was killed after this
            capacity, reason = checkpoint.capacity_threshold, checkpoint.reason
            self.manager.record_checkpoint(task.id, name, capacity, reason)
            task.save()
        dumped = DumpResult(checkpoint)
        if markdown and pending.asked:  # killed while the agent wrote
            late = Answer(why="it was not waited for")
            dumped = accept(task, checkpoint, source, pending.before, late)
        # Of several crossings at once the agent is asked for the highest only.
        elif markdown and task.agent and not any(p.capacity for p in task.plan.pending[1:]):
            dumped = ask_for_dump(task, checkpoint, source, loop)
        if dumped.told_by == "agent":
            self._save(dumped.checkpoint, payload)
        self._hand_over(task, decision, name)
        task.remove_head(elsewhere=decision.now)
        return Outcome(dumped.checkpoint, decision, where, dumped.told_by, dumped.why, seconds)

    def _existing_checkpoint(
        self, task: RunningTask, pending: Pending
    ) -> ContextCheckpoint | None:
        """The checkpoint that was already made for this crossing; for a failure the newest
        valid one."""
        if pending.error:
            names = task.budgets.checkpoints[::-1]
        else:
            at = datetime.fromisoformat(pending.at)
            names = (checkpoint_id(task.id, pending.provider, pending.capacity, at),)
        found = (self._load_valid(name) for name in names)
        return next((c for c in found if c is not None), None)

    def _load_valid(self, name: str) -> ContextCheckpoint | None:
        """A stored checkpoint; None where there is none, or, which is logged, it is damaged."""
        with logged("a checkpoint is left aside: %s", errors=(StateError,)):
            stored = self.store.load("checkpoint", name)
            return None if stored is None else validated(stored.document)

    def _new_checkpoint(
        self, task: RunningTask, pending: Pending, source: CheckpointSource
    ) -> ContextCheckpoint:
        budget = task.budgets.budgets[pending.provider]
        capacity: Any = pending.capacity or nearest(budget)
        globs = task.role.files_to_track if task.role else ()
        return checkpoint_of(
            source,
            budget=budget,
            capacity=capacity,
            at=datetime.fromisoformat(pending.at),
            # Without a recording the budget alone makes the checkpoint.
            git_diff=self._diff(task.plan.directory, globs) if source.session else None,
            history_lines=self._options.context_dump.max_history_lines,
        )

    def _decide(
        self, task: RunningTask, pending: Pending, need: int, growth: int
    ) -> NextAction:
        name, known = pending.provider, task.budgets
        if not self._options.handoff.enabled:
            return next_action("continue", "handoffs are switched off", name)
        budget = known.budgets[name]
        used = {n: b.tokens_consumed for n, b in known.budgets.items()}
        others = tuple(
            Candidate(other, total, used.get(other, 0), other not in self.unavailable)
            for other, total in self.providers.items()
        )
        available = name not in self.unavailable
        return decide(
            Situation(
                pending.capacity,
                Candidate(name, budget.total_allocated, budget.tokens_consumed, available),
                error=pending.error,
                need=need,
                growth=growth or task.growth.get(name, 0),
                others=others,
                role=task.role,
                handoffs=known.handoffs,
                helper=self.helper,
                force=self._options.handoff.force_at_98_percent,
            )
        )

    def _save(self, checkpoint: ContextCheckpoint, payload: dumps.ContextDumpPayload) -> str:
        name, text = checkpoint.checkpoint_id, f"{payload.project_md.text}\n"
        return self.store.save("checkpoint", name, checkpoint.to_dict(), text=text)

    def _hand_over(self, task: RunningTask, decision: NextAction, name: str) -> None:
        """Carries out the decision. Repeated after a kill, it still counts the handoff once."""
        if decision.type == "fallback":
            task.change(staged=decision.provider)
        if decision.type == "stop":
            self.manager.record_stop(task.id, name)
            task.change(status="stopped")
        if not decision.now or decision.type == "stop":
            return
        head, handoffs = task.plan.pending[0], task.budgets.handoffs
        if head.handoffs is None:
            head = task.change_head(handoffs=handoffs)
            task.save()
        after = decision.provider or HELPER
        if handoffs == head.handoffs:
            self.manager.record_handoff(task.id, after, decision.reason, name)
            if self._options.logging.log_handoffs:
                line = handoff_log_line(task.id, head.provider, after, name)
                logger.warning("%s", Redactor().text(line))
        if decision.provider == head.provider:
            self.manager.empty_task(task.id)
        elif decision.provider:
            total = self.providers.get(decision.provider)
            self.manager.set_task_budget(task.id, decision.provider, total)
        task.change(staged="")


def _read_recording(task: RunningTask) -> CheckpointSource:
    """What is recorded of a task; its goal alone where no recording can be read in time."""
    goal, why = task.plan.goal, ""
    if task.recording:
        reading = in_thread(task.recording)
        if not wait([reading], RECORDING_TIMEOUT).done:
            why = f"takes more than {RECORDING_TIMEOUT:g} s"
        elif error := reading.exception():  # a checkpoint is made in any case
            why = f"cannot be read: {error_words(error)}"
        else:
            found = reading.result()
            return checkpoint_source(found.summary, found.messages, goal=goal, role=task.role)
        logger.warning("the recording of %s %s", task.id, why)
    return checkpoint_source(None, goal=goal)


def _note_progress(task: RunningTask, source: CheckpointSource) -> None:
    plan = task.plan
    if plan.pending[0].handoffs is not None:  # it is being handed over already
        return
    before = plan.reached if plan.session == source.session else TaskProgress()
    if task.budgets.handoffs and source.reached.is_ahead_of(before):
        task.manager.record_progress(task.id)
    task.change(session=source.session, reached=source.reached)


def nearest(budget: TaskTokenBudget) -> Capacity:
    """The highest capacity that a budget has reached; "90" if none."""
    reached: tuple[Capacity, ...] = ("98", "95")
    return next((c for c in reached if budget.percent_used >= int(c)), "90")
