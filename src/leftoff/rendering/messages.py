"""Messages as people read them."""

from __future__ import annotations

from leftoff import codec
from leftoff.model import Media, Message, Reasoning, Text, ToolCall, ToolResult
from leftoff.redaction import Redactor
from leftoff.text import clean

CUT = 1200
"""Code points of a tool call or result that are shown unless all of it is asked for."""


def message_text(message: Message, gate: Redactor, *, full: bool = False) -> str:
    """One message with its number, speaker and parts; redacted and safe for a terminal."""
    who = {"assistant": "agent", "user": "user"}.get(message.role, message.role)
    if message.origin not in {"prompt", "agent", "tool"}:
        who = f"{who} ({message.origin})"
    head = [f"#{message.index + 1}", who, message.model, message.time]
    lines = [" · ".join(clean(part) for part in head if part)]
    for part in message.parts:
        if isinstance(part, Text):
            lines.append(part.text)
        elif isinstance(part, Reasoning):
            if part.text:
                lines.append(_indented("thought", part.text, full=full))
        elif isinstance(part, ToolCall):
            given = part.input
            words = given if isinstance(given, str) else codec.dumps(given, indent=2).decode()
            lines.append(_indented(f"→ {part.name}", words, full=full))
        elif isinstance(part, ToolResult):
            note = part.status if part.exit_code is None else f"exit {part.exit_code}"
            lines.append(_indented(f"← {note}", part.text, full=full))
        elif isinstance(part, Media):
            lines.append(f"  [{part.media_type or 'media'}]")
    return clean(gate.text("\n".join(lines))) + "\n\n"


def _indented(label: str, text: str, *, full: bool) -> str:
    text = text.rstrip()
    left = len(text) - CUT
    if left > 0 and not full:
        text = text[:CUT].rstrip() + f"\n… {left:,} more characters"
    body = "\n".join("    " + line for line in text.splitlines())
    return f"  {label}\n{body}" if body else f"  {label}"
