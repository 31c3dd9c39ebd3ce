"""What a person typed in the user messages of Claude Code.

Slash commands, notices of the client and of wrappers around it, pasted transcripts; see
docs/formats/claude_code.md."""

from __future__ import annotations

from leftoff import lazy_re as re
from leftoff.formats.injected import shifted, typed_spans
from leftoff.formats.lenient_json import Fields
from leftoff.formats.openai_parts import decode_arguments
from leftoff.formats.pasted import transcript_span
from leftoff.formats.vocabulary import KINDS
from leftoff.model import Typed

_COMMAND = re.compile(
    r"\s*(?:<command-message>[^<]*</command-message>\s*)?"
    r"<command-name>\s*/?(?P<name>[^<\s]+)\s*</command-name>\s*"
    r"(?:<command-message>[^<]*</command-message>\s*)?"
    r"(?:<command-args>(?P<arguments>.*?)</command-args>\s*)?",
    re.DOTALL,
)
# Commands that the client carries out itself; alone, without arguments, they are a button.
_CLIENT_COMMANDS = KINDS["claude_code_client_commands"]
_UNKNOWN_COMMAND = re.compile(r"\s*Unknown (?:skill|slash command|command): \S+\s*")
_NOTICE_BLOCK = re.compile(
    r"<ci-monitor-event\b.*?(?:</ci-monitor-event>|\Z)"
    r"|<{0,3}BEGIN_OPENCLAW_INTERNAL_CONTEXT\b.*?(?:END_OPENCLAW_INTERNAL_CONTEXT>{0,3}|\Z)",
    re.DOTALL,
)


def typed_words(
    part: int, text: str, via: str = "prompt", *, meta: bool = False
) -> tuple[str, tuple[Typed, ...]]:
    """The text to show and the spans that a person typed.

    A slash command is shown as it was typed, its name before its arguments; notices of the
    client and of wrappers around it were typed by no person."""
    if "<command-name>" in text and (found := _COMMAND.fullmatch(text)) is not None:
        arguments = (found["arguments"] or "").strip()
        shown = f"/{found['name']} {arguments}".rstrip()
        button = not arguments and found["name"] in _CLIENT_COMMANDS
        if meta or button:
            return shown, ()
        return shown, (Typed(part, 0, len(shown), "command"),)
    if meta or _is_notice(text):
        return text, ()
    blocks: list[tuple[int, int]] = []
    if "_OPENCLAW_INTERNAL_" in text or "<ci-monitor-event" in text:
        blocks = [found.span() for found in _NOTICE_BLOCK.finditer(text)]
    elif pasted := transcript_span(text):
        blocks = [pasted]
    if not blocks:
        return text, typed_spans(part, text, via)
    spans: list[Typed] = []
    start = 0
    for begins, ends in (*blocks, (len(text), len(text))):
        # What is left of a prompt in front of a pasted block ends with the line.
        spans += shifted(typed_spans(part, text[start:begins].rstrip(), via), start)
        start = ends
    return text, tuple(spans)


def _is_notice(text: str) -> bool:
    """Whether the whole text is a notice: JSON about a background task, or the answer to a
    command that the client does not know."""
    if text.startswith("Unknown "):
        return _UNKNOWN_COMMAND.fullmatch(text) is not None
    if not text.startswith("{") or '"task_id"' not in text[:4096]:
        return False
    notice = Fields(decode_arguments(text)).value
    return "task_id" in notice and ("tool_use_id" in notice or "task_type" in notice)
