"""Asks a second reader (`handover.second_reader`) and stores its answers.

An answer is stored under a hash of the question and the reader's name, so that the same bytes
give the same summary again and nothing is paid twice. Whatever goes wrong with a reader, the
summary without it stands, with an `Issue` that says so.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff.analysis.decisions.select import key_decisions
from leftoff.errors import UnknownName
from leftoff.handover.second_reader import (
    CANDIDATE,
    MAX_TOKENS,
    Choice,
    InvalidAnswer,
    Question,
    Reader,
    parse_answer,
    questions,
    readers,
    with_choices,
)
from leftoff.model import Issue
from leftoff.redaction.redactor import Redactor
from leftoff.session_view import SessionView
from leftoff.stores.atomic import write_atomic
from leftoff.summary import ContextSummary, KeyDecision, ReaderReport
from leftoff.text.truncation import one_line
from leftoff.tokens import max_tokens

ATTEMPTS = 2
"""How often a question is asked whose answer is not valid."""

_MAX_REASON = 200
"""Code points of what went wrong. Chosen by hand."""


class _Stored(Struct, frozen=True):
    """A valid answer as it is stored: the text, and what it cost."""

    answer: str
    seconds: float = 0.0


class SecondReading(Struct, frozen=True):
    """How a second reader is asked.

    Attributes:
        name: of the reader, part of the key of a stored answer.
        reader: answers questions.
        folder: stores answers; None stores nothing.
        most: tokens of one question, an upper bound.
        refresh: ask again although the answer is stored.
        clock: seconds, for how long the reader takes.
    """

    name: str
    reader: Reader
    folder: Path | None = None
    most: int = MAX_TOKENS
    refresh: bool = False
    clock: Callable[[], float] = time.monotonic

    def judge(self, summary: ContextSummary, view: SessionView) -> ContextSummary:
        """The summary with what the reader chose; without it, and with an issue, where the
        reader failed or did not keep to the question."""
        gate = Redactor()
        shown, candidates = gate.value((summary, key_decisions(view, CANDIDATE)))
        return self._judged(summary, shown, candidates)

    def _judged(
        self,
        summary: ContextSummary,
        shown: ContextSummary,
        candidates: Sequence[KeyDecision],
    ) -> ContextSummary:
        asked = questions(shown, candidates, self.most)
        answered: list[tuple[Question, Choice]] = []
        tokens = seconds = 0.0
        for question in asked:
            try:
                choice, stored = self._answer(question)
            except Exception as error:  # noqa: BLE001 - whatever a reader may raise
                what = f"the second reader {self.name} gave no answer: {error}"
                issue = Issue("second_reader", "warning", one_line(what, _MAX_REASON))
                return replace(summary, issues=(*summary.issues, issue))
            answered.append((question, choice))
            tokens += max_tokens(stored.answer)
            seconds += stored.seconds
        report = ReaderReport(
            self.name, len(asked), sum(q.tokens for q in asked), int(tokens), round(seconds, 3)
        )
        return with_choices(summary, candidates, answered, report)

    def _answer(self, question: Question) -> tuple[Choice, _Stored]:
        key = hashlib.blake2b(f"{self.name}\0{question.text}".encode(), digest_size=16)
        path = self.folder / f"{key.hexdigest()}.json" if self.folder else None
        if path is not None and not self.refresh:
            try:
                stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
                return parse_answer(stored.answer, question), stored
            except (OSError, ValueError, InvalidAnswer):
                pass  # none, or damaged: ask
        text = question.text
        for attempt in range(ATTEMPTS):
            began = self.clock()
            answer = self.reader(text)
            stored = _Stored(answer, round(max(0.0, self.clock() - began), 3))
            try:
                choice = parse_answer(answer, question)
            except InvalidAnswer as error:
                if attempt + 1 == ATTEMPTS:
                    raise
                text = f"{question.text}\nYour last answer was not valid: {error}.\n"
                continue
            if path is not None:
                write_atomic(path, codec.dumps(stored))
            return choice, stored
        raise AssertionError("unreachable")


def second_reading(
    reader: str | Reader,
    *,
    folder: Path | None = None,
    most: int = MAX_TOKENS,
    refresh: bool = False,
) -> SecondReading:
    """How a reader is asked. One that does not exist is a reader that gives no answer.

    Args:
        reader: a registered name (`claude`, `codex`), a command line that takes a question on
            standard input and writes the answer to standard output, or a callable.
    """
    if not isinstance(reader, str):
        name = getattr(reader, "__name__", type(reader).__name__)
        return SecondReading(name, reader, folder, most, refresh)
    return SecondReading(reader, _named(reader), folder, most, refresh)


def _named(name: str) -> Reader:
    try:
        return readers.get(name)
    except UnknownName as error:
        unknown = error
    try:
        command = shlex.split(name)
    except ValueError:
        command = []
    if not command or shutil.which(command[0]) is None:

        def missing(question: str) -> str:
            raise unknown

        return missing
    # Found by its name: what starts programs stands on a floor above.
    clients = import_module("leftoff.integrations.reader_clients")
    found: Reader = clients.program(command)
    return found
