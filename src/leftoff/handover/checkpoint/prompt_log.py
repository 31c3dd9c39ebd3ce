"""The conversation in a checkpoint: its last messages, and the checks that ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from leftoff import codec
from leftoff.analysis.activities import of_command
from leftoff.handover.resume_state.calls import commands_of
from leftoff.handover.value import Value
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor, is_secret_path
from leftoff.summary import ContextSummary
from leftoff.text.sanitize import clean
from leftoff.text.truncation import truncate
from leftoff.tokens import estimate_tokens

MAX_ITERATIONS = 5
"""Iterations of the history that a checkpoint keeps."""

MAX_ENTRY_LENGTH = 4_000
"""Code points of one entry; tool calls and results take a quarter of it."""

_CHECKS = frozenset({"test", "build", "lint"})
_PROMPTS = frozenset({"prompt", "queued"})
_TAIL_LINES = 20
_PASSED = re.compile(
    r"\b(\d{1,7}) (?:tests? )?pass(?:ed|ing)\b|^# pass (\d{1,7})$", re.IGNORECASE | re.MULTILINE
)
_FAILED = re.compile(
    r"\b(\d{1,7}) (?:tests? )?(?:failed|failing|failures?|errors?)\b|^# fail (\d{1,7})$",
    re.IGNORECASE | re.MULTILINE,
)


class PromptLogEntry(Value, frozen=True, kw_only=True):
    """One message of the conversation.

    Attributes:
        iteration: 1 with the first prompt, one more with each that follows.
        role: user | assistant | tool | system.
        tokens: of `content`, an estimate.
        at: ISO 8601, "" where the recorder gives no time.
        provider: who worked on the task.
    """

    iteration: int
    role: str
    content: str
    tokens: int = 0
    at: str = ""
    provider: str = ""


class ValidationResult(Value, frozen=True, kw_only=True):
    """A test, build or lint run.

    Attributes:
        succeeded: the summary's outcome of the command's last run; None if unknown, and for
            earlier runs.
        passed, failed: how many checks, as its output says; None where it gives no count.
        output_tail: its last lines.
        at: ISO 8601, "" where the recorder gives no time.
    """

    command: str
    succeeded: bool | None = None
    passed: int | None = None
    failed: int | None = None
    output_tail: str = ""
    at: str = ""


def history(
    messages: Sequence[Message],
    provider: str = "",
    *,
    iterations: int = MAX_ITERATIONS,
    lines: int = 500,
) -> tuple[tuple[PromptLogEntry, ...], int]:
    """The newest messages of the main thread as entries, and how many iterations there were.

    An iteration begins with a prompt that a person typed; a call that was rejected and a slash
    command are none. What tools gave back stands under "tool", whatever line it rode on; what
    the recorder put in stands under "system". The result has the last `iterations` and at
    most `lines` lines, whichever is less; only an entry that alone has more lines is cut, and
    keeps its end. What a file of secrets holds is left out whole, wherever a call read or wrote
    it by name.
    """
    numbered: list[tuple[int, Message]] = []
    secret_calls: set[str] = set()
    count = 0
    for message in messages:
        if message.agent:
            continue
        count += any(span.via in _PROMPTS for span in message.typed)
        numbered.append((max(1, count), message))
        for part in message.parts:
            if isinstance(part, ToolCall) and any(
                map(is_secret_path, _path_arguments(part.input))
            ):
                secret_calls.add(part.id)
    if not numbered:
        return (), 0
    newest = numbered[-1][0]
    entries: list[PromptLogEntry] = []
    gate = Redactor(personal=True)
    remaining_lines = lines
    for iteration, message in reversed(numbered):
        if remaining_lines <= 0 or iteration <= newest - iterations:
            break
        for role, words in reversed(_texts_by_role(message, secret_calls, gate)):
            split = words.splitlines()
            if len(split) > remaining_lines:
                if entries:
                    remaining_lines = 0
                    break
                split = gate.text("\n".join(split)).splitlines()[-remaining_lines:]
            remaining_lines -= len(split)
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
    found: list[tuple[str, list[str]]] = []
    for part in message.parts:
        words = _part_text(part, secret_calls, gate)
        role = "tool" if isinstance(part, ToolResult) else role_of_message
        if words and found and found[-1][0] == role:
            found[-1][1].append(words)
        elif words:
            found.append((role, [words]))
    return [(role, "\n\n".join(words)) for role, words in found]


def _part_text(part: Any, secret_calls: set[str], gate: Redactor) -> str:
    """A part as the history shows it, "" for what it does not show."""
    if isinstance(part, Text):
        return _truncated(part.text, MAX_ENTRY_LENGTH, gate)
    if isinstance(part, ToolCall):
        arguments = part.input
        if part.id in secret_calls or any(map(is_secret_path, _path_arguments(arguments))):
            return f"[calls {part.name} on a file of secrets]"
        shown = arguments if isinstance(arguments, str) else codec.dumps(arguments).decode()
        return f"[calls {part.name}] {_truncated(shown.strip(), MAX_ENTRY_LENGTH // 4, gate)}"
    if isinstance(part, ToolResult):
        if part.call_id in secret_calls:
            return "[content of a file of secrets]"
        return (
            f"[result] {_truncated(part.text, MAX_ENTRY_LENGTH // 4, gate)}"
            if part.text
            else ""
        )
    return ""


def _truncated(text: str, limit: int, gate: Redactor) -> str:
    """Cleaned text of at most `limit` code points; what is cut is redacted first, since half of
    a key is no key to any rule."""
    text = clean(text)
    return text if len(text) <= limit else truncate(gate.text(text), limit)


def _path_arguments(arguments: Any) -> list[str]:
    if not isinstance(arguments, dict):
        return []
    return [v for k, v in arguments.items() if isinstance(v, str) and "path" in k.casefold()]


def validations(
    summary: ContextSummary, messages: Iterable[Message]
) -> tuple[ValidationResult, ...]:
    """Every run of tests, a build or a linter that came back, oldest first.

    Whether one succeeded, the summary says (`working_set.commands`), so that all documents say
    the same of a check.
    """
    known = {
        (command.ref.message, command.ref.part, command.text): command.passed
        for command in summary.working_set.commands
    }
    running: dict[str, tuple[tuple[str, bool | None], ...]] = {}
    gate = Redactor(personal=True)
    found: list[ValidationResult] = []
    for message in messages:
        if message.agent:
            continue
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                checks = tuple(
                    (command, known.get((message.index, number, command.strip())))
                    for command in commands_of(part.name, part.input)
                    if _CHECKS & set(of_command(command))
                )
                if checks:
                    running[part.id] = checks
            elif isinstance(part, ToolResult):
                for command, succeeded in running.pop(part.call_id, ()):
                    found.append(_result(command, succeeded, part, message.time, gate))
    return tuple(found)


def _result(
    command: str, succeeded: bool | None, part: ToolResult, at: str, gate: Redactor
) -> ValidationResult:
    lines = clean(part.text).rstrip().splitlines()
    if len(lines) > _TAIL_LINES or sum(map(len, lines)) + len(lines) > MAX_ENTRY_LENGTH // 2:
        lines = gate.text("\n".join(lines)).splitlines()[-_TAIL_LINES:]
    tail = truncate("\n".join(lines), MAX_ENTRY_LENGTH // 2)
    return ValidationResult(
        command=_truncated(command, MAX_ENTRY_LENGTH // 4, gate),
        succeeded=succeeded,
        passed=_counted(_PASSED, tail),
        failed=_counted(_FAILED, tail),
        output_tail=tail,
        at=at,
    )


def _counted(pattern: re.Pattern[str], text: str) -> int | None:
    counts = [first or second for first, second in pattern.findall(text)]
    return int(counts[-1]) if counts else None
