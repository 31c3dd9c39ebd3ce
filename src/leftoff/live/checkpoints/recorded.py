"""What is recorded of a task so far, and what a checkpoint tells of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from leftoff.handover.checkpoint.from_summary import Facts, facts_of
from leftoff.handover.checkpoint.prompt_log import ValidationResult, first_words, validations
from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.decision_table import Reached
from leftoff.incremental.messages import listen
from leftoff.model import Message
from leftoff.summary import ContextSummary


class Recorded(Struct, frozen=True):
    """A recording up to now. `messages`: of the main thread, without what was rewound."""

    summary: ContextSummary
    messages: tuple[Message, ...] = ()


Recorder: TypeAlias = Callable[[], Recorded]


class Recording:
    """Reads the recording at a path whenever it is called."""

    def __init__(self, path: str | Path, format: str | None = None) -> None:
        self.path, self.format = str(path), format

    def __call__(self) -> Recorded:
        """What is recorded now.

        Raises:
            InputError: it cannot be read.
        """
        return recorded(self.path, format=self.format)


class _Kept:
    """Keeps every message that it is shown."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def see(self, message: Message) -> None:
        self.messages.append(message)


def recorded(
    path: str | Path, *, format: str | None = None, session: int | str = -1
) -> Recorded:
    """One session of a recording, which is read once: standard input, too.

    Raises:
        InputError: it cannot be read.
        UnknownName, UsageError: no such session.
    """
    heard = listen(path, _Kept, format=format, session=session)
    # A subagent's own file is told as a session.
    messages = (
        replace(m, agent="") if m.agent else m
        for m in heard.listener.messages
        if m.index not in heard.without
    )
    return Recorded(heard.summary, tuple(messages))


class Told(Struct, frozen=True):
    """What the sections of a checkpoint tell; bare where there is no recording."""

    facts: Facts
    checks: tuple[ValidationResult, ...] = ()
    session: str = ""

    @property
    def reached(self) -> Reached:
        """How far the task is."""
        return Reached.of(self.facts)


def told_of(recorded: Recorded | None, goal: str, role: Role | None) -> Told:
    """What a recording tells of a task.

    Args:
        goal: the task in its owner's words.
        role: which files are listed.
    """
    if recorded is None:
        return Told(Facts(task=goal))
    summary, messages = recorded.summary, recorded.messages
    session = summary.session
    told = goal or ("" if summary.user_requests else first_words(messages))
    return Told(
        facts_of(summary, goal=told, role=role),
        validations(summary, messages),
        session.id or session.path,
    )
