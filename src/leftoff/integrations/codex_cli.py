"""The Codex client's `exec`: command line, events and failures.

Tested with version 0.169.0. Two peculiarities are handled here: it takes an unknown id for the
name of a conversation and silently begins a new one; and it reports the usage of the whole
conversation."""

from leftoff import codec
from leftoff.errors import UsageError
from leftoff.formats.lenient_json import Fields, usage_by
from leftoff.handover.review import DEFAULT_MODEL, FailureKind
from leftoff.live.reviews import Answer, Failure, argument, failure, session_argument

PROGRAM = "codex"
_USAGE = (
    "input_tokens output_tokens cached_input_tokens cache_write_input_tokens"
    " reasoning_output_tokens"
)

# Patterns of error messages, in the last error event or on standard error; a message that
# matches none is `other`.
FAILURES: tuple[tuple[FailureKind, str], ...] = (
    ("unknown", r"no rollout found for (?:thread|conversation) id"),
    ("unknown", r"No saved session found with ID"),
    ("unknown", r"thread not found"),
    ("wrong_model", r"The model .{1,200} does not exist or you do not have access"),
    ("wrong_model", r"encrypted content could not be verified"),
    ("full", r"ran out of room in the model's context window"),
)


class CodexClient:
    """Builds the client's command line and parses its output; `options` of `codex exec` stand
    in every call, such as `--skip-git-repo-check`."""

    name = "codex"
    by_folder = False
    counts_all = True

    def __init__(self, program: str = PROGRAM, options: tuple[str, ...] = ()) -> None:
        self._program, self._options = program, options

    def build_command(
        self, model: str = DEFAULT_MODEL, session_id: str = "", allowed_tools: str = ""
    ) -> list[str]:
        """The command line of a first call, or with a session id of a follow-up.

        Raises:
            UsageError: the client would take a value for an option, or `allowed_tools` is
                given, which this client does not support.

        >>> CodexClient().build_command("default", "abc-123")
        ['codex', 'exec', '--json', 'resume', 'abc-123', '-']"""
        if allowed_tools:
            raise UsageError("codex knows no list of allowed tools; set its sandbox instead")
        # `resume` itself takes fewer options than `exec`, which may stand before it.
        command = [self._program, "exec", *self._options, "--json"]
        command += ["resume"] if session_id else []
        if model != DEFAULT_MODEL:
            command += ["--model", argument("model", model)]
        if session_id:
            command.append(session_argument(session_id))
        return [*command, "-"]

    # The answer's text is never matched against `FAILURES`.
    def outcome(
        self, code: int, stdout: bytes, stderr: bytes, session_id: str = ""
    ) -> Answer | Failure:
        thread, texts, errors, usage, ended = "", [], [], None, False
        for line in stdout.splitlines():
            for event in map(Fields, codec.repair(line)[0]):
                kind, item = event.text("type"), event.at("item")
                if kind == "thread.started":
                    thread = event.text("thread_id") or thread
                elif kind == "item.completed" and item.text("type") == "agent_message":
                    texts.append(item.text("text"))
                elif kind == "turn.completed":
                    ended = True
                    usage = usage_by(event.get("usage"), _USAGE, inclusive=True)
                elif kind in {"turn.failed", "error"}:
                    where = "message" if kind == "error" else "error.message"
                    errors.append(event.text(where))
        if code != 0 or not ended:
            lines = stderr.decode("utf-8", "replace").strip().splitlines()
            # Warnings come before the last line.
            message = next(filter(None, (*errors[-1:], *lines[-1:])), "")
            return failure(message or f"exit code {code} and no answer", FAILURES)
        if session_id and thread != session_id:
            return Failure("unknown", "it began a new conversation instead")
        # Messages before the last one only report progress.
        return Answer(texts[-1] if texts else "", thread, usage)
