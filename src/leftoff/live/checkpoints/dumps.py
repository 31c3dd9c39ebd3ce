"""Writes the markdown sections of a checkpoint: generated ones first, then the agent's dump,
for which it is asked with a time limit."""

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from leftoff.errors import StateError
from leftoff.formats.lenient_json import text_of
from leftoff.handover.checkpoint import dumps, file_names
from leftoff.handover.checkpoint.document import ContextCheckpoint, DumpOutputs
from leftoff.handover.checkpoint.from_summary import CheckpointSource
from leftoff.live.checkpoints.plans import Agent, LateDump, Plan, RunningTask
from leftoff.live.telemetry import logged
from leftoff.redaction.redactor import Redactor
from leftoff.stores.atomic import Directory
from leftoff.stores.locked_file import state_errors

T = TypeVar("T")
# Maximum size in bytes of a markdown file that we change; a larger one is an error.
MAX_FILE_BYTES = 16 << 20


class Sandbox:
    """The folder `contexts/sandbox/{project}` of a task's directory. `NotPlainName` where the
    name could leave the sandbox.

    No component of it may be a link, so that nothing outside the directory is written. What
    reads or writes raises `StateError` where that fails or a file is not a regular one."""

    def __init__(self, directory: str | Path, project: str) -> None:
        self.directory, self.project = Path(directory), file_names.validate_name(project)

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """Reads files; "" for one that does not exist."""
        with self._open() as folder:
            return {name: _read_text(folder, name) for name in names}

    def update(self, changes: Mapping[str, Callable[[str], str]]) -> None:
        """Changes files under the folder's lock; what is written is redacted. `changes`: maps
        the old text to the new one, by file name; "" stands for no file."""
        with self._open() as folder, folder.lock(".leftoff.lock"):
            folder.remove_stale_temporaries()
            for name, change in changes.items():
                before = _read_text(folder, name)
                after = Redactor().text(change(before))
                if after != before:
                    folder.replace(name, after.encode("utf-8", "replace"))
            folder.fsync()

    def write_sections(
        self, checkpoint: ContextCheckpoint, payload: dumps.ContextDumpPayload
    ) -> None:
        """Writes the sections of a checkpoint; `StateError` where that fails."""
        gate, key = Redactor(personal=True), dumps.section_key(checkpoint)
        written = partial(dumps.replace_section, key=key)
        pages = {Path(page.path).name: gate.text(page.text) for page in payload.pages}
        self.update({name: partial(written, section=text) for name, text in pages.items()})

    @contextmanager
    def _open(self) -> Iterator[Directory]:
        below = f"{file_names.SANDBOX}/{self.project}"
        with (
            state_errors(f"{self.directory}/{below}"),
            Directory.open(self.directory, *below.split("/"), create=True) as folder,
        ):
            yield folder


