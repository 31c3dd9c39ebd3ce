"""Resume states of running workflows: tracked, saved, found again, judged and cleaned up.

    manager = FileResumeStateManager(store_for(settings))
    workflow = manager.begin("plan.md", content)
    with manager.tracking(workflow, "build", {"target": "all"}) as call:
        call.result = build("all")

Every method may be called from any thread. Two processes that track one workflow at once do not
add up: the one that saves last stands.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from leftoff import codec
from leftoff.errors import StateError, UsageError
from leftoff.handover.compatibility import (
    Compatibility,
    Limits,
    Workspace,
    assess,
    without_state,
)
from leftoff.handover.resume_state.document import (
    ChatMessage,
    CompletedTool,
    ResumeState,
    WorkflowExecutionContext,
    execution_context,
    finished,
    needs_value,
)
from leftoff.handover.resume_state.from_summary import workflow_id, workflow_name
from leftoff.handover.resume_state.limits import Bounds, optimize_for_storage
from leftoff.handover.resume_state.running_workflow import (
    content_hash,
    plain_values,
    with_context,
    with_conversation,
    with_tool,
)
from leftoff.live.resume_states.tracking import Tracked, Tracking
from leftoff.model import Issue
from leftoff.redaction.redactor import Redactor
from leftoff.settings import Settings
from leftoff.stores.atomic import write_whole
from leftoff.stores.files import FileStore, store_for
from leftoff.stores.protocol import Entry, Keeping, Store
from leftoff.workspace import look

KIND = "resume_state"

CLEANUP = "cleanup_metadata.json"
"""What the last cleanup did, beside the states."""

DESIGNED = ".dotnet-prompt/resume"
"""Where the original design keeps its states; they are read, never written, unless
`storage_location` names the place."""


class Found(Struct, frozen=True):
    """A state as it was kept. `issues` tell what its file had wrong."""

    state: ResumeState
    where: str
    issues: tuple[Issue, ...] = ()


class Available(Struct, frozen=True):
    """A workflow that can be resumed, in short.

    Attributes:
        tools_completed: how many calls of tools succeeded, those no longer kept left out.
        problem: why it cannot be read; "" if it can.
    """

    workflow_id: str
    workflow_file_path: str = ""
    last_activity: str = ""
    current_phase: str = ""
    tools_completed: int = 0
    completed: bool = False
    where: str = ""
    problem: str = ""


class Cleaned(Struct, frozen=True):
    """What a cleanup did."""

    removed: tuple[str, ...]
    kept: int


class _Live(Struct):
    """A workflow that this process works on; `waiting` calls are not saved yet."""

    state: ResumeState
    waiting: int = 0
    lock: Any = field(default_factory=threading.RLock)


class FileResumeStateManager:
    """Keeps resume states in a store; by default in the files that the settings name.

    Args:
        store: where they are kept.
        settings: how often a running workflow is saved, how long states are kept; the
            defaults if None.
        session_id: what calls without a workflow are kept under; by default the time.
        bounds: how much of a state is kept.
        limits: where the verdicts of compatibility begin; those of the settings if None.
        clock: gives the time now, with its zone.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        settings: Settings | None = None,
        session_id: str = "",
        bounds: Bounds | None = None,
        limits: Limits | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings or Settings()
        self.store, self._others = (store, ()) if store else _stores(self.settings)
        self.bounds = bounds or Bounds()
        self.limits = limits or _limits(self.settings)
        self._clock = clock
        self._session = session_id
        self._own = ""
        self._live: dict[str, _Live] = {}
        self._lock = threading.RLock()

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="milliseconds")

    # -- running workflows -----------------------------------------------------------------

    def begin(
        self,
        workflow_file: str = "",
        content: str = "",
        *,
        name: str = "",
        tools: Iterable[str] | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> str:
        """Starts a workflow; gives its id. Nothing is saved yet.

        Args:
            workflow_file, content: its file and what it holds, raw.
            name: by default that of the file.
            tools: names of the tools that there are.
            variables: what the run knows.
        """
        now = self._now()
        named = name or workflow_name(workflow_file) or "session"
        key = f"{workflow_file}\n{content}\n{now}"
        state = ResumeState(
            workflow_id=workflow_id(named, now, key),
            workflow_file_path=workflow_file,
            original_workflow_hash=content_hash(content) if content else "",
            original_workflow_content=content,
            start_time=now,
            last_activity=now,
            available_tools=None if tools is None else tuple(tools),
            workflow_variables=plain_values(variables or {}),
        )
        with self._lock:
            self._live[state.workflow_id] = _Live(state)
        return state.workflow_id

    def session_workflow(self) -> str:
        """The workflow that calls without one belong to: this session."""
        with self._lock:
            if not self._own:
                now = self._now()
                name = self._session or "session"
                self._own = workflow_id(name, now, f"{name}\n{now}")
                state = ResumeState(workflow_id=self._own, start_time=now, last_activity=now)
                self._live[self._own] = _Live(state)
            return self._own

    def _running(self, workflow: str | None) -> _Live:
        """The workflow in memory; what is saved of it is loaded first."""
        identity = workflow or self.session_workflow()
        with self._lock:
            live = self._live.get(identity)
            if live is None:
                found = self.load(identity)
                now = self._now()
                state = found.state if found else None
                live = _Live(
                    state
                    or ResumeState(workflow_id=identity, start_time=now, last_activity=now)
                )
                self._live[identity] = live
            return live

    def track_completed_tool(self, workflow: str | None, tool: CompletedTool) -> None:
        """Takes in a call that came back, and saves the workflow at every
        `checkpoint_frequency`-th one.

        Args:
            workflow: its id; None or "" for the session itself.

        Raises:
            StateError: it is time to save, and the store fails; the call is remembered.
        """
        live = self._running(workflow)
        with live.lock:
            live.state = replace(with_tool(live.state, tool), last_activity=self._now())
            live.waiting += 1
            if live.waiting >= self.settings.resume.checkpoint_frequency:
                self._save(live)

    def checkpoint(self, workflow: str | None = None) -> str:
        """Saves a running workflow now; says where."""
        live = self._running(workflow)
        with live.lock:
            return self._save(live)

    def save_resume_state(
        self,
        workflow: str | None,
        context: WorkflowExecutionContext,
        chat_history: Sequence[ChatMessage] = (),
    ) -> str:
        """Saves a workflow with its variables, steps and conversation; says where.

        Phase, strategy and insights come from the conversation unless variables of those names
        say them (`current_phase`, `current_strategy`). Steps that were tracked as tools are not
        taken twice.

        Raises:
            StateError: the store fails.
        """
        live = self._running(workflow)
        with live.lock:
            state = with_context(live.state, context, self._now())
            state = with_conversation(state, tuple(chat_history))
            live.state = replace(state, last_activity=self._now())
            return self._save(live)

    def save(self, state: ResumeState) -> str:
        """Saves a state as it is, within the bounds; says where.

        Raises:
            NotPlainName: its id is not one plain path component.
            StateError: the store fails.
        """
        live = _Live(state)
        with self._lock:
            self._live.pop(state.workflow_id, None)
        return self._save(live)

    def complete(self, workflow: str) -> None:
        """Marks a workflow as done: the next cleanup may remove it."""
        live = self._running(workflow)
        with live.lock:
            live.state = finished(live.state)
            self._save(live)

    def _save(self, live: _Live) -> str:
        state = optimize_for_storage(live.state, self.bounds)
        # Redacted here, too, so that the file can say which variables have to be given again.
        safe = ResumeState.from_dict(Redactor().value(codec.mended(state.to_dict())))
        safe = replace(safe, needs_value=needs_value(safe))
        where = self.store.save(KIND, state.workflow_id, safe.to_dict())
        live.waiting = 0  # in memory more is held than is kept, so that bounds are cut once
        return where

    # -- loading ---------------------------------------------------------------------------

    def load(self, workflow: str) -> Found | None:
        """The saved state of a workflow, None if there is none.

        Raises:
            StateError: it is damaged, and so is its backup; both files stay.
        """
        kept = self.store.load(KIND, workflow)
        for other in self._others:
            kept = kept or other.load(KIND, workflow)
        if kept is None:
            return None
        try:
            state = ResumeState.from_dict(kept.document)
        except StateError as error:
            raise StateError(f"{kept.where}: {error}") from error
        state = replace(
            state, workflow_id=state.workflow_id or workflow, needs_value=needs_value(state)
        )
        return Found(state, kept.where, kept.issues)

    def load_resume_state(
        self, workflow: str
    ) -> tuple[WorkflowExecutionContext, tuple[ChatMessage, ...]] | None:
        """Context and conversation with which a workflow goes on, None if nothing is saved.

        Raises:
            StateError: as for `load`.
        """
        found = self.load(workflow)
        return (
            None
            if found is None
            else (execution_context(found.state), found.state.chat_history)
        )

    def list_available_workflows(self) -> tuple[Available, ...]:
        """Every saved workflow, the one that was last active first; damaged ones last."""
        entries: dict[str, Entry] = {}
        for store in (self.store, *self._others):
            for entry in store.list(KIND):
                entries.setdefault(entry.id, entry)
        listed = [self._available(entry) for entry in entries.values()]
        return tuple(
            sorted(listed, key=lambda a: (not a.problem, a.last_activity), reverse=True)
        )

    def _available(self, entry: Entry) -> Available:
        try:
            found = self.load(entry.id)
        except (StateError, UsageError) as error:
            return Available(entry.id, where=entry.where, problem=str(error))
        if found is None:
            return Available(entry.id, where=entry.where, problem="it was removed meanwhile")
        state = found.state
        return Available(
            entry.id,
            state.workflow_file_path,
            state.last_activity,
            state.current_phase,
            sum(tool.success for tool in state.completed_tools),
            state.completed,
            found.where,
        )

    # -- judging and cleaning --------------------------------------------------------------

    def validate_resume_compatibility(
        self,
        workflow: str,
        current_workflow_content: str | None = None,
        *,
        workspace: Workspace | None = None,
        force: bool = False,
    ) -> Compatibility:
        """Whether a saved workflow still fits; score 0 if nothing is saved of it.

        Args:
            current_workflow_content: its file now, raw; by default the file is read.
            workspace: the world now; looked at if None.

        Raises:
            StateError: as for `load`.
        """
        found = self.load(workflow)
        if found is None:
            return without_state(workflow)
        world = workspace or look(found.state)
        if current_workflow_content is not None:
            world = replace(world, content=current_workflow_content)
        return assess(found.state, world, limits=self.limits, force=force)

    def cleanup_old_resume_files(self, retention_days: float | None = None) -> int:
        """Removes states of workflows that are done or older than their days; how many.

        Pinned and damaged ones stay. What was done is kept beside the states.
        """
        return len(self.clean_up(retention_days).removed)

    def clean_up(
        self, retention_days: float | None = None, *, dry_run: bool = False
    ) -> Cleaned:
        """As `cleanup_old_resume_files`, with the ids; `dry_run` removes nothing."""
        days = self.settings.resume.retention_days if retention_days is None else retention_days
        now = self._clock()
        oldest = now.timestamp() - days * 86_400
        removed: list[str] = []
        kept = 0
        for entry in self.store.list(KIND):
            old = entry.saved < oldest or self._available(entry).completed
            goes = old and entry.readable and not entry.pinned
            if goes and (dry_run or self._drop(entry)):
                removed.append(entry.id)
            else:
                kept += 1
        done = Cleaned(tuple(sorted(removed)), kept)
        if not dry_run:
            self._note(done, now)
        return done

    def _drop(self, entry: Entry) -> bool:
        with self._lock:
            self._live.pop(entry.id, None)
        if isinstance(self.store, Keeping):
            return self.store.drop(KIND, entry)
        return self.store.delete(KIND, entry.id)

    def _note(self, done: Cleaned, now: datetime) -> None:
        """Writes `cleanup_metadata.json` where the store has a folder."""
        if not isinstance(self.store, FileStore):
            return
        folder = self.store.folder(KIND)
        if not folder.is_dir():
            return
        value = {
            "last_run": now.astimezone(UTC).isoformat(timespec="seconds"),
            "removed": list(done.removed),
            "kept": done.kept,
        }
        try:
            write_whole(folder / CLEANUP, codec.dumps(Redactor().value(value), indent=2))
        except OSError as error:
            raise StateError(
                f"{folder / CLEANUP}: cannot be written ({error.strerror}); "
                f"{len(done.removed)} states were removed"
            ) from error

    # -- capturing calls -------------------------------------------------------------------

    def tracking(
        self,
        workflow: str | None,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        reasoning: str | None = None,
    ) -> Tracking:
        """A context manager around one call: its result, or its error, is tracked."""
        return Tracking(self, workflow, name, parameters, reasoning)

    def tracked(
        self, workflow: str | None = None, *, name: str = "", reasoning: str | None = None
    ) -> Tracked:
        """A decorator: every call of the function, sync or async, is tracked.

        Args:
            workflow: its id; by default the argument `workflow_id` of the call, else the
                session.
            name: of the tool; by default the function's.
            reasoning: why; by default the argument `reasoning` of the call.
        """
        return Tracked(self, workflow, name, reasoning)

    # -- the same, awaited -----------------------------------------------------------------

    async def save_resume_state_async(
        self,
        workflow: str | None,
        context: WorkflowExecutionContext,
        chat_history: Sequence[ChatMessage] = (),
    ) -> str:
        """`save_resume_state`, in a thread."""
        return await asyncio.to_thread(self.save_resume_state, workflow, context, chat_history)

    async def load_resume_state_async(
        self, workflow: str
    ) -> tuple[WorkflowExecutionContext, tuple[ChatMessage, ...]] | None:
        """`load_resume_state`, in a thread."""
        return await asyncio.to_thread(self.load_resume_state, workflow)

    async def track_completed_tool_async(
        self, workflow: str | None, tool: CompletedTool
    ) -> None:
        """`track_completed_tool`, in a thread."""
        await asyncio.to_thread(self.track_completed_tool, workflow, tool)

    async def list_available_workflows_async(self) -> tuple[Available, ...]:
        """`list_available_workflows`, in a thread."""
        return await asyncio.to_thread(self.list_available_workflows)

    async def cleanup_old_resume_files_async(self, retention_days: float | None = None) -> int:
        """`cleanup_old_resume_files`, in a thread."""
        return await asyncio.to_thread(self.cleanup_old_resume_files, retention_days)

    async def validate_resume_compatibility_async(
        self,
        workflow: str,
        current_workflow_content: str | None = None,
        *,
        workspace: Workspace | None = None,
    ) -> Compatibility:
        """`validate_resume_compatibility`, in a thread."""
        return await asyncio.to_thread(
            self.validate_resume_compatibility,
            workflow,
            current_workflow_content,
            workspace=workspace,
        )


def _limits(settings: Settings) -> Limits:
    resume = settings.resume
    return Limits(
        similar=resume.similarity_warning,
        alike=resume.similarity_reset,
        fits=resume.minimum_score,
        missing_tool=resume.missing_tool_factor,
    )


def _stores(settings: Settings) -> tuple[Store, tuple[Store, ...]]:
    """The files that the settings name, and the design's own place where there is one."""
    ours = store_for(settings)
    theirs = Path(DESIGNED)
    if not theirs.is_dir() or theirs.resolve() == ours.folder(KIND).resolve():
        return ours, ()
    return ours, (FileStore(ours.root, places={KIND: theirs}),)
