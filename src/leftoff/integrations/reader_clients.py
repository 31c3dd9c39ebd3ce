"""Second readers that are programs: Claude Code, Codex, or any command of the user's."""

import tempfile
from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from leftoff.errors import ClientError
from leftoff.handover.wording import limit_words
from leftoff.integrations.claude_cli import ClaudeClient
from leftoff.integrations.codex_cli import CodexClient
from leftoff.live.reviews import Answer, Client, ReviewCalls
from leftoff.subprocesses import run
from leftoff.text.truncation import one_line

# Seconds that a reader may take for one question. Chosen by hand; not measured.
TIME_LIMIT = 180.0
# Bytes of an answer.
MAX_ANSWER = 256 * 1024


class _Program(Struct, frozen=True, kw_only=True):
    limit: float = TIME_LIMIT

    def within(self, seconds: float) -> "_Program":
        """The same reader, which takes no longer than that."""
        return replace(self, limit=min(self.limit, seconds))

    def __call__(self, question: str, /) -> str:
        """The answer; `ClientError` where the program cannot be started or gave none."""
        raise NotImplementedError


class ClientReader(_Program, frozen=True):
    """Asks the client of an agent."""

    make: Callable[[], Client]

    def __call__(self, question: str, /) -> str:
        client = self.make()
        # In an empty folder: a question is about a recording, not about a project.
        with tempfile.TemporaryDirectory(prefix="leftoff-") as folder:
            calls = ReviewCalls(client, None, folder, "default", "", self.limit, None)
            found = calls(question)
        if isinstance(found, Answer):
            return found.text
        raise ClientError(f"{client.name}: {found.words}")


class CommandReader(_Program, frozen=True):
    """Runs a command: the question on standard input, the answer on standard output."""

    command: tuple[str, ...]

    def __call__(self, question: str, /) -> str:
        name = self.command[0]
        try:
            done = run(self.command, question.encode(), limit=self.limit, most=MAX_ANSWER)
        except OSError as error:
            raise ClientError(f"{name} cannot be started ({error.strerror})") from error
        if done.stopped == "time_out":
            raise ClientError(f"{name}: no answer within {limit_words(self.limit)}")
        if len(done.stdout) >= MAX_ANSWER:  # whether we stopped it or the closed pipe did
            raise ClientError(f"{name}: too much output")
        if done.code:
            words = one_line(done.stderr.decode("utf-8", "replace"), 200)
            raise ClientError(f"{name} ended with {done.code}: {words}")
        return done.stdout.decode("utf-8", "replace")


claude = ClientReader(make=ClaudeClient)
# Codex refuses folders without a repository, and the empty one has none.
codex = ClientReader(make=partial(CodexClient, options=("--skip-git-repo-check",)))
