"""`CheckpointOrchestrator`: handles tasks whose context window runs out.

The generated checkpoint and sections are written first, within seconds. Then the agent is asked
for its dump, which replaces the generated sections if it is valid. Last, the task is handed
over if that was decided. Every step is idempotent: the task's document in the store says what
is pending, so a supervisor that was killed at any point continues from there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff.budget.tasks import TaskTokenBudget, limit_of
from leftoff.errors import StateError, UsageError
from leftoff.handover.checkpoint import dumps, file_names, roles
from leftoff.handover.checkpoint.document import (
    Capacity,
    ContextCheckpoint,
    checkpoint_id,
    from_budget,
    from_summary,
    validated,
)
from leftoff.handover.checkpoint.injection import DEFAULT_BUDGET, block, inject
from leftoff.handover.decision_table import (
    HELPER,
    PROVIDER_ERRORS,
    Candidate,
    Decision,
    Situation,
    TaskProgress,
    decide,
    handoff_log_line,
)
from leftoff.live.checkpoints.agents import Agent, Answer, ask, run_with_timeout
from leftoff.live.checkpoints.dumps import DumpResult, DumpWriter, outputs
from leftoff.live.checkpoints.files import git_diff
from leftoff.live.checkpoints.plans import Pending, Plan, Plans
from leftoff.live.checkpoints.recorded import (
    CheckpointSource,
    Recorded,
    Recorder,
    checkpoint_source,
    recorded,
)
from leftoff.live.tasks import Clock, TaskBudgets, now
from leftoff.live.telemetry import error_words, logger
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
    decision: Decision
    where: str
    told_by: str = "leftoff"
    why: str = ""
    seconds: float = 0.0

    def prompt(self, original: str, *, budget: int = DEFAULT_BUDGET) -> str:
        """The next prompt: with the checkpoint before it if the task is handed over."""
        if not self.decision.now:
            return original
        return inject(self.checkpoint, original, budget=budget)


class _Attached(Struct):
    """The parts of a task that cannot be saved."""

    recording: Recorder | None
    agent: Agent | None


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
        UsageError: no limit is known for a provider.
    """

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
        self._attached: dict[str, _Attached] = {}
        self._plans = Plans(manager, store, clock)
        self._dumping = DumpWriter(self._plans, clock)

    def close(self) -> None:
        """Unsubscribes from the manager's events."""
        self._plans.close()

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
            StateError: the task's document is damaged.
        """
        checkpoint_id(task_id, provider, "90", self._clock())  # says now what would fail later
        if role:
            roles.role(role, self._roles)
        plan = self._plans.load(task_id)
        known = plan is not None
        if plan is None:
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
        if provider and not known:
            self.manager.set_task_budget(task_id, provider, self.providers.get(provider))
        if isinstance(recording, (str, Path)):
            recording = partial(recorded, recording)
        self._attached[task_id] = _Attached(recording, agent)
        self._plans.put(plan)
        self._plans.add_crossings(task_id)
        self._plans.save(task_id)
        return self._plans[task_id]

    def plan(self, task_id: str) -> Plan:
        """The plan of a task that was added."""
        return self._plans[task_id]

    def complete(self, task_id: str) -> int:
        """Marks a task as completed and deletes its checkpoints; returns how many."""
        self._plans.change(task_id, status="completed", pending=())
        self.collect(task_id)
        names = self.manager.task(task_id).checkpoints
        deleted = sum(self.store.delete("checkpoint", name) for name in names)
        self._plans.save(task_id)
        return deleted

    def collect(self, task_id: str) -> DumpResult | None:
        """Uses the dump requested at 98 % if it has been written by now; None if none is
        expected. Handling the next crossing does this, too."""
        late = self._plans[task_id].late
        if late is None:
            return None
        found = self._load_valid(late.checkpoint_id)
        dumped = None
        if found is not None:
            source = self._source(task_id, self._read_recording(task_id))
            dumped = self._dumping.accept(found, source, late.before, Answer())
            if dumped.told_by == "agent":
                self._save(dumped.checkpoint, self._dumping.payload(found, source))
        self._plans.change(task_id, late=None)
        self._plans.save(task_id)
        return dumped

    def failed(self, task_id: str, error: str) -> None:
        """Reports that the provider of a task failed; `handle` decides who continues.

        Args:
            error: one of `handoff.ERRORS`, or what a vendor calls it.

        Raises:
            UsageError: the task has no provider.
        """
        budget = self.manager.task(task_id).token_budget
        if budget is None:
            raise UsageError(f"task {task_id!r} has no provider yet")
        known = error if error in PROVIDER_ERRORS else "unavailable"
        self._plans.add_failure(task_id, budget.provider, known)

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
            loop: where an agent that is a coroutine function runs, from another thread.
        """
        outcomes: list[Outcome] = []
        with self._plans.busy(task_id):
            self._plans.add_crossings(task_id)
            if self._plans[task_id].pending:
                self.collect(task_id)
            while pending := self._plans[task_id].pending:
                outcomes.append(self._handle_pending(task_id, pending[0], prompt, growth, loop))
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
        task_id: str,
        pending: Pending,
        prompt: str,
        growth: int,
        loop: asyncio.AbstractEventLoop | None,
    ) -> Outcome:
        began = time.monotonic()
        role = self._role(task_id)
        recorded = self._read_recording(task_id)
        source = self._source(task_id, recorded)
        self._note_progress(task_id, source)
        checkpoint = self._existing_checkpoint(task_id, pending)
        decided = checkpoint is not None and (not pending.error or pending.handoffs is not None)
        if checkpoint is None:
            checkpoint = self._new_checkpoint(task_id, pending, recorded, role)
        if decided:
            decision = _saved_decision(checkpoint)
        else:
            goal = self._plans[task_id].goal
            need = max_tokens(prompt or goal) + max_tokens(block(checkpoint))
            decision = self._decide(task_id, pending, need, growth, role)
            checkpoint = checkpoint.with_action(decision.action())
        payload = self._dumping.payload(checkpoint, source)
        markdown = self._dumping.enabled and not pending.error
        if markdown:
            checkpoint = checkpoint.with_outputs(outputs(payload, checkpoint.created_at))
        where = self._save(checkpoint, payload)
        seconds = time.monotonic() - began
        if markdown and not pending.asked:
            self._dumping.write(checkpoint, payload)
        self._record(checkpoint)
        dumped = DumpResult(checkpoint)
        agent = self._attached[task_id].agent
        later = self._plans[task_id].pending[1:]
        if markdown and pending.asked:  # killed while the agent wrote
            late = Answer(why="it was not waited for")
            dumped = self._dumping.accept(checkpoint, source, pending.before, late)
        # Of several crossings at once the agent is asked for the highest only.
        elif markdown and agent and not any(p.capacity for p in later):
            request = partial(ask, agent, loop=loop)
            dumped = self._dumping.asked(checkpoint, source, request, role)
        if dumped.told_by == "agent":
            self._save(dumped.checkpoint, payload)
        self._hand_over(task_id, decision, checkpoint.checkpoint_id)
        self._plans.remove_head(task_id, elsewhere=decision.now)
        return Outcome(dumped.checkpoint, decision, where, dumped.told_by, dumped.why, seconds)

    def _read_recording(self, task_id: str) -> Recorded | None:
        reading = self._attached[task_id].recording
        if reading is None:
            return None
        try:
            found = run_with_timeout(RECORDING_TIMEOUT, reading)
        except Exception as error:  # noqa: BLE001 - a checkpoint is made in any case
            words = "the recording of %s cannot be read: %s"
            logger.warning(words, task_id, error_words(error))
            return None
        if found is None:
            words = "the recording of %s takes more than %g s"
            logger.warning(words, task_id, RECORDING_TIMEOUT)
        return found

    def _role(self, task_id: str) -> roles.Role | None:
        name = self._plans[task_id].role
        return roles.role(name, self._roles) if name else None

    def _source(self, task_id: str, recorded: Recorded | None) -> CheckpointSource:
        return checkpoint_source(recorded, self._plans[task_id].goal, self._role(task_id))

    def _existing_checkpoint(self, task_id: str, pending: Pending) -> ContextCheckpoint | None:
        """The checkpoint that was already made for this crossing; for a failure the newest
        valid one."""
        if pending.error:
            names = self.manager.task(task_id).checkpoints[::-1]
        else:
            at = datetime.fromisoformat(pending.at)
            names = (checkpoint_id(task_id, pending.provider, pending.capacity, at),)
        found = (self._load_valid(name) for name in names)
        return next((c for c in found if c is not None), None)

    def _load_valid(self, name: str) -> ContextCheckpoint | None:
        try:
            stored = self.store.load("checkpoint", name)
            return None if stored is None else validated(stored.document)
        except StateError as error:
            logger.warning("a checkpoint is left aside: %s", Redactor().text(str(error)))
            return None

    def _new_checkpoint(
        self, task_id: str, pending: Pending, recorded: Recorded | None, role: roles.Role | None
    ) -> ContextCheckpoint:
        plan = self._plans[task_id]
        budget = self.manager.task(task_id).budgets[pending.provider]
        capacity: Any = pending.capacity or nearest(budget)
        at = datetime.fromisoformat(pending.at)
        if recorded is None:
            return from_budget(budget, capacity, at, goal=plan.goal)
        return from_summary(
            recorded.summary,
            recorded.messages,
            budget=budget,
            capacity=capacity,
            at=at,
            goal=plan.goal,
            role=role,
            git_diff=self._diff(plan.directory, role.files_to_track if role else ()),
            history_lines=self._options.context_dump.max_history_lines,
        )

    def _decide(
        self, task_id: str, pending: Pending, need: int, growth: int, role: roles.Role | None
    ) -> Decision:
        name, task = pending.provider, self.manager.task(task_id)
        if not self._options.handoff.enabled:
            return Decision("continue", name, reason="handoffs are switched off")
        budget = task.budgets[name]
        used = {n: b.tokens_consumed for n, b in task.budgets.items()}
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
                growth=growth or self._plans.growth(task_id, name),
                others=others,
                role=role,
                handoffs=task.handoffs,
                helper=self.helper,
                force=self._options.handoff.force_at_98_percent,
            )
        )

    def _save(self, checkpoint: ContextCheckpoint, payload: dumps.ContextDumpPayload) -> str:
        name, text = checkpoint.checkpoint_id, f"{payload.project_md.text}\n"
        return self.store.save("checkpoint", name, checkpoint.to_dict(), text=text)

    def _record(self, checkpoint: ContextCheckpoint) -> None:
        # Repeated after a kill: it may be there already.
        c = checkpoint
        if c.checkpoint_id not in self.manager.task(c.task_id).checkpoints:
            capacity, reason = c.capacity_threshold, c.reason
            self.manager.record_checkpoint(c.task_id, c.checkpoint_id, capacity, reason)
            self._plans.save(c.task_id)

    def _note_progress(self, task_id: str, source: CheckpointSource) -> None:
        plan = self._plans[task_id]
        if plan.pending[0].handoffs is not None:  # it is being handed over already
            return
        before = plan.reached if plan.session == source.session else TaskProgress()
        if self.manager.task(task_id).handoffs and source.reached.is_ahead_of(before):
            self.manager.record_progress(task_id)
        self._plans.change(task_id, session=source.session, reached=source.reached)

    def _hand_over(self, task_id: str, decision: Decision, name: str) -> None:
        """Carries out the decision. Repeated after a kill, it still counts the handoff once."""
        if decision.type == "fallback":
            self._plans.change(task_id, staged=decision.provider)
        if decision.type == "stop":
            self.manager.record_stop(task_id, name)
            self._plans.change(task_id, status="stopped")
        if not decision.now or decision.type == "stop":
            return
        task, head = self.manager.task(task_id), self._plans[task_id].pending[0]
        if head.handoffs is None:
            head = self._plans.change_head(task_id, handoffs=task.handoffs)
            self._plans.save(task_id)
        after = decision.provider or HELPER
        if task.handoffs == head.handoffs:
            self.manager.record_handoff(task_id, after, decision.reason, name)
            if self._options.logging.log_handoffs:
                line = handoff_log_line(task_id, head.provider, after, name)
                logger.warning("%s", Redactor().text(line))
        if decision.fresh:
            self.manager.empty_task(task_id)
        elif decision.provider:
            total = self.providers.get(decision.provider)
            self.manager.set_task_budget(task_id, decision.provider, total)
        self._plans.change(task_id, staged="")


def nearest(budget: TaskTokenBudget) -> Capacity:
    """The highest capacity that a budget has reached; "90" if none."""
    reached: tuple[Capacity, ...] = ("98", "95")
    return next((c for c in reached if budget.percent_used >= int(c)), "90")


def _saved_decision(checkpoint: ContextCheckpoint) -> Decision:
    action = checkpoint.next_action
    provider = action.next_provider or ""
    return Decision(
        action.type,
        provider,
        action.type == "force_handoff" and provider == checkpoint.provider_name,
        action.next_role or "",
        action.handoff_instruction or "",
    )
