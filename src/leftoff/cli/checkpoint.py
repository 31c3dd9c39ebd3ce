"""`leftoff checkpoint`: where a task stood when its window was nearly full."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from leftoff import codec
from leftoff.cli import params
from leftoff.cli.group import complain, tell
from leftoff.cli.output import deliver
from leftoff.errors import Damaged, SourceError, StateError, UnknownName
from leftoff.handover.checkpoint import dumps, file_names, injection, roles
from leftoff.handover.checkpoint.document import (
    ContextCheckpoint,
    checkpoint_of,
    path_component,
    validated,
)
from leftoff.handover.checkpoint.from_summary import checkpoint_source
from leftoff.handover.wording import number
from leftoff.live.checkpoints.dumps import Sandbox, outputs
from leftoff.live.checkpoints.orchestrator import nearest
from leftoff.live.checkpoints.recorded import budget_of, git_diff, recorded
from leftoff.redaction.redactor import Redactor
from leftoff.settings import load_here
from leftoff.sources.open import read_whole
from leftoff.stores.envelope import unseal
from leftoff.stores.files import FileStore, store_for
from leftoff.stores.protocol import Entry, StoredDocument
from leftoff.stores.retention import Retention, prune


@click.group()
def checkpoint() -> None:
    """Save where a task stands, and pass it to the next agent.

    Example: leftoff checkpoint create latest"""


@params.command("checkpoint create", checkpoint)
def create(
    session: str,
    *,
    task: str,
    goal: str,
    role: str,
    provider: str,
    limit: int | None,
    capacity: str | None,
    markdown: str | None,
    project: str,
    repository: str | None,
    recording: params.RecordingOptions,
    as_json: bool,
) -> None:
    """Make a checkpoint of SESSION now and print its id.

    Example: leftoff checkpoint create latest"""
    settings = load_here().settings
    path = params.path_of(session, recording.which)
    chosen = roles.role(role) if role else None
    globs = chosen.files_to_track if chosen else ()
    # Before the recording is read, which may take long: a wrong folder is said at once.
    diff = _diff(repository, globs) if repository is not None else None
    found = recorded(path, **recording.how)
    summary = found.summary
    recording.warn(path, summary)
    task_id = task or path_component(summary.session.id or Path(path).name)[:80] or "task"
    budget = budget_of(summary, task_id, settings, provider, limit)
    # The original format knows three levels; a checkpoint on request takes the nearest.
    level: Any = capacity or nearest(budget)
    early = budget.percent_used < int(level)
    note = f"made on request at {int(budget.percent_used)} %" if early else ""
    contents = checkpoint_source(summary, found.messages, goal=goal, role=chosen)
    made = checkpoint_of(
        contents,
        budget=budget,
        capacity=level,
        at=datetime.now(UTC),
        git_diff=diff,
        history_lines=settings.token_budget.context_dump.max_history_lines,
    )
    own = file_names.task_file_name(goal or contents.task, task_id)
    folder = project or file_names.project_name(summary.session.cwd)
    paths = file_names.dump_paths(folder, own)
    payload = dumps.build_payload(made, contents, paths, note=note)
    if markdown is not None:
        made = made.with_outputs(outputs(payload, made.created_at))
    if note:
        complain(f"{note} of {budget.total_allocated:,} tokens, as at {level} %")
    if as_json:
        value = Redactor(personal=True).value(made.to_dict())
        deliver(codec.dumps(value, indent=2))
        return
    text = f"{payload.project_md.text}\n"
    where = _store().save("checkpoint", made.checkpoint_id, made.to_dict(), text=text)
    tell(f"wrote {where}")
    deliver(f"{made.checkpoint_id}\n")  # before the markdown, which may fail
    if markdown is not None:
        _write(Path(markdown), folder, made, payload)


def _diff(repository: str, globs: Sequence[str]) -> str:
    if not os.path.isdir(repository):  # noqa: PTH112 - a name too long is no folder
        raise SourceError(f"--git {repository}: no such folder")
    diff = git_diff(repository, globs)
    if diff is None:
        raise SourceError(f"--git {repository}: git gives no diff: is it a repository?")
    return diff


def _write(
    directory: Path, folder: str, made: ContextCheckpoint, payload: dumps.ContextDumpPayload
) -> None:
    try:
        # One by one, since `parents=True` makes the outer ones readable for everybody.
        for place in (*reversed(directory.parents), directory):
            place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise SourceError(f"--markdown {directory}: {error.strerror}") from error
    Sandbox(directory, folder).write_sections(made, payload)
    for page in payload.pages:
        tell(f"wrote {directory / page.path}")


@params.command("checkpoint show", checkpoint)
def show(id: str, *, as_json: bool) -> None:
    """Print the checkpoint ID: an id, its beginning, `latest`, or a file.

    Example: leftoff checkpoint show latest"""
    saved = _load(id)
    gate = Redactor(personal=True)
    # Without its markdown a checkpoint is still shown.
    if as_json or not saved.text:
        deliver(codec.dumps(gate.value(saved.document), indent=2))
        return
    deliver(gate.shown(saved.text))


@params.command("checkpoint list", checkpoint)
def list_command(*, as_json: bool) -> None:
    """List the saved checkpoints, newest first.

    Example: leftoff checkpoint list"""
    store = _store()
    for entry in store.list("checkpoint"):
        # A list reads headers alone, and what is damaged may have a whole header.
        whole = _whole(store, entry)
        saved = datetime.fromtimestamp(entry.saved, UTC).isoformat(timespec="seconds")
        if as_json:
            value = {**codec.to_builtins(entry), "saved": saved, "readable": whole}
            deliver(codec.dumps(Redactor().value(value)))
        else:
            notes = " pinned" * entry.pinned + " damaged" * (not whole)
            deliver(f"{entry.id}  {saved}  {number(entry.size)} bytes{notes}\n")


@params.command("checkpoint inject", checkpoint)
def inject(id: str, *, source: str, budget: int | None) -> None:
    """Print the next agent's prompt with the checkpoint ID in front of it.

    Example: leftoff checkpoint inject latest"""
    saved = _load(id)
    made = validated(saved.document)
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise SourceError(f"{source}: {error.strerror}") from error
    # The prompt is passed on byte for byte, whatever its encoding is.
    prompt = data.decode("utf-8", "surrogateescape")
    size = injection.DEFAULT_BUDGET if budget is None else budget
    whole = injection.inject(made, prompt, budget=size)
    sys.stdout.buffer.write(whole.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


@params.command("checkpoint clean", checkpoint)
def clean(*, days: float | None, keep: int | None, dry_run: bool) -> None:
    """Remove checkpoints that are older than the settings allow; pinned ones stay.

    Example: leftoff checkpoint clean --days 30"""
    # Without an option the settings say what goes; with one, nothing else does.
    if days is None and keep is None:
        days = load_here().settings.token_budget.context_dump.retention_days
    now, store = datetime.now(UTC).timestamp(), _store()
    done = prune(store, "checkpoint", Retention(keep, days), now=now, dry_run=dry_run)
    # Damaged documents are not removed, so they are not announced.
    removed = [e for e in done.removed if not dry_run or _whole(store, e)]
    deliver("".join(f"{entry.id}\n" for entry in removed))
    verb = "would be removed" if dry_run else "removed"
    remaining = len(done.removed) + len(done.kept) - len(removed)
    print(f"{len(removed)} {verb}, {remaining} left", file=sys.stderr)


@params.command("checkpoint accept", checkpoint)
def accept(file: str) -> int:
    """Accept a checkpoint that was edited by hand: check it, show the differences, and update
    its checksum.

    Example: leftoff checkpoint accept .leftoff/context-checkpoints/ID.json.gz

    Exit 1: it contradicts itself, or the file is not named by its id."""
    path = Path(file)
    opened = unseal("checkpoint", read_whole(file), file, accept=True)
    name = path.name.removesuffix(".gz").removesuffix(".json")
    try:
        made = validated(opened.document)
    except StateError as error:
        complain(f"{file}: not accepted: {error}")
        return 1
    # A copy under another name would take the place of the checkpoint that has it.
    if made.checkpoint_id != name:
        complain(f"{file}: not accepted: its name is not its id, {made.checkpoint_id!r}")
        return 1
    compress = {"checkpoint": 0} if path.suffix == ".gz" else {}
    store = FileStore(path.parent, places={"checkpoint": path.parent}, compress=compress)
    done = store.accept("checkpoint", name)
    if done.changed is None:
        print("no earlier version to compare with", file=sys.stderr)
    deliver("".join(f"{place}\n" for place in done.changed or ()))
    tell(f"sealed {done.where}")
    return 0


def _store() -> FileStore:
    return store_for(load_here().settings)


def _load(id: str) -> StoredDocument:
    """The checkpoint of an id, its unambiguous beginning, `latest`, or a file; says what is
    wrong with its file."""
    if Path(id).suffix in {".json", ".gz"} and os.path.isfile(id):  # noqa: PTH113
        with _hint(id):
            opened = unseal("checkpoint", read_whole(id), id)
        found = StoredDocument(opened.document, opened.issues, id)
    else:
        found = _stored(id)
    for issue in found.issues:
        complain(issue.what)
    return found


def _stored(id: str) -> StoredDocument:
    store = _store()
    places = {entry.id: entry.where for entry in store.list("checkpoint")}
    if not places:
        raise StateError(
            "there is no checkpoint yet; make one with `leftoff checkpoint create`"
        )
    newest = next(iter(places))
    found = newest if id == "latest" else params.chosen_id("checkpoint", id, list(places))
    with _hint(places.get(found, "")):
        saved = store.load("checkpoint", found)
    if saved is None:
        raise UnknownName("checkpoint", id, list(places)[:20])
    return saved


def _whole(store: FileStore, entry: Entry) -> bool:
    """Whether a checkpoint is what was saved; a list of a store does not check that."""
    try:
        return entry.readable and store.load("checkpoint", entry.id) is not None
    except StateError:
        return False


@contextmanager
def _hint(file: str) -> Iterator[None]:
    """Says how a checkpoint that was changed by hand can be taken as right."""
    try:
        yield
    except Damaged as error:
        hint = f"if it was edited on purpose: leftoff checkpoint accept {Path(file)}"
        raise Damaged(f"{error}; {hint}") from error
