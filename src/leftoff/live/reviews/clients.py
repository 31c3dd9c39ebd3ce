"""The interface of an agent's client, and the calls of a review."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff import subprocesses
from leftoff.errors import ClientError, UsageError
from leftoff.handover.review import FailureKind, is_valid_session_id
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import one_line

# Maximum length of a client's error message, in code points.
_MAX_MESSAGE_CHARS = 400
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)


class Answer(Struct, frozen=True):
    """The answer of a client: `session_id` is that of the conversation from now on, `usage` of
    this answer, or of the whole conversation if `Client.counts_all`."""

    text: str
    session_id: str = ""
    usage: Usage | None = None


class Failure(Struct, frozen=True):
    """Why there is no answer; `words` is the client's error message."""

    kind: FailureKind
    words: str


class Client(Protocol):
    """A command-line client of an agent.

    Attributes:
        name: its name in documents.
        by_folder: a session id is valid only in the folder in which the conversation began.
        counts_all: it reports the usage of the whole conversation, not of the last answer."""

    name: str
    by_folder: bool
    counts_all: bool

    # The prompt goes to standard input.
    def build_command(
        self, model: str = ..., session_id: str = ..., allowed_tools: str = ...
    ) -> list[str]: ...
    # Of a finished run that was to resume `session_id`.
    def outcome(
        self, code: int, stdout: bytes, stderr: bytes, session_id: str = ...
    ) -> Answer | Failure: ...


def argument(name: str, value: str) -> str:
    """Returns the value if the program cannot take it for an option; `UsageError` where it
    begins with "-" or holds a non-printable character."""
    if value.startswith("-") or not value.isprintable():
        raise UsageError(f"{name} {value!r}: must not begin with '-' or hold line breaks")
    return value


def session_argument(value: str) -> str:
    """The value; `UsageError` if it is no session id."""
    if not is_valid_session_id(value):
        raise UsageError("a session id is letters, digits, '.', '_' and '-'")
    return value


def failure(message: str, kinds: tuple[tuple[FailureKind, str], ...]) -> Failure:
    """Classifies a client's error message by the first pattern of `kinds` that matches."""
    for kind, pattern in kinds:
        if re.search(pattern, message, re.IGNORECASE):
            return Failure(kind, message)
    return Failure("other", message)


class Stopped(Exception):
    """The caller cancelled the review."""


@dataclass
class ReviewCalls:
    """The calls of one review within its time limit: the prompts `sent`, and the `seconds` of
    the last one."""

    client: Client
    environ: Mapping[str, str] | None
    folder: str
    model: str
    allowed_tools: str
    limit: float
    stop: threading.Event | None
    sent: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.limit

    def __call__(self, prompt: str, session_id: str = "") -> Answer | Failure:
        command = self.client.build_command(self.model, session_id, self.allowed_tools)
        try:
            done = subprocesses.run(
                command,
                prompt.encode(),
                limit=max(0.0, self._end - time.monotonic()),
                folder=self.folder,
                environ=self.environ,
                stop=self.stop,
            )
        except OSError as error:
            what = f"{command[0]} cannot be started ({error.strerror})"
            raise ClientError(f"{what}: install it, or put it on the PATH") from error
        self.sent.append(prompt)
        self.seconds = done.seconds
        if done.stopped == "asked":
            raise Stopped
        if done.stopped == "time_out":
            return Failure("time_out", f"no answer within {self.limit:g} seconds")
        if done.stopped:
            return Failure("other", f"more than {subprocesses.MOST_OUTPUT} bytes of output")
        found = self.client.outcome(done.code, done.stdout, done.stderr, session_id)
        if isinstance(found, Failure):
            return Failure(found.kind, _clean_message(found.words, session_id))
        return found


def _clean_message(message: str, session_id: str) -> str:
    if session_id:
        message = message.replace(session_id, "[session]")
    message = _UUID.sub("[session]", message)
    return one_line(Redactor().text(message), _MAX_MESSAGE_CHARS)
