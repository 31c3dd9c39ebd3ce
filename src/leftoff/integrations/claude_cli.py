"""The Claude Code client in print mode: command line, output and failures.

Tested with version 2.1.197. A session id is valid only in the folder in which the conversation
began."""

from pathlib import Path
from typing import Any

from leftoff import codec
from leftoff.formats.lenient_json import Fields, text_of, usage_by
from leftoff.handover.review import DEFAULT_MODEL, FailureKind
from leftoff.live.reviews import Answer, Failure, Reviewer, argument, failure, session_argument
from leftoff.stores.protocol import Store

PROGRAM = "claude"
_USAGE = "input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens"

# Patterns of error messages, on standard error or in the result of a failed call; a message
# that matches none is `other`.
FAILURES: tuple[tuple[FailureKind, str], ...] = (
    ("unknown", r"No conversation found with session ID"),
    ("unknown", r"--resume requires a valid session"),
    ("wrong_model", r"There's an issue with the selected model"),
    ("wrong_model", r"Invalid `?signature`? in `?thinking`? block"),
    ("full", r"Prompt is too long"),
)


class ClaudeClient:
    """Builds the client's command line and parses its output; `options` stand before all others
    in every call."""

    name = "claude"
    by_folder = True
    counts_all = False

    def __init__(self, program: str = PROGRAM, options: tuple[str, ...] = ()) -> None:
        self._program, self._options = program, options

    def build_command(
        self, model: str = DEFAULT_MODEL, session_id: str = "", allowed_tools: str = ""
    ) -> list[str]:
        """The command line of a first call, or with a session id of a follow-up.

        Raises:
            UsageError: the client would take a value for an option.

        >>> ClaudeClient().build_command("opus", "abc-123", "Read")[1:3]
        ['--resume', 'abc-123']"""
        command = [self._program, *self._options]
        if session_id:
            command += ["--resume", session_argument(session_id)]
        command += ["--print", "--output-format", "json"]
        if model != DEFAULT_MODEL:
            command += ["--model", argument("model", model)]
        if allowed_tools:
            command += ["--allowedTools", argument("allowed tools", allowed_tools)]
        return command

    # The answer's text is never matched against `FAILURES`.
    def outcome(
        self, code: int, stdout: bytes, stderr: bytes, session_id: str = ""
    ) -> Answer | Failure:
        result = _result(stdout)
        message = stderr.decode("utf-8", "replace").strip()
        if result is None:
            message = message or stdout.decode("utf-8", "replace").strip()
            return failure(message or f"exit code {code} and no JSON result", FAILURES)
        text = result.get("result")
        if result.get("is_error") is True or code != 0 or not isinstance(text, str):
            errors = result.get("errors")
            said = [text, message, *(errors if isinstance(errors, list) else ())]
            what = f"{result.text('subtype') or 'no answer'}, exit code {code}"
            return failure("; ".join(filter(None, map(text_of, said))) or what, FAILURES)
        return Answer(text, result.text("session_id"), usage_by(result.get("usage"), _USAGE))


def _result(stdout: bytes) -> Fields | None:
    """The result object: the whole output, or with verbose output the last item of a list."""
    try:
        value = codec.parse(stdout)
    except ValueError:
        return None
    listed = map(Fields, reversed(value) if isinstance(value, list) else [value])
    return next((found for found in listed if found.text("type") == "result"), None)


class ClaudeReviewer(Reviewer):
    """A `Reviewer` that asks Claude Code; `program` is its name or path."""

    def __init__(self, store: Store, *, program: str | Path = PROGRAM, **options: Any) -> None:
        super().__init__(ClaudeClient(str(program)), store, **options)
