"""Resume states of recorded sessions: `from_transcript`."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from leftoff.handover.resume_state.conversation import Conversation
from leftoff.handover.resume_state.document import RecordedFile, ResumeState, World
from leftoff.handover.resume_state.from_summary import Workflow, from_summary
from leftoff.handover.resume_state.running_workflow import content_hash
from leftoff.incremental.messages import listen
from leftoff.summary import ContextSummary
from leftoff.workspace import content_of, look, recorded_files


def from_transcript(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    session: int | str = -1,
    workflow: str | PathLike[str] | None = None,
    name: str = "",
    hashes: bool = True,
) -> ResumeState:
    """The resume state of the session recorded at `path`. Values are raw: outputs redact.

    Args:
        path: a file or a session's directory.
        session: which one, where a file holds several: its place from 0, or its id.
        workflow: the file that the session worked through.
        name: of the workflow; by default its file's, else the folder's.
        hashes: look at the repository and the changed files as they are now, so that it can be
            told later what has changed since.

    Raises:
        SourceError: the recording or the workflow's file cannot be read.
        FormatError: there is no message in a known format.
        UnknownName: no such session.
    """
    return of_transcript(
        path, format=format, session=session, workflow=workflow, name=name, hashes=hashes
    )[0]


def of_transcript(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    session: int | str = -1,
    workflow: str | PathLike[str] | None = None,
    name: str = "",
    hashes: bool = True,
) -> tuple[ResumeState, ContextSummary]:
    """As `from_transcript`, with the summary that it was made from."""
    flow = Workflow()
    if workflow is not None:
        content = content_of(workflow) or ""
        flow = Workflow(str(Path(workflow).absolute()), content, content_hash(content))
    heard = listen(path, Conversation, format=format, session=session)
    summary = heard.summary
    state = from_summary(
        summary,
        heard.listener,
        workflow=flow,
        name=name,
        commit=summary.working_set.commit or summary.working_set.commit_at_start,
        abandoned=heard.without,
    )
    return (_seen(state) if hashes else state), summary


def _seen(state: ResumeState) -> ResumeState:
    """The state with the repository and the files as they are now, as far as they are still
    what the session left."""
    world = state.world or World()
    if not os.path.isdir(world.cwd):  # noqa: PTH112 - a name too long is no folder
        return state
    now = look(state, root=world.cwd)
    as_left: list[RecordedFile] = []
    hashed = recorded_files(world.files, world.cwd)
    for file in hashed:
        found = now.files.get(file.path)
        # What was changed after the session is not what it left: its time will tell.
        touched = found is None or found.changed is not False
        as_left.append(replace(file, sha256="") if touched else file)
    same_branch = now.branch is not None and now.branch == world.branch
    commit = now.commit if same_branch and now.commit else world.commit
    return replace(state, world=replace(world, commit=commit, files=tuple(as_left)))
