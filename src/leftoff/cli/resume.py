"""`leftoff resume`."""

import os
import shlex
import subprocess
import time
import zlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from leftoff import codec
from leftoff.cli.group import shown, tell
from leftoff.cli.output import deliver
from leftoff.cli.params import RecordingOptions, command, path_of
from leftoff.errors import FormatError, SourceError, StateError, UsageError
from leftoff.handover.checkpoint.document import validated
from leftoff.handover.checkpoint.injection import block
from leftoff.handover.compatibility import Compatibility, assess
from leftoff.handover.resume_state.document import ResumeState
from leftoff.handover.resume_state.message import resume_message
from leftoff.handover.resume_state.templates import ADDED_TEXTS, COMMAND_TEXTS, format_elapsed
from leftoff.live.resume_states.states import FileResumeStateManager, Found
from leftoff.live.resume_states.transcripts import from_transcript
from leftoff.model import Issue, parse_time
from leftoff.settings import load_here
from leftoff.sources.open import read_whole
from leftoff.stores.envelope import unseal
from leftoff.workspace import inspect_workspace


class ResumeOptions(RecordingOptions, frozen=True):
    """How a state is made and resumed."""

    file: str | None = None
    command: str | None = None
    force: bool = False
    prompt_only: bool = False


@command("resume")
def resume(
    workflow: str | None,
    *,
    listing: bool,
    clean: bool,
    dry_run: bool,
    recording: str | None,
    checkpoint: str | None,
    given: ResumeOptions,
) -> int:
    """Continue an interrupted WORKFLOW: its id, the beginning of the id, or its file. For a
    recorded session (path, id or `latest`) a resume state is made first, as with --save.

    Example: leftoff resume latest --exec "claude -p"

    The message for the next agent is printed, or passed to the command of --exec, whose exit
    code is returned. Notices go to stderr. Exit 1: the workflow has changed too much since the
    state was saved (--force resumes anyway). Exit 2: nothing is saved for it, or it cannot be
    read."""
    manager = FileResumeStateManager(settings=load_here().settings)
    if listing:
        return _list(manager)
    if clean:
        return _clean(manager, dry_run=dry_run)
    if recording is not None:
        state = _made(recording, given)
        tell(f"saved {manager.save(state)}")
        _say(state.workflow_id)
        return 0
    if checkpoint is not None:
        return _from_file(manager, Path(checkpoint), given)
    if not workflow:
        _notice("no_argument")
        return 2
    found = _find(manager, workflow)
    if found is None:
        made = _of_recording(manager, workflow, given)
        if made is None:
            _notice("no_state", workflow=workflow)
            return 2
        return _resume(manager, made, workflow, given)
    _fault(found.issues, given)
    if not given.file and os.path.isfile(workflow):  # noqa: PTH113 - a name may be too long
        given = replace(given, file=workflow)
    return _resume(manager, found.state, workflow, given)


def _fault(issues: Iterable[Issue], given: ResumeOptions) -> None:
    """What a state's file had wrong; damage is reported even with --prompt-only."""
    for issue in issues:
        if issue.severity != "info" or not given.prompt_only:
            tell(issue.what)


def _find(manager: FileResumeStateManager, workflow: str) -> Found | None:
    """The state that is meant: by id, by the beginning of one, or by the workflow's file."""
    listed = manager.list_available_workflows()
    ids = [one.workflow_id for one in listed]
    begins = [workflow] if workflow in ids else [i for i in ids if i.startswith(workflow)]
    if len(begins) == 1:
        return manager.load(begins[0])
    # A workflow is best known by its file, which may be named from another folder; the newest
    # is the first.
    wanted = _absolute(workflow)
    for one in listed:
        if not one.problem and _absolute(one.workflow_file_path) == wanted:
            return manager.load(one.workflow_id)
    if begins:
        known = ", ".join(sorted(begins)[:8])
        raise UsageError(f"{workflow}: several workflows begin so: {known}")
    return None


def _of_recording(
    manager: FileResumeStateManager, name: str, given: ResumeOptions
) -> ResumeState | None:
    try:
        state = _made(name, given)
    # It is no recording either: the caller says that there is no state.
    except (FormatError, SourceError):
        if name == "latest":  # no workflow's name: why there is no session says more
            raise
        return None
    tell(f"{path_of(name)}: a recording; a resume state is made of it, as by --save")
    tell(f"saved {manager.save(state)}")
    return state


def _made(name: str, given: ResumeOptions) -> ResumeState:
    path = path_of(name, given.which)
    warned = partial(given.warn, path)
    return from_transcript(path, workflow=given.file, summarized=warned, **given.how)


