"""Asks a second reader (`handover.second_reader`) and stores its answers.

An answer is stored under a hash of the question and the reader's name, so that the same bytes
give the same summary again and nothing is paid twice. Whatever goes wrong with a reader, the
summary without it stands, with an `Issue` that says so."""

import hashlib
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff.analysis.decisions.select import key_decisions
from leftoff.errors import UnknownName
from leftoff.handover import second_reader
from leftoff.handover.wording import limit_words
from leftoff.model import Issue
from leftoff.redaction.redactor import Redactor
from leftoff.session_view import SessionView
from leftoff.stores.atomic import write_atomic
from leftoff.summary import ContextSummary, ReaderCost
from leftoff.text.truncation import one_line
from leftoff.tokens import max_tokens

# How often a question is asked whose answer is not valid.
ATTEMPTS = 2
# Seconds for all questions about a session. Chosen by hand; not measured.
TIME_LIMIT = 600.0
# Where answers are stored, below leftoff's folder in a project.
STORED = Path("state", "second-reader")
# Code points of what went wrong. Chosen by hand.
_MAX_REASON = 200


class _Stored(Struct, frozen=True):
    """A valid answer as it is stored, the session that was asked about, and what it cost;
    `tokens` are an upper bound of those of the question and the answers before."""

    answer: str
    seconds: float = 0.0
    session: str = ""
    tokens: int = 0


class SecondReading(Struct, frozen=True):
    """How a second reader is asked."""

    name: str  # of the reader, part of the key of a stored answer
    reader: second_reader.Reader  # answers questions
    folder: Path | None = None  # stores answers; None stores nothing
    most: int = second_reader.MAX_TOKENS  # tokens of one question, an upper bound
    refresh: bool = False  # ask again although the answer is stored
    # Seconds for all questions about a session. A reader that takes a time limit (`within`) is
    # stopped then; any other is asked nothing more.
    limit: float = TIME_LIMIT
    gate: Callable[[], Redactor] = Redactor  # makes what redacts the questions about a session
    clock: Callable[[], float] = time.monotonic  # seconds, for how long the reader takes

    def judge(self, summary: ContextSummary, view: SessionView) -> ContextSummary:
        """The summary with what the reader chose; without it, and with an issue, where the
        reader failed or did not keep to the question."""
        shown, candidates = self.gate().value(
            (summary, key_decisions(view, second_reader.CANDIDATE))
        )
        answered: list[tuple[second_reader.Question, second_reader.Choice]] = []
        paid: list[_Stored] = []
        end = self.clock() + self.limit
        for question in second_reader.questions(shown, candidates, self.most):
            try:
                choice, stored = self._answer(question, summary.session.id, end)
            except Exception as error:  # noqa: BLE001 - whatever a reader may raise
                what = f"the second reader {self.name} gave no answer: {error}"
                issue = Issue("second_reader", "warning", one_line(what, _MAX_REASON))
                return replace(summary, issues=(*summary.issues, issue))
            answered.append((question, choice))
            paid.append(stored)
        context = replace(summary.context, second_reader=_cost(paid))
        return second_reader.with_choices(
            replace(summary, context=context), candidates, answered, self.name
        )

    def _answer(
        self, question: second_reader.Question, session: str, end: float
    ) -> tuple[second_reader.Choice, _Stored]:
        key = hashlib.blake2b(f"{self.name}\0{question.text}".encode(), digest_size=16)
        path = self.folder / f"{key.hexdigest()}.json" if self.folder else None
        if path is not None and not self.refresh:
            try:
                stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
                return second_reader.parse_answer(stored.answer, question), stored
            except (OSError, ValueError, second_reader.InvalidAnswer):
                pass  # none, or damaged: ask
        text, tokens, began = question.text, 0, self.clock()
        for attempt in range(ATTEMPTS):
            left = end - self.clock()
            if left <= 0:
                raise TimeoutError(f"no answer within {limit_words(self.limit)}")
            # A callable need not know of time limits.
            within = getattr(self.reader, "within", None)
            answer = (within(left) if within else self.reader)(text)
            tokens += max_tokens(text) + (max_tokens(answer) if attempt else 0)
            seconds = round(max(0.0, self.clock() - began), 3)
            stored = _Stored(answer, seconds, session, tokens)
            try:
                choice = second_reader.parse_answer(answer, question)
            except second_reader.InvalidAnswer as error:
                if attempt + 1 == ATTEMPTS:
                    raise
                text = f"{question.text}\nYour last answer was not valid: {error}.\n"
                continue
            with suppress(OSError):  # a full disk: it is paid for, so it counts
                if path is not None:
                    write_atomic(path, codec.dumps(stored))
            return choice, stored
        raise AssertionError("unreachable")


# A reader by name or command, a callable, or how one is asked.
AnyReader: TypeAlias = str | second_reader.Reader | SecondReading


def second_reading(reader: str | second_reader.Reader) -> SecondReading:
    """How a reader is asked: a registered name (`claude`, `codex`), a command line that takes a
    question on standard input and writes the answer to standard output, or a callable. One that
    does not exist is a reader that gives no answer."""
    if isinstance(reader, str):
        return SecondReading(reader, _named(reader))
    return SecondReading(getattr(reader, "__name__", type(reader).__name__), reader)


def project_reading(
    reader: str, home: Path, *, refresh: bool = False, limit: float = TIME_LIMIT
) -> SecondReading:
    """How a reader is asked whose answers are stored in leftoff's folder of a project."""
    folder = home / STORED
    return replace(second_reading(reader), folder=folder, refresh=refresh, limit=limit)


def stored_cost(home: Path, session: str) -> ReaderCost | None:
    """What the answers about a session cost that are stored in leftoff's folder of a project;
    None if there are none."""
    found: list[_Stored] = []
    for path in sorted((home / STORED).glob("*.json")):
        with suppress(OSError, ValueError):
            found.append(msgspec.json.decode(path.read_bytes(), type=_Stored))
    mine = [stored for stored in found if session and stored.session == session]
    return _cost(mine) if mine else None


def _cost(paid: Sequence[_Stored]) -> ReaderCost:
    return ReaderCost(
        len(paid),
        sum(stored.tokens for stored in paid),
        sum(max_tokens(stored.answer) for stored in paid),
        round(sum(stored.seconds for stored in paid), 3),
    )


def _named(name: str) -> second_reader.Reader:
    try:
        return second_reader.readers.get(name)
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
    found: second_reader.Reader = clients.CommandReader(command=tuple(command))
    return found
