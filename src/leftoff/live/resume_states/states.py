"""Tracks, saves, loads, assesses and cleans up resume states of running workflows.

    manager = FileResumeStateManager(store_for(settings))
    workflow = manager.begin("plan.md", content)
    with manager.tracking(workflow, "build", {"target": "all"}) as call:
        call.result = build("all")

All methods are thread-safe. Processes that track the same workflow at the same time overwrite
each other: the last save wins."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from leftoff import codec
from leftoff.errors import StateError, UsageError
from leftoff.handover.compatibility import (
    Compatibility,
    Limits,
    Workspace,
    assess,
    without_state,
)
from leftoff.handover.resume_state import running_workflow
from leftoff.handover.resume_state.document import (
    ChatMessage,
    CompletedTool,
    ResumeState,
    WorkflowExecutionContext,
    execution_context,
    needs_value,
)
from leftoff.handover.resume_state.from_summary import workflow_id, workflow_name
from leftoff.live.resume_states.tracking import TrackedCall, tracked
from leftoff.live.tasks import Clock, now
from leftoff.model import Issue
from leftoff.redaction.redactor import Redactor
from leftoff.settings import Settings, load_here
from leftoff.stores.atomic import write_atomic
from leftoff.stores.files import FileStore, stores_for
from leftoff.stores.locked_file import state_errors
from leftoff.stores.protocol import Entry, Store, list_together, load_first
from leftoff.stores.retention import Retention, prune
from leftoff.workspace import inspect_workspace

KIND = "resume_state"
# The file beside the states that records the last cleanup.
CLEANUP = "cleanup_metadata.json"
# The folder of dotnet-prompt's states (seed 004). They are written only if `storage_location`
# names this folder.
DOTNET_PROMPT_FOLDER = ".dotnet-prompt/resume"
P = ParamSpec("P")
T = TypeVar("T")


def in_thread(method: Callable[P, T]) -> Callable[P, Coroutine[object, object, T]]:
    """A method to be awaited: it runs in a thread."""

    @functools.wraps(method)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    awaited.__name__ = f"{method.__name__}_async"
    awaited.__doc__ = f"`{method.__name__}`, in a thread."
    return awaited


class Found(Struct, frozen=True):
    """A loaded state. `issues` are the defects of its file."""

    state: ResumeState
    where: str
    issues: tuple[Issue, ...] = ()


class Available(Struct, frozen=True):
    """A short description of a workflow that can be resumed."""

    workflow_id: str
    workflow_file_path: str = ""
    last_activity: str = ""
    current_phase: str = ""
    tools_completed: int = 0  # successful tool calls, also those left out of the state
    completed: bool = False
    where: str = ""
    problem: str = ""  # why it cannot be read; "" if it can


class Cleaned(Struct, frozen=True):
    """The result of a cleanup: removed ids, and the number of states that stay (`kept`)."""

    removed: tuple[str, ...]
    kept: int


class _RunningWorkflow(Struct):
    """A workflow that this process tracks; `unsaved` is the number of unsaved calls."""

    state: ResumeState
    unsaved: int = 0
    lock: Any = field(default_factory=threading.RLock)


class FileResumeStateManager:
    """Saves resume states in a store; by default in the files that the settings name.

    Args:
        settings: how often a running workflow is saved, and the retention of states; those in
            force here (`load_here`) if None.
        session_id: the name under which calls without a workflow are saved.
        limits: thresholds of the compatibility verdicts; those of the settings if None.
        clock: returns the current time, with its zone."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        settings: Settings | None = None,
        session_id: str = "",
        limits: Limits | None = None,
        clock: Clock = now,
    ) -> None:
        self.settings = settings or load_here().settings
        self._stores: tuple[Store, ...] = (
            (store,) if store else stores_for(self.settings, ".", KIND, DOTNET_PROMPT_FOLDER)
        )
        self.store = self._stores[0]
        resume = asdict(self.settings.resume)
        known = {name: resume[name] for name in Limits.__struct_fields__ if name in resume}
        self.limits = limits or Limits(**known)
        self._clock = clock
        self._session = session_id
        self._session_workflow_id = ""
        self._workflows: dict[str, _RunningWorkflow] = {}
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
        variables: Mapping[str, object] | None = None,
    ) -> str:
        """Starts tracking a workflow; returns its id. Nothing is saved yet.

        Args:
            workflow_file, content: its file and the file's content, raw.
            name: by default that of the file.
            tools: names of the available tools.
            variables: the variables of the run."""
        now = self._now()
        named = name or workflow_name(workflow_file) or "session"
        key = f"{workflow_file}\n{content}\n{now}"
        state = ResumeState(
            workflow_id=workflow_id(named, now, key),
            workflow_file_path=workflow_file,
            original_workflow_hash=running_workflow.content_hash(content) if content else "",
            original_workflow_content=content,
            start_time=now,
            available_tools=None if tools is None else tuple(tools),
            workflow_variables=running_workflow.plain_values(variables or {}),
        )
        return self._start(state).state.workflow_id

    def _start(self, state: ResumeState) -> _RunningWorkflow:
        if not state.last_activity:
            state = replace(state, last_activity=state.start_time)
        with self._lock:
            running = self._workflows[state.workflow_id] = _RunningWorkflow(state)
        return running

    def session_workflow(self) -> str:
        """The id of the workflow of calls without a workflow id: this session."""
        with self._lock:
            if not self._session_workflow_id:
                self._session_workflow_id = self.begin(name=self._session)
            return self._session_workflow_id

    def _running(self, workflow: str | None) -> _RunningWorkflow:
        identity = workflow or self.session_workflow()
        with self._lock:
            if identity in self._workflows:
                return self._workflows[identity]
            found = self.load(identity)
            new = ResumeState(workflow_id=identity, start_time=self._now())
            return self._start(found.state if found else new)

    def track_completed_tool(self, workflow: str | None, tool: CompletedTool) -> None:
        """Adds a finished tool call, and saves the workflow at every `checkpoint_frequency`-th
        call.

        Args:
            workflow: its id; None or "" for the session itself.

        Raises:
            StateError: saving was due and the store failed; the call stays in memory."""
        running = self._running(workflow)
        with running.lock:
            running.state = replace(
                running_workflow.with_tool(running.state, tool), last_activity=self._now()
            )
            running.unsaved += 1
            if running.unsaved >= self.settings.resume.checkpoint_frequency:
                self._save(running)

    def checkpoint(self, workflow: str | None = None) -> str:
        """Saves a running workflow now; returns the place."""
        running = self._running(workflow)
        with running.lock:
            return self._save(running)

    def save_resume_state(
        self,
        workflow: str | None,
        context: WorkflowExecutionContext,
        chat_history: Sequence[ChatMessage] = (),
    ) -> str:
        """Saves a workflow with its variables, steps and conversation; returns the place.

        Phase, strategy and insights are derived from the conversation, unless the variables
        `current_phase` and `current_strategy` give them. Steps that were already tracked as
        tools are not added twice.

        Raises:
            StateError: the store fails."""
        running = self._running(workflow)
        with running.lock:
            state = running_workflow.with_context(running.state, context, self._now())
            state = running_workflow.with_conversation(state, tuple(chat_history))
            running.state = replace(state, last_activity=self._now())
            return self._save(running)

    def save(self, state: ResumeState) -> str:
        """Saves a state as it is, within the bounds; returns the place.

        Raises:
            NotPlainName: its id is not one safe path component.
            StateError: the store fails."""
        running = _RunningWorkflow(state)
        with self._lock:
            self._workflows.pop(state.workflow_id, None)
        return self._save(running)

    def complete(self, workflow: str) -> None:
        """Marks a workflow as completed: the next cleanup may remove it."""
        running = self._running(workflow)
        with running.lock:
            running.state = replace(running.state, completed=True)
            self._save(running)

    def _save(self, running: _RunningWorkflow) -> str:
        state = running_workflow.optimize_for_storage(running.state)
        # Redacted here, too, so that needs_value can name the variables with redacted values.
        safe = ResumeState.from_dict(Redactor().value(codec.to_valid_json(state.to_dict())))
        safe = replace(safe, needs_value=needs_value(safe))
        where = self.store.save(KIND, state.workflow_id, safe.to_dict())
        running.unsaved = 0  # memory holds the unbounded state, so that bounds apply once
        return where

    # -- loading ---------------------------------------------------------------------------

    def load(self, workflow: str) -> Found | None:
        """Loads the saved state of a workflow; None if there is none.

        Raises:
            StateError: it and its backup are damaged; both files stay."""
        stored = load_first(self._stores, KIND, workflow)
        if stored is None:
            return None
        try:
            state = ResumeState.from_dict(stored.document)
        except StateError as error:
            raise StateError(f"{stored.where}: {error}") from error
        state = replace(
            state, workflow_id=state.workflow_id or workflow, needs_value=needs_value(state)
        )
        return Found(state, stored.where, stored.issues)

    def load_resume_state(
        self, workflow: str
    ) -> tuple[WorkflowExecutionContext, tuple[ChatMessage, ...]] | None:
        """The saved context and conversation of a workflow, see `load`; None if nothing is
        saved."""
        found = self.load(workflow)
        return (execution_context(found.state), found.state.chat_history) if found else None

    def list_available_workflows(self) -> tuple[Available, ...]:
        """Every saved workflow, most recently active first, damaged ones last."""
        listed = [self._available(entry) for entry in list_together(self._stores, KIND)]
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
            sum(tool.success for tool in state.completed_tools)
            + state.dropped.get("completed_tools", 0),
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
        """Whether a saved workflow can be resumed; score 0 if nothing is saved of it.

        Args:
            current_workflow_content: its file's present content, raw; by default it is read.
            workspace: the present state of files and git; inspected if None.

        Raises:
            StateError: as for `load`."""
        found = self.load(workflow)
        if found is None:
            return without_state(workflow)
        world = workspace or inspect_workspace(found.state)
        if current_workflow_content is not None:
            world = replace(world, content=current_workflow_content)
        return assess(found.state, world, limits=self.limits, force=force)

    def cleanup_old_resume_files(self, retention_days: float | None = None) -> int:
        """Removes states of completed workflows and states older than `retention_days`; returns
        how many.

        Pinned and damaged states stay. The result is recorded in a file beside the states."""
        return len(self.clean_up(retention_days).removed)

    def clean_up(
        self, retention_days: float | None = None, *, dry_run: bool = False
    ) -> Cleaned:
        """As `cleanup_old_resume_files`, with the ids; `dry_run` removes nothing."""
        days = self.settings.resume.retention_days if retention_days is None else retention_days
        now = self._clock()
        done = prune(
            self.store,
            KIND,
            Retention(days=days),
            now=now.timestamp(),
            dry_run=dry_run,
            finished=lambda entry: self._available(entry).completed,
        )
        result = Cleaned(tuple(sorted(entry.id for entry in done.removed)), len(done.kept))
        if not dry_run:
            with self._lock:
                for identity in result.removed:
                    self._workflows.pop(identity, None)
            self._write_cleanup_metadata(result, now)
        return result

    def _write_cleanup_metadata(self, done: Cleaned, now: datetime) -> None:
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
        with state_errors(f"{len(done.removed)} states were removed; {folder / CLEANUP}"):
            write_atomic(folder / CLEANUP, codec.dumps(Redactor().value(value), indent=2))

    # -- capturing calls -------------------------------------------------------------------

    def tracking(
        self,
        workflow: str | None,
        name: str,
        parameters: Mapping[str, object] | None = None,
        *,
        reasoning: str | None = None,
    ) -> TrackedCall:
        """A context manager around one call: its result, or its error, which propagates, is
        tracked; if that fails, it is logged and the call is not affected."""
        return TrackedCall(self, workflow, name, parameters, reasoning=reasoning)

    tracked = tracked

    # -- the same, awaited -----------------------------------------------------------------

    save_resume_state_async = in_thread(save_resume_state)
    load_resume_state_async = in_thread(load_resume_state)
    track_completed_tool_async = in_thread(track_completed_tool)
    list_available_workflows_async = in_thread(list_available_workflows)
    cleanup_old_resume_files_async = in_thread(cleanup_old_resume_files)
    validate_resume_compatibility_async = in_thread(validate_resume_compatibility)
