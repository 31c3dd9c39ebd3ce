"""Resume states of recorded sessions: `from_transcript`."""

import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from leftoff.handover.resume_state.conversation import ConversationTail
from leftoff.handover.resume_state.document import RecordedFile, ResumeState, World
from leftoff.handover.resume_state.from_summary import Workflow, from_summary
from leftoff.handover.resume_state.running_workflow import content_hash
from leftoff.incremental.messages import read_with_listener
from leftoff.second_reading import AnyReader
from leftoff.sources.session_choice import Choice
from leftoff.summary import ContextSummary
from leftoff.workspace import inspect_workspace, read_workflow, recorded_files


def from_transcript(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    session: Choice = None,
    workflow: str | PathLike[str] | None = None,
    name: str = "",
    hashes: bool = True,
    reader: AnyReader | None = None,
    summarized: Callable[[ContextSummary], object] | None = None,
) -> ResumeState:
    """The resume state of the session recorded at `path`. Values are raw: outputs redact.

    Args:
        path, session, reader: as for `api.summarize`.
        workflow: the file that the session worked through.
        name: of the workflow; by default its file's, else the session's title or folder.
        hashes: record commit and file hashes as they are now, so that later changes can be
            detected.
        summarized: called with the summary that the state is made from.

    Raises:
        SourceError: the recording or the workflow's file cannot be read.
        FormatError: there is no message in a known format.
        UnknownName: no such session."""
    flow = Workflow()
    if workflow is not None:
        content = read_workflow(workflow) or ""
        flow = Workflow(str(Path(workflow).absolute()), content, content_hash(content))
    summary, tail, abandoned = read_with_listener(
        path, ConversationTail, format=format, session=session, reader=reader
    )
    if summarized is not None:
        summarized(summary)
    state = from_summary(
        summary,
        tail,
        workflow=flow,
        name=name,
        commit=summary.working_set.commit or summary.working_set.commit_at_start,
        abandoned=abandoned,
    )
    return _with_hashes(state) if hashes else state


def _with_hashes(state: ResumeState) -> ResumeState:
    """The state with the repository and the files as they are now, as far as they are still
    what the session left."""
    world = state.world or World()
    if not os.path.isdir(world.cwd):  # noqa: PTH112 - a name too long is no folder
        return state
    now = inspect_workspace(state, root=world.cwd)

    def as_left(file: RecordedFile) -> RecordedFile:
        found = now.files.get(file.path)
        # A file that was changed after the session gets no hash: its time shows the change.
        touched = found is None or found.changed is not False
        return replace(file, sha256="") if touched else file

    files = tuple(map(as_left, recorded_files(world.files, world.cwd)))
    same_branch = now.branch is not None and now.branch == world.branch
    commit = now.commit if same_branch and now.commit else world.commit
    return replace(state, world=replace(world, commit=commit, files=files))
