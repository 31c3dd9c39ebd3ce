"""What is recorded of a task so far, and what a checkpoint tells of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from leftoff import api
from leftoff.documents.checkpoint.facts import Facts, facts_of
from leftoff.documents.checkpoint.history import ValidationResult, validations
from leftoff.documents.checkpoint.roles import Role
from leftoff.findings import ContextSummary
from leftoff.handoff import Reached
from leftoff.model import Message


class Recorded(Struct, frozen=True):
    """A recording up to now."""

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
        messages = tuple(api.read(self.path, format=self.format))
        return Recorded(api.summarize(self.path, format=self.format), messages)


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
    session = recorded.summary.session
    return Told(
        facts_of(recorded.summary, goal=goal, role=role),
        validations(recorded.messages),
        session.id or session.path,
    )
