"""What is expected of an agent's client that we run, and how it is asked."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from leftoff.errors import ClientError
from leftoff.handover.review import FailureKind
from leftoff.live.reviews import subprocesses
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import one_line

_WORDS = 400
"""Code points that are kept of what a client says when it fails."""

_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)


class Answer(Struct, frozen=True):
    """What a client answered.

    Attributes:
        session_id: under which it keeps the conversation from now on.
        usage: what it counted; of the whole conversation where `Client.counts_all` says so.
    """

    text: str
    session_id: str = ""
    usage: Usage | None = None


class Failure(Struct, frozen=True):
    """Why there is no answer, in the client's words."""

    kind: FailureKind
    words: str


class Client(Protocol):
    """A program that talks with an agent.

    Attributes:
        name: what it is called in documents.
        by_folder: a conversation is known only in the folder in which it began.
        counts_all: it reports the usage of the whole conversation, not of the last answer.
    """

    name: str
    by_folder: bool
    counts_all: bool

    def build_command(
        self, model: str = ..., session_id: str = ..., allowed_tools: str = ...
    ) -> list[str]:
        """The program and its arguments; the prompt comes on standard input."""
        ...

    def outcome(
        self, code: int, stdout: bytes, stderr: bytes, session_id: str = ...
    ) -> Answer | Failure:
        """What a finished run means. `session_id` is the conversation that it was to resume."""
        ...


class Stopped(Exception):
    """Whoever asked does not want to know any more."""


class Asking:
    """The calls of one review, within its time.

    Attributes:
        sent: the prompts that were sent.
        seconds: how long the last call took.
    """

    def __init__(
        self,
        client: Client,
        environ: Mapping[str, str] | None,
        folder: str,
        model: str,
        allowed_tools: str,
        limit: float,
        stop: threading.Event | None,
    ) -> None:
        self._client, self._environ, self._folder = client, environ, folder
        self._stop = stop
        self._model, self._allowed_tools = model, allowed_tools
        self._limit = limit
        self._end = time.monotonic() + limit
        self.sent: list[str] = []
        self.seconds = 0.0

    def __call__(self, prompt: str, session_id: str = "") -> Answer | Failure:
        command = self._client.build_command(self._model, session_id, self._allowed_tools)
        try:
            done = subprocesses.run(
                command,
                prompt.encode(),
                limit=max(0.0, self._end - time.monotonic()),
                folder=self._folder,
                environ=self._environ,
                stop=self._stop,
            )
        except OSError as error:
            raise ClientError(
                f"{command[0]} cannot be started ({error.strerror}): install it, or put it on "
                "the PATH"
            ) from error
        self.sent.append(prompt)
        self.seconds = done.seconds
        if done.stopped == "asked":
            raise Stopped
        if done.stopped == "time_out":
            return Failure("time_out", f"no answer within {self._limit:g} seconds")
        if done.stopped:
            return Failure("other", f"more than {subprocesses.MOST_OUTPUT} bytes of output")
        found = self._client.outcome(done.code, done.stdout, done.stderr, session_id)
        if isinstance(found, Failure):
            return Failure(found.kind, _words(found.words, session_id))
        return found


def _words(said: str, session_id: str) -> str:
    """What a client says, in one line, without ids and secrets."""
    if session_id:
        said = said.replace(session_id, "[session]")
    said = _UUID.sub("[session]", said)
    return one_line(Redactor().text(said), _WORDS)
