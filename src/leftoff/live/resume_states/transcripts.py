"""Resume states of recorded sessions: `from_transcript`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from leftoff import api
from leftoff.documents.resume_state import RecordedFile, ResumeState, World
from leftoff.documents.resume_state.conversation import Conversation
from leftoff.documents.resume_state.record import Workflow, from_summary
from leftoff.documents.resume_state.running import content_hash
from leftoff.errors import UnknownName
from leftoff.extraction.recording import Recording
from leftoff.model import Message
from leftoff.sources import lines_of, parts_of
from leftoff.summary import Pass
from leftoff.workspace import content_of, look, recorded_files


class _Listening(Pass):
    """A pass that also keeps the end of every conversation that it reads."""

    def __init__(self, where: str, format: str | None) -> None:
        # By the session's main recording, which is held so that its identity stays its own.
        self._told: dict[tuple[int, str], tuple[Recording, Conversation]] = {}
        super().__init__(where, format)

    def _message(self, m: Message) -> None:
        before = self.cursor.taken.get(m.agent, 0)
        super()._message(m)
        if self.cursor.taken.get(m.agent, 0) == before:  # not a repeated record
            place = (id(self._main), m.agent)
            if place not in self._told:
                self._told[place] = self._main, Conversation()
            self._told[place][1].see(m)

    def conversation(self, main: Recording, agent: str) -> Conversation:
        """What an agent said in a session, the main thread under ""."""
        return self._told[id(main), agent][1]


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
    flow = Workflow()
    if workflow is not None:
        content = content_of(workflow) or ""
        flow = Workflow(str(Path(workflow).absolute()), content, content_hash(content))
    summary = api.summarize(path, format=format, session=session)
    main, _ = parts_of(str(path))
    reading = _Listening(main, format)
    with lines_of(main) as lines:
        reading.feed_lines(lines)
    reading.close()
    recordings = _chosen(reading, session)
    # A subagent's own file has nothing on the main thread: the subagent is the session.
    agent = next(name for name, r in sorted(recordings.items()) if len(r.thread))
    thread = recordings[agent].thread
    state = from_summary(
        summary,
        reading.conversation(recordings[""], agent),
        workflow=flow,
        name=name,
        commit=summary.working_set.commit or recordings[""].header.commit,
        abandoned=thread.abandoned() | thread.copies(),
    )
    return _seen(state) if hashes else state


def _chosen(reading: Pass, session: int | str) -> dict[str, Recording]:
    """One of the sessions of a recording; `api.summarize` has refused what does not exist."""
    if isinstance(session, int):
        return reading.sessions[session]
    for recordings in reading.sessions:
        if recordings[""].header.id == session:
            return recordings
    raise UnknownName("session", session, [])


def _seen(state: ResumeState) -> ResumeState:
    """The state with the repository and the files as they are now, as far as they are still
    what the session left."""
    world = state.world or World()
    if not world.cwd or not Path(world.cwd).is_dir():
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