def _read_text(folder: Directory, name: str) -> str:
    try:
        return folder.read(name, MAX_FILE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StateError(f"{folder.path / name}: {error.strerror or error}") from error


# -- asking an agent -------------------------------------------------------------------------


class Answer(Struct, frozen=True):
    """The dump of an agent for either file, or why there is none; "" if nothing failed."""

    project: str = ""
    specific: str = ""
    why: str = ""


def to_answer(given: object) -> Answer:
    """Converts the return value of an agent."""
    if isinstance(given, str):
        return Answer(given)
    if isinstance(given, Mapping):
        return Answer(text_of(given.get("project")), text_of(given.get("specific")))
    return Answer()


def ask(
    agent: Agent,
    instruction: str,
    seconds: float,
    loop: asyncio.AbstractEventLoop | None = None,
) -> Answer:
    """Calls an agent and waits at most `seconds`; with 0 it does not wait for an answer.

    A coroutine function runs on `loop`, from another thread than this one, and is cancelled at
    the timeout. Without a loop it runs in a thread, as any other agent, and goes on after it.
    """

    def call() -> object:
        given = agent(instruction)
        return asyncio.run(_awaited(given)) if inspect.isawaitable(given) else given

    # A callable object may be a coroutine function by its method.
    is_async = any(
        map(inspect.iscoroutinefunction, (agent, getattr(agent, "__call__", None)))  # noqa: B004
    )
    try:
        if loop is not None and is_async:
            future = asyncio.run_coroutine_threadsafe(agent(instruction), loop)
        else:
            future = in_thread(call)
        if seconds <= 0:
            _unawaited.add(future)
            future.add_done_callback(_unawaited.discard)
            return Answer(why="no answer was awaited")
        if not wait([future], seconds).done:
            future.cancel()
            return Answer(why=f"no answer within {seconds:g} s")
        return to_answer(future.result())
    except BaseException as error:  # noqa: BLE001 - whatever an agent raises is its own
        return Answer(why=f"it failed: {type(error).__name__}")


async def _awaited(given: Awaitable[T]) -> T:
    return await given


# A loop holds its tasks weakly: one that is not awaited is held here until it is done.
_unawaited: set[Future[Any]] = set()


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Calls a function in a thread of its own, which does not keep the program running."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised by `future.result`
            future.set_exception(error)

    threading.Thread(target=run, name="leftoff-call", daemon=True).start()
    return future


# -- the dump of a checkpoint -----------------------------------------------------------------


class DumpResult(Struct, frozen=True):
    """A checkpoint whose sections are written: by whom, "agent" or "leftoff", and why the
    agent's dump was not used; "" if it was, or no agent was asked."""

    checkpoint: ContextCheckpoint
    told_by: str = "leftoff"
    why: str = ""


def ask_for_dump(
    task: RunningTask,
    checkpoint: ContextCheckpoint,
    source: CheckpointSource,
    loop: asyncio.AbstractEventLoop | None,
) -> DumpResult:
    """Asks the agent of a task for its dump and uses it if it is valid."""
    assert task.agent is not None
    plan, capacity = task.plan, checkpoint.capacity_threshold
    paths = _paths(plan, capacity)
    threshold = next(t for t in task.thresholds.values() if t.capacity == capacity)
    asks = threshold.asks.replace("{project}", file_names.PROJECT)
    asks = asks.replace("{specific_project}", plan.specific)
    instruction = dumps.instruction(checkpoint, asks, paths, task.role)
    try:
        before = Sandbox(plan.directory, plan.project).read([Path(p).name for p in paths])
    except StateError as error:
        return DumpResult(checkpoint, why=str(error))
    task.change_head(asked=True, before=before)
    task.save()
    task.manager.request_dump(task.id, paths, "sent")
    handoff = task.manager.settings.token_budget.handoff
    forced = capacity == "98" and handoff.force_at_98_percent
    seconds = 0.0 if forced else handoff.timeout_ms / 1000
    answer = ask(task.agent, Redactor().text(instruction), seconds, loop)
    if not forced:
        return accept(task, checkpoint, source, before, answer)
    task.change(late=LateDump(checkpoint.checkpoint_id, before))
    return DumpResult(checkpoint, why=answer.why)


def _paths(plan: Plan, capacity: str) -> Sequence[str]:
    return plan.paths[:1] if capacity == "98" else plan.paths


def accept(
    task: RunningTask,
    checkpoint: ContextCheckpoint,
    source: CheckpointSource,
    before: Mapping[str, str],
    answer: Answer,
) -> DumpResult:
    """Uses what an agent returned or wrote into the files, if it is a valid dump; `before` is
    what they held when it was asked. An invalid dump is removed from the files; the generated
    section stays."""
    plan, capacity = task.plan, checkpoint.capacity_threshold
    found: dict[str, str] = {}
    key = dumps.section_key(checkpoint)

    def without_dump(name: str, after: str) -> str:
        found[name], rest = dumps.extract_dump(before[name], after, key, capacity)
        return rest

    try:
        changes = {name: partial(without_dump, name) for name in before}
        Sandbox(plan.directory, plan.project).update(changes)
    except StateError as error:
        return DumpResult(checkpoint, why=str(error))
    project = answer.project or found.get(f"{file_names.PROJECT}.md", "")
    specific = answer.specific or found.get(f"{plan.specific}.md", "")
    why = answer.why or "it wrote nothing"
    if project:
        why = dumps.rejection_reason(project, capacity)
    if specific and dumps.rejection_reason(specific, capacity):
        specific = ""
    paths = _paths(plan, capacity)
    if why:
        task.manager.request_dump(task.id, paths, f"ours stays: {why}")
        return DumpResult(checkpoint, why=why)
    payload = dumps.build_payload(
        checkpoint, source, plan.paths, written=project, details=specific
    )
    checkpoint = checkpoint.with_outputs(outputs(payload, task.clock().isoformat()))
    write_task_sections(plan, checkpoint, payload)
    task.manager.request_dump(task.id, paths, "written")
    return DumpResult(checkpoint, "agent")


def write_task_sections(
    plan: Plan, checkpoint: ContextCheckpoint, payload: dumps.ContextDumpPayload
) -> None:
    """Writes the sections of a task's checkpoint into its files; a failure is logged."""
    with logged("no markdown: %s", level=logging.ERROR):
        Sandbox(plan.directory, plan.project).write_sections(checkpoint, payload)


def outputs(payload: dumps.ContextDumpPayload, stamp: str) -> DumpOutputs:
    """The record of the sections for the checkpoint."""
    return DumpOutputs(
        project_md_updated=payload.project_md.path,
        specific_md_updated=payload.specific_project_md.path,
        dump_timestamp=stamp,
        dump_size_bytes=sum(len(f"{page.text}\n".encode()) for page in payload.pages),
    )