def _absolute(path: str) -> str:
    return str(Path(path).absolute().resolve()) if path else ""


def _resume(
    manager: FileResumeStateManager, state: ResumeState, name: str, given: ResumeOptions
) -> int:
    workspace = inspect_workspace(state, workflow=given.file)
    verdict = assess(state, workspace, limits=manager.limits, force=given.force)
    if not verdict.can_resume:
        _refused(verdict)
        return 1
    if not given.prompt_only:
        _notices(state, name, verdict)
    missing = verdict.missing_tools
    message = resume_message(
        state,
        strategy="partial_resume" if missing else "continue",
        changed=verdict.warnings,
        missing_tools=missing,
    )
    return _deliver(message, given.command)


def _notices(state: ResumeState, name: str, verdict: Compatibility) -> None:
    _notice("resuming", workflow=name)
    _notice("duration", duration=format_elapsed(state.start_time, state.last_activity))
    # A state that was cut to its size limit says how many calls and messages it dropped.
    done = sum(tool.success for tool in state.completed_tools)
    _notice("tools", count=done + state.dropped.get("completed_tools", 0))
    _notice("messages", count=len(state.chat_history) + state.dropped.get("chat_history", 0))
    if verdict.warnings:
        _notice("warnings")
    for warning in verdict.warnings:
        _notice("warning", warning=warning)
    for reason in verdict.reasons:
        tell(f"  {reason}")
    if state.needs_value:
        tell(ADDED_TEXTS["ask"].format(names=", ".join(state.needs_value)))


def _refused(verdict: Compatibility) -> None:
    _notice("refused")
    for warning in verdict.warnings:
        _notice("problem", warning=warning)
    for reason in verdict.reasons:
        tell(f"    {reason}")
    _notice("force")


def _notice(text: str, **values: object) -> None:
    tell(COMMAND_TEXTS[text].format(**values))


def _deliver(message: str, command: str | None) -> int:
    """The message to stdout, or to a command; the command's exit code."""
    if command is None:
        deliver(message)
        return 0
    try:
        # Windows takes a command as one line, in which a backslash is no escape.
        words = command if os.name == "nt" else shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--exec {command}: {error}") from error
    if not words:
        raise UsageError("--exec: names no command")
    try:
        data = message.encode("utf-8", "replace")
        done = subprocess.run(words, input=data, check=False)  # noqa: S603 - without a shell
    except (OSError, ValueError) as error:
        raise UsageError(f"--exec {command}: cannot be run ({error})") from error
    # A command that a signal ended has the code that shells give it.
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _list(manager: FileResumeStateManager) -> int:
    listed = manager.list_available_workflows()
    _say(COMMAND_TEXTS["available" if listed else "none"])
    now = time.time()
    for one in listed:
        if one.problem:
            tell(f"{one.workflow_id}: {one.problem}")
            continue
        when = parse_time(one.last_activity)
        hours = (now - when.timestamp()) / 3600 if when else 0.0
        name = one.workflow_file_path or one.workflow_id
        _say(COMMAND_TEXTS["workflow"].format(file=name, hours=hours))
        _say(COMMAND_TEXTS["phase"].format(phase=one.current_phase, tools=one.tools_completed))
        if name != one.workflow_id:
            _say(f"    {one.workflow_id}")
    return 0


def _clean(manager: FileResumeStateManager, *, dry_run: bool) -> int:
    done = manager.clean_up(dry_run=dry_run)
    for name in done.removed:
        tell(name)
    words = ADDED_TEXTS["would_clean"] if dry_run else COMMAND_TEXTS["cleaned"]
    _say(words.format(count=len(done.removed)))
    return 0


def _from_file(manager: FileResumeStateManager, path: Path, given: ResumeOptions) -> int:
    """Resumes from a file that is named: a resume state, or a checkpoint of a task."""
    try:
        data = codec.unpacked(read_whole(path))
    except (ValueError, zlib.error) as error:
        raise StateError(f"{path}: damaged: {error}") from error
    # Both are sealed JSON; which one it is must be known before the seal can be checked.
    kind = "checkpoint" if b'"checkpoint_id"' in data[:4096] else "resume_state"
    opened = unseal(kind, data, str(path))
    _fault(opened.issues, given)
    if kind == "checkpoint":
        return _deliver(block(validated(opened.document)), given.command)
    try:
        state = ResumeState.from_dict(opened.document)
    except StateError as error:
        raise StateError(f"{path}: {error}") from error
    return _resume(manager, state, str(path), given)


def _say(line: str) -> None:
    print(" ".join(shown(line).splitlines()))
