"""The conversation in a checkpoint: its last messages, and the checks that ran."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

from leftoff import codec
from leftoff.handover.value import Value
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.redaction.rules import is_secret_path
from leftoff.summary import ContextSummary
from leftoff.text.sanitize import clean
from leftoff.text.truncation import truncate
from leftoff.tokens import estimate_tokens

# Iterations of the history that a checkpoint keeps.
MAX_ITERATIONS = 5
# Code points of one entry; tool calls and results take a quarter of it.
MAX_ENTRY_LENGTH = 4_000

# A command, a button and a rejected call are typed, too, but begin no iteration.
_PROMPTS = frozenset({"prompt", "queued"})


class PromptLogEntry(Value, frozen=True, kw_only=True):
    """One message of the conversation.

    Attributes:
        iteration: 1 with the first prompt, one more with each that follows.
        role: user | assistant | tool | system.
        tokens: of `content`, an estimate.
        at: ISO 8601, "" where the recorder gives no time."""

    iteration: int
    role: str
    content: str
    tokens: int = 0
    at: str = ""
    provider: str = ""


class ValidationResult(Value, frozen=True, kw_only=True):
    """A run of tests, a build, a linter or a type checker.

    Attributes:
        succeeded: its verdict in the summary; None if unknown.
        passed, failed: how many checks, as its output says; None where it gives no count.
        output_tail: its last lines.
        at: ISO 8601, "" where the recorder gives no time."""

    command: str
    succeeded: bool | None = None
    passed: int | None = None
    failed: int | None = None
    output_tail: str = ""
    at: str = ""


def history(
    messages: Sequence[Message], provider: str = "", *, lines: int = 500
) -> tuple[tuple[PromptLogEntry, ...], int]:
    """The newest messages of the main thread as entries, and how many iterations there were.

    An iteration begins with a prompt that a person typed; a call that was rejected and a slash
    command are none. What tools gave back stands under "tool", whatever line it rode on; what
    the recorder put in stands under "system". The result has the last `MAX_ITERATIONS` and at
    most `lines` lines, whichever is less; only an entry that alone has more lines is cut, and
    keeps its end. What a file of secrets holds is left out whole, wherever a call read or wrote
    it by name."""
    numbered: list[tuple[int, Message]] = []
    secret_calls: set[str] = set()
    count = 0
    for message in messages:
        if message.agent:
            continue
        count += any(span.via in _PROMPTS for span in message.typed)
        numbered.append((max(1, count), message))
        for part in message.parts:
            if isinstance(part, ToolCall) and _names_secrets(part.input):
                secret_calls.add(part.id)
    newest = numbered[-1][0] if numbered else 0
    entries: list[PromptLogEntry] = []
    gate = Redactor(personal=True)
    said = (
        (iteration, message, role, words)
        for iteration, message in reversed(numbered)
        if iteration > newest - MAX_ITERATIONS
        for role, words in reversed(_texts_by_role(message, secret_calls, gate))
    )
    for iteration, message, role, words in said:
        split = clean(words).splitlines()
        if lines <= 0 or (entries and len(split) > lines):
            break
        if len(split) > lines:
            split = gate.text("\n".join(split)).splitlines()[-lines:]
        lines -= len(split)
        content = "\n".join(split)
        entries.append(
            PromptLogEntry(
                iteration=iteration,
                role=role,
                content=content,
                tokens=estimate_tokens(content),
                at=message.time,
                provider=provider,
            )
        )
    return tuple(reversed(entries)), newest


def first_user_text(messages: Iterable[Message]) -> str:
    """The first user message, typed or not: a subagent's task is not typed by a person."""
    words = (m.text.strip() for m in messages if m.role == "user" and not m.agent)
    return next(filter(None, words), "")


def _texts_by_role(
    message: Message, secret_calls: set[str], gate: Redactor
) -> list[tuple[str, str]]:
    """The words of a message with who speaks: what tools gave back apart from the rest."""
    role_of_message: str = message.role
    if role_of_message == "user" and not message.typed and message.origin != "prompt":
        role_of_message = "system"
    said = [
        ("tool" if isinstance(part, ToolResult) else role_of_message, words)
        for part in message.parts
        if (words := _part_text(part, secret_calls, gate))
    ]
    groups = groupby(said, key=itemgetter(0))
    return [(role, "\n\n".join(words for _, words in group)) for role, group in groups]


def _part_text(part: object, secret_calls: set[str], gate: Redactor) -> str:
    """A part as the history shows it, "" for what it does not show."""
    if isinstance(part, Text):
        return _truncated(part.text, MAX_ENTRY_LENGTH, gate)
    if isinstance(part, ToolCall):
        arguments = part.input
        if part.id in secret_calls:
            return f"[calls {part.name} on a file of secrets]"
        if not isinstance(arguments, str):  # before they are JSON, whose escapes part words
            arguments = codec.dumps(gate.value(arguments)).decode()
        return (
            f"[calls {part.name}] {_truncated(arguments.strip(), MAX_ENTRY_LENGTH // 4, gate)}"
        )
    if isinstance(part, ToolResult) and part.call_id in secret_calls:
        return "[content of a file of secrets]"
    if isinstance(part, ToolResult) and part.text:
        return f"[result] {_truncated(part.text, MAX_ENTRY_LENGTH // 4, gate)}"
    return ""


def _truncated(text: str, limit: int, gate: Redactor) -> str:
    """Cleaned text of at most `limit` code points; what is cut is redacted first, since half of
    a key is no key to any rule."""
    text = clean(text)
    return text if len(text) <= limit else truncate(gate.text(text), limit)


def _names_secrets(arguments: object) -> bool:
    """Whether the arguments of a call name a file of secrets."""
    given = arguments.items() if isinstance(arguments, dict) else ()
    return any(
        is_secret_path(v) for k, v in given if isinstance(v, str) and "path" in k.casefold()
    )


def validations(
    summary: ContextSummary, messages: Iterable[Message]
) -> tuple[ValidationResult, ...]:
    """Every run of a check, oldest first, as the summary has it (`checks`), so that all
    documents say the same of one."""
    times = {message.index: message.time for message in messages}
    return tuple(
        ValidationResult(
            command=check.command or check.tool,
            succeeded=None if check.verdict == "unknown" else check.verdict == "passed",
            passed=check.passed,
            failed=check.failed,
            output_tail=check.tail,
            at=times.get((check.result or check.ref).message, ""),
        )
        for check in summary.checks
    )
