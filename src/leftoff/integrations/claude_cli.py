"""The Claude Code client in print mode: the calls, what it answers, and how it fails.

Tried with version 2.1.197. It keeps a conversation for the folder in which it began: the same
id is unknown elsewhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from leftoff import codec
from leftoff.handover.review import DEFAULT_MODEL, FailureKind
from leftoff.integrations.command_arguments import argument, session_argument
from leftoff.live.reviews.clients import Answer, Failure
from leftoff.live.reviews.reviewer import Reviewer
from leftoff.model import Usage
from leftoff.stores.protocol import Store

PROGRAM = "claude"

FAILURES: tuple[tuple[FailureKind, str], ...] = (
    ("unknown", r"No conversation found with session ID"),
    ("unknown", r"--resume requires a valid session"),
    ("wrong_model", r"There's an issue with the selected model"),
    ("wrong_model", r"Invalid `?signature`? in `?thinking`? block"),
    ("full", r"Prompt is too long"),
)
"""What the client says on standard error, or as the result of a failed call; everything else is
`other`."""


class ClaudeClient:
    """How the client is called, and what its output means.

    Args:
        program: its name or path.
        options: arguments that every call has, before all others.
    """

    name = "claude"
    by_folder = True
    counts_all = False

    def __init__(self, program: str = PROGRAM, options: tuple[str, ...] = ()) -> None:
        self._program, self._options = program, options

    def build_command(
        self, model: str = DEFAULT_MODEL, session_id: str = "", allowed_tools: str = ""
    ) -> list[str]:
        """The arguments of a first call, or with a session id of a follow-up. The prompt goes
        to standard input.

        Raises:
            UsageError: a value would be taken for an option.

        >>> ClaudeClient().build_command("opus", "abc-123", "Read")[1:3]
        ['--resume', 'abc-123']
        """
        command = [self._program, *self._options]
        if session_id:
            command += ["--resume", session_argument(session_id)]
        command += ["--print", "--output-format", "json"]
        if model != DEFAULT_MODEL:
            command += ["--model", argument("model", model)]
        if allowed_tools:
            command += ["--allowedTools", argument("allowed tools", allowed_tools)]
        return command

    def outcome(
        self, code: int, stdout: bytes, stderr: bytes, session_id: str = ""
    ) -> Answer | Failure:
        """What a finished call means; the answer's own words are never taken for a failure."""
        result = _result(stdout)
        said = stderr.decode("utf-8", "replace").strip()
        if result is None:
            said = said or stdout.decode("utf-8", "replace").strip()
            return failure(said or f"exit code {code} and no JSON result", FAILURES)
        text, subtype = result.get("result"), result.get("subtype")
        if result.get("is_error") is True or code != 0 or not isinstance(text, str):
            told = [t for t in (text, said) if isinstance(t, str) and t]
            told += [str(e) for e in result.get("errors") or () if isinstance(e, str)]
            return failure("; ".join(told) or f"{subtype}, exit code {code}", FAILURES)
        found = result.get("session_id")
        return Answer(
            text, found if isinstance(found, str) else "", _usage(result.get("usage"))
        )


def failure(said: str, kinds: tuple[tuple[FailureKind, str], ...]) -> Failure:
    """What a client's words mean, by a table of patterns; the first that is found counts."""
    for kind, pattern in kinds:
        if re.search(pattern, said, re.IGNORECASE):
            return Failure(kind, said)
    return Failure("other", said)


def count(value: Any) -> int:
    """A count of tokens; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _result(stdout: bytes) -> dict[str, Any] | None:
    """The result object: all of the output, or in verbose settings the last of a list."""
    try:
        value = codec.parse(stdout)
    except ValueError:
        return None
    listed = value if isinstance(value, list) else [value]
    found = [v for v in listed if isinstance(v, dict) and v.get("type") == "result"]
    return found[-1] if found else None


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    return Usage(
        count(value.get("input_tokens")),
        count(value.get("output_tokens")),
        count(value.get("cache_read_input_tokens")),
        count(value.get("cache_creation_input_tokens")),
    )


class ClaudeReviewer(Reviewer):
    """A `Reviewer` that asks Claude Code.

    Args:
        store: where reviews are kept.
        program: the client's name or path.
        options: those of `Reviewer`.
    """

    def __init__(self, store: Store, *, program: str | Path = PROGRAM, **options: Any) -> None:
        super().__init__(ClaudeClient(str(program)), store, **options)
