"""The markdown of a checkpoint: ours first, then the agent's where it wrote a dump."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from leftoff.errors import StateError
from leftoff.handover.checkpoint import dumps, file_names
from leftoff.handover.checkpoint.document import ContextCheckpoint, DumpOutputs
from leftoff.handover.checkpoint.roles import Role
from leftoff.live.checkpoints.agents import Agent, Answer
from leftoff.live.checkpoints.files import Sandbox
from leftoff.live.checkpoints.plans import Late, Plan, Plans
from leftoff.live.checkpoints.recorded import Told
from leftoff.live.telemetry import logger
from leftoff.redaction.redactor import Redactor

OURS = Answer()
"""No words of an agent: the sections are told by us."""


class Ask(Struct, frozen=True):
    """A wish to the driver of the steps: ask this agent and send back its `Answer`."""

    agent: Agent
    instruction: str
    seconds: float


class Dumped(Struct, frozen=True):
    """What stands in the sections of a checkpoint.

    Attributes:
        told_by: "agent" or "leftoff".
        why: why the agent's words were not taken, "" if they were or nobody was asked.
    """

    checkpoint: ContextCheckpoint
    told_by: str = "leftoff"
    why: str = ""


Asking: TypeAlias = Generator[Ask, Answer, Dumped]


class Dumping:
    """Writes sections and asks for dumps.

    Args:
        plans: of the tasks.
        clock: gives the time now, with its zone.
    """

    def __init__(self, plans: Plans, clock: Callable[[], datetime]) -> None:
        self._plans, self._clock = plans, clock
        self._manager = plans.manager

    @property
    def enabled(self) -> bool:
        """Whether markdown is written at all."""
        dump = self._manager.settings.token_budget.context_dump
        return dump.enabled and dump.markdown_update

    def payload(
        self, checkpoint: ContextCheckpoint, told: Told, answer: Answer = OURS
    ) -> dumps.ContextDumpPayload:
        """The sections of a checkpoint, with the words of an agent or ours."""
        plan = self._plans[checkpoint.task_id]
        project, specific = file_names.paths(plan.project, plan.specific)
        return dumps.payload(
            checkpoint,
            told.facts,
            project_path=project,
            specific_path=specific,
            checks=told.checks,
            written=answer.project,
            details=answer.specific,
        )

    def write(self, checkpoint: ContextCheckpoint, payload: dumps.ContextDumpPayload) -> str:
        """Puts the sections into their files; why not, where they cannot be written."""
        gate = Redactor(personal=True)
        key = dumps.key_of(checkpoint)
        changes: dict[str, Callable[[str], str]] = {}
        for page in (payload.project_md, payload.specific_project_md):
            if page.section:
                text = gate.text(f"{page.section}\n{page.content}")
                changes[Path(page.path).name] = _putting(key, text)
        try:
            self._sandbox(self._plans[checkpoint.task_id]).update(changes)
        except StateError as error:
            why = Redactor().text(str(error))
            logger.error("no markdown: %s", why)
            return why
        return ""

    @staticmethod
    def _sandbox(plan: Plan) -> Sandbox:
        return Sandbox(Path(plan.directory), plan.project)

    def asked(
        self, checkpoint: ContextCheckpoint, told: Told, agent: Agent, role: Role | None
    ) -> Asking:
        """Asks the agent of a task for its dump and takes it if it is one."""
        task_id, capacity = checkpoint.task_id, checkpoint.capacity_threshold
        plan = self._plans[task_id]
        paths = self._paths(plan, capacity)
        threshold = next(t for t in self._plans.thresholds.values() if t.capacity == capacity)
        names = {"project": file_names.PROJECT, "specific_project": plan.specific}
        asks = threshold.asks
        for name, value in names.items():
            asks = asks.replace("{" + name + "}", value)
        instruction = dumps.instruction(checkpoint, asks, paths, role)
        try:
            before = self._sandbox(plan).read([Path(p).name for p in paths])
        except StateError as error:
            return Dumped(checkpoint, why=str(error))
        self._plans.change_head(task_id, asked=True, before=before)
        self._plans.keep(task_id)
        self._manager.request_dump(task_id, paths, "sent")
        handoff = self._manager.settings.token_budget.handoff
        forced = capacity == "98" and handoff.force_at_98_percent
        seconds = 0.0 if forced else handoff.timeout_ms / 1000
        answer = yield Ask(agent, Redactor().text(instruction), seconds)
        if not forced:
            return self.taken(checkpoint, told, before, answer)
        late = Late(checkpoint.checkpoint_id, before)
        self._plans.change(task_id, late=late)
        return Dumped(checkpoint, why=answer.why)

    @staticmethod
    def _paths(plan: Plan, capacity: str) -> Sequence[str]:
        project, specific = file_names.paths(plan.project, plan.specific)
        return [project] if capacity == "98" else [project, specific]

    def taken(
        self,
        checkpoint: ContextCheckpoint,
        told: Told,
        before: Mapping[str, str],
        answer: Answer,
    ) -> Dumped:
        """Takes what an agent gave back or wrote into the files, if it is a dump.

        What is none is taken out of the files again; our own section stays.

        Args:
            before: the files as they were when the agent was asked.
        """
        capacity = checkpoint.capacity_threshold
        plan = self._plans[checkpoint.task_id]
        found: dict[str, str] = {}
        changes = {
            name: _finding(name, text, dumps.key_of(checkpoint), capacity, found)
            for name, text in before.items()
        }
        try:
            self._sandbox(plan).update(changes)
        except StateError as error:
            return Dumped(checkpoint, why=str(error))
        wrote = Answer(
            answer.project or found.get(f"{file_names.PROJECT}.md", ""),
            answer.specific or found.get(f"{plan.specific}.md", ""),
        )
        why = answer.why or "it wrote nothing"
        if wrote.project:
            why = dumps.rubbish(wrote.project, capacity)
        if wrote.specific and dumps.rubbish(wrote.specific, capacity):
            wrote = replace(wrote, specific="")
        paths = self._paths(plan, capacity)
        if why:
            self._manager.request_dump(plan.task_id, paths, f"kept ours: {why}")
            return Dumped(checkpoint, why=why)
        payload = self.payload(checkpoint, told, wrote)
        checkpoint = checkpoint.dumped(outputs(payload, self._clock().isoformat()))
        self.write(checkpoint, payload)
        self._manager.request_dump(plan.task_id, paths, "written")
        return Dumped(checkpoint, "agent")


def _putting(key: str, text: str) -> Callable[[str], str]:
    return lambda document: dumps.put(document, key, text)


def _finding(
    name: str, before: str, key: str, capacity: str, found: dict[str, str]
) -> Callable[[str], str]:
    """A change that takes an agent's dump out of a file and puts it into `found`."""

    def change(after: str) -> str:
        found[name], rest = dumps.found_in(before, after, key, capacity)
        return rest

    return change


def outputs(payload: dumps.ContextDumpPayload, stamp: str) -> DumpOutputs:
    """What a checkpoint says of its sections."""
    pages = [p for p in (payload.project_md, payload.specific_project_md) if p.section]
    return DumpOutputs(
        project_md_updated=payload.project_md.path,
        specific_md_updated=payload.specific_project_md.path,
        dump_timestamp=stamp,
        dump_size_bytes=sum(len(f"{p.section}\n{p.content}\n".encode()) for p in pages),
    )
