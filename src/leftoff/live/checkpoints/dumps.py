"""Writes the markdown sections of a checkpoint: generated ones first, then the agent's dump."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from leftoff.errors import StateError
from leftoff.handover.checkpoint import dumps, file_names
from leftoff.handover.checkpoint.document import ContextCheckpoint, DumpOutputs
from leftoff.handover.checkpoint.roles import Role
from leftoff.live.checkpoints.agents import Answer
from leftoff.live.checkpoints.files import Sandbox
from leftoff.live.checkpoints.plans import LateDump, Plan, Plans
from leftoff.live.checkpoints.recorded import CheckpointSource
from leftoff.live.tasks import Clock
from leftoff.live.telemetry import logger
from leftoff.redaction.redactor import Redactor

# No dump of an agent: the sections are generated.
NO_ANSWER = Answer()


class DumpResult(Struct, frozen=True):
    """A checkpoint whose sections are written: by whom, "agent" or "leftoff", and why the
    agent's dump was not used; "" if it was, or no agent was asked."""

    checkpoint: ContextCheckpoint
    told_by: str = "leftoff"
    why: str = ""


class DumpWriter:
    """Writes sections and requests dumps."""

    def __init__(self, plans: Plans, clock: Clock) -> None:
        self._plans, self._clock = plans, clock
        self._manager = plans.manager

    @property
    def enabled(self) -> bool:
        """Whether the settings enable markdown."""
        dump = self._manager.settings.token_budget.context_dump
        return dump.enabled and dump.markdown_update

    def payload(
        self,
        checkpoint: ContextCheckpoint,
        source: CheckpointSource,
        answer: Answer = NO_ANSWER,
    ) -> dumps.ContextDumpPayload:
        """The sections of a checkpoint, from an agent's dump or generated."""
        plan = self._plans[checkpoint.task_id]
        return build_payload(checkpoint, source, plan.project, plan.specific, answer=answer)

    def write(self, checkpoint: ContextCheckpoint, payload: dumps.ContextDumpPayload) -> str:
        """Writes the sections into their files; returns the error, "" if there is none."""
        try:
            write_sections(self._sandbox(self._plans[checkpoint.task_id]), checkpoint, payload)
        except StateError as error:
            why = Redactor().text(str(error))
            logger.error("no markdown: %s", why)
            return why
        return ""

    @staticmethod
    def _sandbox(plan: Plan) -> Sandbox:
        return Sandbox(Path(plan.directory), plan.project)

    def asked(
        self,
        checkpoint: ContextCheckpoint,
        source: CheckpointSource,
        ask: Callable[[str, float], Answer],
        role: Role | None,
    ) -> DumpResult:
        """Asks the agent of a task for its dump and uses it if it is valid.

        Args:
            ask: takes the instruction and the seconds to wait for an answer.
        """
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
            return DumpResult(checkpoint, why=str(error))
        self._plans.change_head(task_id, asked=True, before=before)
        self._plans.save(task_id)
        self._manager.request_dump(task_id, paths, "sent")
        handoff = self._manager.settings.token_budget.handoff
        forced = capacity == "98" and handoff.force_at_98_percent
        seconds = 0.0 if forced else handoff.timeout_ms / 1000
        answer = ask(Redactor().text(instruction), seconds)
        if not forced:
            return self.accept(checkpoint, source, before, answer)
        late = LateDump(checkpoint.checkpoint_id, before)
        self._plans.change(task_id, late=late)
        return DumpResult(checkpoint, why=answer.why)

    @staticmethod
    def _paths(plan: Plan, capacity: str) -> Sequence[str]:
        project, specific = file_names.dump_paths(plan.project, plan.specific)
        return [project] if capacity == "98" else [project, specific]

    def accept(
        self,
        checkpoint: ContextCheckpoint,
        source: CheckpointSource,
        before: Mapping[str, str],
        answer: Answer,
    ) -> DumpResult:
        """Uses what an agent returned or wrote into the files, if it is a valid dump; `before`
        is what they held when it was asked. An invalid dump is removed from the files; the
        generated section stays."""
        capacity = checkpoint.capacity_threshold
        plan = self._plans[checkpoint.task_id]
        found: dict[str, str] = {}
        changes = {
            name: _extracting(name, text, dumps.section_key(checkpoint), capacity, found)
            for name, text in before.items()
        }
        try:
            self._sandbox(plan).update(changes)
        except StateError as error:
            return DumpResult(checkpoint, why=str(error))
        wrote = Answer(
            answer.project or found.get(f"{file_names.PROJECT}.md", ""),
            answer.specific or found.get(f"{plan.specific}.md", ""),
        )
        why = answer.why or "it wrote nothing"
        if wrote.project:
            why = dumps.rejection_reason(wrote.project, capacity)
        if wrote.specific and dumps.rejection_reason(wrote.specific, capacity):
            wrote = replace(wrote, specific="")
        paths = self._paths(plan, capacity)
        if why:
            self._manager.request_dump(plan.task_id, paths, f"ours stays: {why}")
            return DumpResult(checkpoint, why=why)
        payload = self.payload(checkpoint, source, wrote)
        checkpoint = checkpoint.with_outputs(outputs(payload, self._clock().isoformat()))
        self.write(checkpoint, payload)
        self._manager.request_dump(plan.task_id, paths, "written")
        return DumpResult(checkpoint, "agent")


def _extracting(
    name: str, before: str, key: str, capacity: str, found: dict[str, str]
) -> Callable[[str], str]:
    def change(after: str) -> str:
        found[name], rest = dumps.extract_dump(before, after, key, capacity)
        return rest

    return change


def build_payload(
    checkpoint: ContextCheckpoint,
    source: CheckpointSource,
    project: str,
    specific: str,
    *,
    answer: Answer = NO_ANSWER,
    note: str = "",
) -> dumps.ContextDumpPayload:
    """The sections of a checkpoint, from an agent's dump or generated; `project` and
    `specific` name their files, see `Plan`."""
    paths = file_names.dump_paths(project, specific)
    return dumps.build_payload(
        checkpoint,
        source.facts,
        project_path=paths[0],
        specific_path=paths[1],
        checks=source.checks,
        written=answer.project,
        details=answer.specific,
        note=note,
    )


def write_sections(
    sandbox: Sandbox, checkpoint: ContextCheckpoint, payload: dumps.ContextDumpPayload
) -> None:
    """Writes the sections of a checkpoint into their files; `StateError` where that fails."""
    gate, key = Redactor(personal=True), dumps.section_key(checkpoint)
    sandbox.update(
        {
            Path(page.path).name: partial(
                dumps.replace_section, key=key, section=gate.text(page.text)
            )
            for page in payload.pages
        }
    )


def outputs(payload: dumps.ContextDumpPayload, stamp: str) -> DumpOutputs:
    """The record of the sections for the checkpoint."""
    return DumpOutputs(
        project_md_updated=payload.project_md.path,
        specific_md_updated=payload.specific_project_md.path,
        dump_timestamp=stamp,
        dump_size_bytes=sum(len(f"{page.text}\n".encode()) for page in payload.pages),
    )
