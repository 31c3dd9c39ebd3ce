"""A baseline of `leftoff eval resume`: the last messages before a cut that fit a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from leftoff.live.compactions import Cut
from leftoff.model import Message, ToolCall

TokenCounter: TypeAlias = Callable[[str], int]
"""Length of a text, in tokens."""


MAX_ARGUMENTS = 200
"""Characters of a tool call's arguments in a tail. Chosen by hand."""


def tail(cut: Cut, budget: int, count_tokens: TokenCounter) -> str:
    """The last messages and tool calls before the cut that fit. Tool results are left
    out, because they would take nearly all of the budget."""
    blocks: list[str] = []
    left = budget
    for message in reversed(cut.prefix):
        block = _block(message)
        cost = count_tokens(block)
        if cost <= left:
            blocks.append(block)
            left -= cost
            continue
        # The earliest message is cut at its beginning.
        tail_lines = block.splitlines(keepends=True)
        while tail_lines and count_tokens("".join(tail_lines)) > left:
            del tail_lines[0]
        blocks.append("".join(tail_lines))
        break
    return "".join(reversed(blocks))


def _block(message: Message) -> str:
    if message.agent or message.origin not in ("prompt", "agent"):
        return ""
    lines = [message.text] if message.text.strip() else []
    for part in message.parts:
        if type(part) is ToolCall:
            given = " ".join(flatten_text(part.input).split())
            mark = "…" if len(given) > MAX_ARGUMENTS else ""
            lines.append(f"[{part.name} {given[:MAX_ARGUMENTS]}{mark}]")
    return f"{message.role}: " + "\n".join(lines) + "\n" if lines else ""


def flatten_text(value: Any) -> str:
    """All strings in a call's arguments, joined by line feeds."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(flatten_text(v) for v in value.values())
    if isinstance(value, list):
        return "\n".join(flatten_text(v) for v in value)
    return "" if value is None else str(value)
