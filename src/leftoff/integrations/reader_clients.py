"""Second readers that are programs: Claude Code, Codex, or any command of the user's."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence

from leftoff.errors import ClientError
from leftoff.integrations.claude_cli import ClaudeClient
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews.clients import Answer, Client, ReviewCalls
from leftoff.live.reviews.subprocesses import run
from leftoff.text.truncation import one_line

TIME_LIMIT = 180.0
"""Seconds that a reader may take for one question. Chosen by hand; not measured."""

MAX_ANSWER = 256 * 1024
"""Bytes of an answer."""


def claude(question: str) -> str:
    """Asks Claude Code in print mode.

    Raises:
        ClientError: it cannot be started, or gave no answer.
    """
    return _ask(ClaudeClient(), question)


def codex(question: str) -> str:
    """Asks Codex in its non-interactive mode.

    Raises:
        ClientError: it cannot be started, or gave no answer.
    """
    return _ask(CodexClient(), question)


def _ask(client: Client, question: str) -> str:
    # In an empty folder: a question is about a recording, not about a project.
    with tempfile.TemporaryDirectory(prefix="leftoff-") as folder:
        calls = ReviewCalls(client, None, folder, "default", "", TIME_LIMIT, None)
        found = calls(question)
    if isinstance(found, Answer):
        return found.text
    raise ClientError(f"{client.name}: {found.words}")


def program(command: Sequence[str]) -> Callable[[str], str]:
    """A reader that runs a command: the question on standard input, the answer on standard
    output."""

    def ask(question: str) -> str:
        try:
            done = run(command, question.encode(), limit=TIME_LIMIT, most=MAX_ANSWER)
        except OSError as error:
            raise ClientError(f"{command[0]} cannot be started ({error.strerror})") from error
        if done.stopped == "time_out":
            raise ClientError(f"{command[0]}: no answer within {TIME_LIMIT:g} seconds")
        if len(done.stdout) >= MAX_ANSWER:  # whether we stopped it or the closed pipe did
            raise ClientError(f"{command[0]}: too much output")
        if done.code:
            words = one_line(done.stderr.decode("utf-8", "replace"), 200)
            raise ClientError(f"{command[0]} ended with {done.code}: {words}")
        return done.stdout.decode("utf-8", "replace")

    return ask
