"""A recording that is read once, for its summary and for whoever wants its messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from leftoff.analysis.session_pass import Pass
from leftoff.api import Gathered
from leftoff.extraction.session_state import Recording
from leftoff.model import Message
from leftoff.sources.open import lines_of
from leftoff.summary import ContextSummary


class Listener(Protocol):
    """Is shown the messages of one conversation, in file order."""

    def see(self, message: Message) -> None:
        """Takes in the next message."""
        ...


L = TypeVar("L", bound=Listener)


class Heard(Struct, Generic[L], frozen=True):
    """One session of a recording.

    Attributes:
        listener: was shown every message of its main thread; of the subagent, where the
            recording is a subagent's own.
        without: messages of that thread that were rewound, or copied from elsewhere.
    """

    summary: ContextSummary
    listener: L
    without: frozenset[int]


class _Listening(Pass):
    """A pass that shows its messages to a listener for each conversation."""

    def __init__(
        self,
        where: str,
        format: str | None,
        extractors: Sequence[str],
        made: Callable[[], Listener],
    ) -> None:
        # By the session's main recording, which is held so that its identity stays its own.
        self.told: dict[tuple[int, str], tuple[Recording, Listener]] = {}
        self._made = made
        super().__init__(where, format, extractors)

    def _message(self, m: Message) -> None:
        before = self.cursor.taken.get(m.agent, 0)
        super()._message(m)
        if self.cursor.taken.get(m.agent, 0) == before:  # not a repeated record
            place = (id(self._main), m.agent)
            if place not in self.told:
                self.told[place] = self._main, self._made()
            self.told[place][1].see(m)


def listen(
    path: str | PathLike[str],
    made: Callable[[], L],
    *,
    format: str | None = None,
    session: int | str = -1,
) -> Heard[L]:
    """Reads a recording once.

    Args:
        path: a file, a session's directory, or "-" for standard input.
        made: makes a listener; one for each conversation in the recording.
        session: which one, where a file holds several: its place from 0, or its id.

    Raises:
        SourceError: the recording cannot be read.
        FormatError: there is no message in a known format.
        UnknownName, UsageError: no such session.
    """
    first: list[_Listening] = []

    def opened(path: str, *, format: str | None = None, extractors: Sequence[str] = ()) -> Pass:
        reading = (
            Pass(path, format, extractors)
            if first
            else _Listening(path, format, extractors, made)
        )
        if isinstance(reading, _Listening):
            first.append(reading)
        with lines_of(path) as lines:
            reading.feed_lines(lines)
        reading.close()
        return reading

    gathered = Gathered(opened)
    gathered.add(str(path), format, (), session)
    main, _ = gathered.mains[0]
    chosen = next(s for s in first[0].sessions if s[""] is main)
    # A subagent's own file has nothing on the main thread: the subagent is the session.
    agent = next(name for name, r in sorted(chosen.items()) if len(r.thread))
    thread = chosen[agent].thread
    listener: L = first[0].told[id(main), agent][1]  # type: ignore[assignment]
    without = frozenset(thread.abandoned() | thread.copies())
    return Heard(gathered.summary(), listener, without)
