"""The recordings of one line of work, read once: main threads, subagents, their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from leftoff.analysis.assemble import assemble, view_of
from leftoff.analysis.session_pass import Pass
from leftoff.errors import FormatError, UnknownName, UsageError
from leftoff.extraction.session_state import Lines, SessionState
from leftoff.model import Issue, Message
from leftoff.session_view import SessionView
from leftoff.sources.open import open_lines, session_paths
from leftoff.sources.session_choice import Choice, choose, split_choice
from leftoff.summary import ContextSummary, Source

if TYPE_CHECKING:
    from leftoff.second_reading import AnyReader

P = TypeVar("P", bound=Pass)


def open_pass(
    path: str | PathLike[str], *, format: str | None = None, extractors: Sequence[str] = ()
) -> Pass:
    """The recording at `path`, read to its end and closed.

    Args:
        path: a file, or "-" for standard input.
        format: name of the format; recognised by content if None.
        extractors: plug-in extractors to run beside the built-in ones.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format.
        UsageError: it is no path."""
    path = path_given(path)
    return read_to_end(Pass(path, format, extractors), path)


def read_to_end(reading: P, path: str) -> P:
    """A new pass, fed the recording at `path` and closed; raises what `open_pass` does."""
    with open_lines(path) as lines:
        reading.feed_lines(lines)
    reading.close()
    return reading


def path_given(place: object) -> str:
    """A path as a string; where it is something else, a `UsageError` says which function takes
    that."""
    if isinstance(place, (str, PathLike)):
        return str(place)
    if isinstance(place, (bytes, bytearray)):
        how = "the content of a recording: leftoff.Pass().feed(data) reads it"
    elif isinstance(place, (dict, Message)):
        how = "a message: leftoff.create_context_summary(messages) takes a list of them"
    else:
        how = "none"
    raise UsageError(f"a path is needed, and this {type(place).__name__} is {how}")


class SessionReading:
    """The recordings of one line of work: main threads and subagents, with their files, each of
    which `opened` reads as `open_pass` does."""

    def __init__(self, opened: Callable[..., Pass] = open_pass) -> None:
        self._opened = opened
        self.sources: list[Source] = []
        self.mains: list[tuple[SessionState, int]] = []
        self.agents: dict[str, tuple[SessionState, int]] = {}
        self.formats: list[str] = []
        self.lines = Lines()
        self.issues: list[Issue] = []
        self.path = ""
        """The recording that the others only come before; "" for the first."""
        self._views: dict[str, tuple[dict[str, SessionState], tuple[str, SessionView]]] = {}

    def add(
        self, path: str, format: str | None, extractors: Sequence[str], session: Choice
    ) -> None:
        """Reads a file or directory and the side files of its subagents; `FILE@3` is the third
        session of a file."""
        self._views = {}
        path, named = split_choice(path)
        session = session if named is None else named
        main, subagents = session_paths(path)
        reading = self._opened(main, format=format, extractors=extractors)
        self._account(reading, main)
        here = len(self.sources) - 1
        count = reading.earlier + len(reading.sessions)
        chosen = chosen_place(reading, session)
        if count > 1:
            what = (
                f"sessions in {main}; the summary is of number {reading.earlier + chosen + 1}"
            )
            self.issues.append(Issue("several_sessions", "info", what, count))
        for name, recording in reading.sessions[chosen].items():
            if name == "":
                self.mains.append((recording, here))
            elif len(recording.thread):
                self.agents.setdefault(name, (recording, here))
        for name, side in subagents:
            try:
                other = self._opened(side, extractors=extractors)
            except FormatError:
                continue  # the empty file of a subagent that wrote nothing
            self._account(other, side)
            spoke = [r for r in other.sessions[-1].values() if len(r.thread)]
            # A subagent's own file takes precedence over the copies in the main one.
            self.agents[name] = (spoke[0], len(self.sources) - 1)

    def _account(self, reading: Pass, path: str) -> None:
        number = len(self.sources)
        self.sources.append(Source(path))
        self.formats.append(reading.format.name if reading.format else "")
        # Lines of all files count: none of them may be lost in silence.
        for name in Lines.__struct_fields__:
            total = getattr(self.lines, name) + getattr(reading.lines, name)
            setattr(self.lines, name, total)
        for issue in reading.issues.values():
            places = issue.places
            if number:
                places = tuple(f"source {number}, {place}" for place in places)
            self.issues.append(replace(issue, places=places))

    def view(self, agent: str = "") -> SessionView:
        """The view of the main thread with those of its subagents, or of one subagent alone,
        the same as long as the same is asked for."""
        return self._view(agent)[1][1]

    def _view(self, agent: str) -> tuple[dict[str, SessionState], tuple[str, SessionView]]:
        if agent not in self._views:
            recordings, places = self._recordings(agent)
            self._views = {agent: (recordings, view_of(recordings, places))}
        return self._views[agent]

    def _recordings(self, agent: str) -> tuple[dict[str, SessionState], dict[str, int]]:
        """The main thread under "" and each subagent under its id, and the source of each; or
        one subagent alone."""
        recordings = {name: recording for name, (recording, _) in self.agents.items()}
        places = {name: source for name, (_, source) in self.agents.items()}
        mains = [r for r, _ in self.mains]
        if agent:
            if agent not in recordings:
                raise UnknownName("subagent", agent, recordings)
            # A subagent by itself still has the directory, branch and window of its session.
            head = SessionState("", ())
            head.header = mains[0].header
            recordings, places = {"": head, agent: recordings[agent]}, {agent: places[agent]}
        elif len(self.mains) == 1:
            recordings[""], places[""] = self.mains[0]
        else:
            # Few sessions are continued in other files.
            from leftoff.analysis.continuations import groups, stitch

            (order, *others) = groups(mains)
            if others:
                odd = self.sources[self.mains[others[0][0]][1]].path
                raise UsageError(
                    f"{odd}: has nothing in common with {self.sources[0].path}; "
                    "summarize them one by one"
                )
            recordings[""] = stitch([self.mains[i] for i in order])
        return recordings, places

    def summary(self, agent: str = "", reader: AnyReader | None = None) -> ContextSummary:
        """The summary of all of it, or of one subagent, as a second reader judges it."""
        summary = assemble(
            *self._view(agent),
            sources=self.sources,
            format=self.formats[0],
            lines=self.lines,
            issues=self.issues,
        )
        # What was asked for is the session, whatever comes before it.
        if self.path:
            summary = replace(summary, session=replace(summary.session, path=self.path))
        if reader is None:
            return summary
        from leftoff.second_reading import SecondReading, second_reading

        asking = reader if isinstance(reader, SecondReading) else second_reading(reader)
        return asking.judge(summary, self.view(agent))


def session_with(path: str, read: Callable[[str], Pass]) -> SessionReading:
    """The session at a path, with its subagents' files; `read` reads its main recording."""
    main, _ = session_paths(path)

    def opened(path: str, **options: Any) -> Pass:
        return read(path) if path == main else open_pass(path, **options)

    found = SessionReading(opened)
    found.add(path, None, (), None)
    return found


def chosen_place(reading: Pass, choice: Choice) -> int:
    """The place of the session that is meant among those that are in memory."""
    if isinstance(choice, int) and choice > 0 and reading.earlier:
        held = len(reading.sessions)
        if not reading.earlier < choice <= reading.earlier + held:
            raise UsageError(
                f"{reading.where}: holds {reading.earlier + held} sessions, of which the last "
                f"{held} are read, and none of these has the number asked for"
            )
        choice -= reading.earlier
    return choose(reading.sessions, choice, reading.where)
