"""The conversation in a checkpoint: what was said, in bounds, and the last check that ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from leftoff import codec
from leftoff.documents.value import Value
from leftoff.judgement.activities import of_command
from leftoff.model import Message, Text, ToolCall, ToolResult
from leftoff.redaction import is_secret_path
from leftoff.text import clean, truncate
from leftoff.tokens import estimate_tokens

ITERATIONS = 5
"""Iterations of the history that a checkpoint keeps."""

ENTRY = 4_000
"""Code points of one entry; tool calls and results take a quarter of it."""

_CHECKS = frozenset({"test", "build", "lint"})
_TAIL = 20
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
        tokens: of `content`, as far as can be told.
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
    """The last test, build or lint run.

    Attributes:
        passed, failed: how many checks; 1 and 0, or 0 and 1, where the output gives no count.
        output_tail: its last lines.
        at: ISO 8601, "" where the recorder gives no time.
    """

    command: str
    passed: int
    failed: int
    output_tail: str = ""
    at: str = ""


def history(
    messages: Sequence[Message],
    provider: str = "",
    *,
    iterations: int = ITERATIONS,
    lines: int = 500,
) -> tuple[tuple[PromptLogEntry, ...], int]:
    """The newest messages of the main thread as entries, and how many iterations there were.

    An iteration begins with a prompt that somebody typed. Kept are the last `iterations` and at
    most `lines` lines, whichever is less; only an entry that alone has more lines is cut, and
    keeps its end. What a file of secrets holds is left out whole, wherever a call read or wrote
    it by name.
    """
    spoken: list[tuple[int, Message]] = []
    secret: set[str] = set()
    count = 0
    for message in messages:
        if message.agent:
            continue
        count += bool(message.typed)
        spoken.append((max(1, count), message))
        for part in message.parts:
            if isinstance(part, ToolCall) and any(map(is_secret_path, _paths(part.input))):
                secret.add(part.id)
    if not spoken:
        return (), 0
    newest = spoken[-1][0]
    kept: list[PromptLogEntry] = []
    room = lines
    for iteration, message in reversed(spoken):
        if room <= 0 or iteration <= newest - iterations:
            break
        words = [w for w in (_words(part, secret) for part in message.parts) if w]
        if not words:
            continue
        split = "\n\n".join(words).splitlines()
        if len(split) > room:
            if kept:
                break
            split = split[-room:]
        room -= len(split)
        content = "\n".join(split)
        kept.append(
            PromptLogEntry(
                iteration=iteration,
                role=message.role,
                content=content,
                tokens=estimate_tokens(content),
                at=message.time,
                provider=provider,
            )
        )
    return tuple(reversed(kept)), newest


def _words(part: Any, secret: set[str]) -> str:
    """A part as the history shows it, "" for what it does not show."""
    if isinstance(part, Text):
        return truncate(clean(part.text), ENTRY)
    if isinstance(part, ToolCall):
        given = part.input
        if part.id in secret or any(map(is_secret_path, _paths(given))):
            return f"[calls {part.name} on a file of secrets]"
        shown = given if isinstance(given, str) else codec.dumps(given).decode()
        return f"[calls {part.name}] {truncate(clean(shown.strip()), ENTRY // 4)}"
    if isinstance(part, ToolResult):
        if part.call_id in secret:
            return "[content of a file of secrets]"
        return f"[result] {truncate(clean(part.text), ENTRY // 4)}" if part.text else ""
    return ""


def _paths(given: Any) -> list[str]:
    if not isinstance(given, dict):
        return []
    return [v for k, v in given.items() if isinstance(v, str) and "path" in k.casefold()]


def validations(messages: Iterable[Message]) -> tuple[ValidationResult, ...]:
    """Every run of tests, a build or a linter that came back, oldest first."""
    running: dict[str, str] = {}
    found: list[ValidationResult] = []
    for message in messages:
        if message.agent:
            continue
        for part in message.parts:
            if isinstance(part, ToolCall) and part.kind == "shell":
                command = _command(part.input)
                if command and _CHECKS & set(of_command(command)):
                    running[part.id] = command
            elif isinstance(part, ToolResult) and part.call_id in running:
                found.append(_result(running.pop(part.call_id), part, message.time))
    return tuple(found)


def _command(given: Any) -> str:
    if isinstance(given, dict):
        given = given.get("command") or given.get("cmd") or ""
    if isinstance(given, list):
        given = " ".join(str(word) for word in given)
    return given if isinstance(given, str) else ""


def _result(command: str, part: ToolResult, at: str) -> ValidationResult:
    lines = clean(part.text).rstrip().splitlines()[-_TAIL:]
    tail = truncate("\n".join(lines), ENTRY // 2)
    bad = part.status in {"error", "timeout", "interrupted"} or bool(part.exit_code)
    passed, failed = _counted(_PASSED, tail), _counted(_FAILED, tail)
    if passed is None and failed is None:
        passed, failed = int(not bad), int(bad)
    return ValidationResult(
        command=truncate(clean(command), ENTRY // 4),
        passed=passed or 0,
        failed=failed or int(bad and not failed),
        output_tail=tail,
        at=at,
    )


def _counted(pattern: re.Pattern[str], text: str) -> int | None:
    counts = [first or second for first, second in pattern.findall(text)]
    return int(counts[-1]) if counts else None
