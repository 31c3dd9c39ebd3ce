"""Reads a recording once, for its summary and for a listener that receives its messages."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Protocol, TypeVar

from leftoff.analysis.session_pass import Pass
from leftoff.api import HeardPass, SessionReading
from leftoff.extraction.session_state import SessionState
from leftoff.model import Message
from leftoff.second_reading import AnyReader
from leftoff.session_reading import read_to_end
from leftoff.sources.session_choice import Choice
from leftoff.summary import ContextSummary


class Listener(Protocol):
    """Receives the messages of one conversation, in file order."""

    def see(self, message: Message) -> None:
        """Receives the next message."""
        ...


L = TypeVar("L", bound=Listener)


def read_with_listener(
    path: str | PathLike[str],
    make_listener: Callable[[], L],
    *,
    format: str | None = None,
    session: Choice = None,
    reader: AnyReader | None = None,
) -> tuple[ContextSummary, L, frozenset[int]]:
    """Reads a recording once. `path`, `session` and `reader` are those of `api.summarize`;
    `make_listener` is called once for each conversation in the recording.

    Returns:
        The summary, the listener that received every message of the main thread (of the
        subagent if the recording is a subagent's own), and the messages of that thread that
        were rewound or copied from elsewhere.

    Raises:
        SourceError: the recording cannot be read.
        FormatError: there is no message in a known format.
        UnknownName, UsageError: no such session."""
    passes: list[HeardPass] = []  # the first is of the main recording
    # Keyed by id() of the session's main recording, which is referenced here so that its id is
    # not reused.
    listeners: dict[tuple[int, str], tuple[SessionState, L]] = {}

    def hear(main: SessionState, message: Message) -> None:
        place = id(main), message.agent
        if place not in listeners:
            listeners[place] = main, make_listener()
        listeners[place][1].see(message)

    def opened(path: str, *, format: str | None = None, extractors: Sequence[str] = ()) -> Pass:
        passes.append(HeardPass(path, format, extractors))
        passes[0].on_message = hear
        return read_to_end(passes[-1], path)

    gathered = SessionReading(opened)
    gathered.add(str(path), format, (), session)
    main, _ = gathered.mains[0]
    chosen = next(s for s in passes[0].sessions if s[""] is main)
    # A subagent's own file has nothing on the main thread: the subagent is the session.
    agent = next(name for name, r in sorted(chosen.items()) if len(r.thread))
    thread = chosen[agent].thread
    without = frozenset(thread.abandoned() | thread.copies())
    return gathered.summary(reader=reader), listeners[id(main), agent][1], without
