"""Which session is meant where a recording holds several.

A choice is a number from 1, an id, a date, or the beginning of one; it follows the recording's
name after `@` (`history.md@3`, `history.md@2026-11-02`). Without a choice the newest session in
which the agent said or did something is meant."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from leftoff.errors import UnknownName, UsageError
from leftoff.extraction.evidence import Asked, Called
from leftoff.extraction.session_state import SessionState
from leftoff.sources.multi_file import is_multi_file
from leftoff.sources.open import STDIN

# A number from 1 (negative: from the end), an id or date, or None for the newest with work.
Choice: TypeAlias = int | str | None

# The main thread of a session under "", its subagents by id.
States: TypeAlias = Mapping[str, SessionState]

# Sessions that the error for an ambiguous choice lists.
# Chosen by hand.
MOST_NAMED = 8


class ContainedSession(Struct, frozen=True):
    """One session of a recording that may hold several.

    Attributes:
        number: from 1, in the order of the recording.
        started: as recorded; "" if there is no time.
        messages: of the main thread.
        prompts: how often the person typed something.
        title: the recorder's title, else the first prompt.
        works: the agent said or did something."""

    number: int
    id: str
    started: str
    messages: int
    prompts: int
    title: str
    works: bool


def split_choice(name: str) -> tuple[str, Choice]:
    """A recording's name without the choice after an `@`, the last one if an id has none, and
    the choice.

    What exists under the whole name has no choice in it."""
    path = name
    while "@" in path[1:] and not (os.path.lexists(name) or is_multi_file(name)):
        path = path[: path.rindex("@")]
        which = name[len(path) + 1 :]
        # `me@work/history.md`: the mark is in the name of a folder; but an id may hold a `/`.
        held = os.path.isfile if "/" in which or os.sep in which else os.path.lexists
        if which and (path == STDIN or held(path)):
            return path, as_choice(which)
    return name, None


def as_choice(which: str) -> Choice:
    """What a person wrote as a choice: a number counts from 1."""
    # An id may be `000`; no session has the number 0.
    return int(which) if which.isdecimal() and int(which) else which


def contained_session(states: States, number: int) -> ContainedSession:
    """What is known of one session of a recording."""
    main = states[""]
    asked = main.evidence.of(Asked)
    words = [request.text for request in asked if request.via != "answer"]
    title = main.header.title or (words[0] if words else "")
    return ContainedSession(
        number,
        main.header.id,
        main.header.started,
        len(main.thread),
        len({request.ref.message for request in asked}),
        title,
        has_work(states),
    )


def has_work(states: States) -> bool:
    """Whether the agent, or a subagent, said or did something. A call in the only message of a
    session is none: `aider --commit` records such sessions."""
    return any(
        state.last_at >= 0 or len(state.thread) > 1 and len(state.evidence.of(Called)) > 0
        for state in states.values()
    )


def choose(sessions: Sequence[States], choice: Choice, where: str) -> int:
    """The place from 0 of the session that is meant.

    Raises:
        UnknownName: no session has that id or date.
        UsageError: there is none of that number, or several are meant."""
    if choice is None:
        places = range(len(sessions) - 1, -1, -1)
        return next((n for n in places if has_work(sessions[n])), len(sessions) - 1)
    if isinstance(choice, int):
        if not choice or not -len(sessions) <= choice <= len(sessions):
            count = len(sessions)
            held = "one session" if count == 1 else f"{count} sessions"
            raise UsageError(f"{where}: holds {held}, and none of the number asked for")
        return choice - 1 if choice > 0 else len(sessions) + choice
    headers = [states[""].header for states in sessions]
    meant = [n for n, header in enumerate(headers) if header.id == choice]
    if not meant:
        # People type `2026-11-02 10:00`, recorded times have a T.
        begins = choice.replace(" ", "T", 1) if choice[:1].isdecimal() else choice
        meant = [
            n
            for n, header in enumerate(headers)
            if header.id.startswith(choice) or header.started.startswith(begins)
        ]
    if not meant or not choice:
        raise UnknownName("session", choice, [h.id for h in headers if h.id][:50])
    if len(meant) > 1:
        raise UsageError(
            f"{where}: {len(meant)} sessions are called {choice!r} or begin so: "
            f"{_named(sessions, meant)}. Choose one by its number"
        )
    return meant[0]


def _named(sessions: Sequence[States], places: Iterable[int]) -> str:
    places = list(places)
    shown = [f"{n + 1} ({sessions[n][''].header.id})" for n in places[:MOST_NAMED]]
    more = len(places) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
