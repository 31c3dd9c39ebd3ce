"""Recordings cut where they may well have ended, and whose turn it was there.

The truth is who speaks next in the uncut recording: where the agent or one of its tools goes
on, the turn was open; where the person speaks, it was closed. Not taken are places where that
tells nothing: between two messages of the person, beside what a client writes in the person's
role (a button may have been pressed), before an interruption, a rejection or words typed while
the agent was at work, and within one response of the model, which a recorder writes at once.
Words were typed while the agent was at work where a recorder says so, where they stand in one
message with a tool's output, or less than `AT_ONCE` after it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from leftoff.formats import native
from leftoff.model import Message, Text, ToolCall, ToolResult

# Most places taken of each kind in a session. Chosen by hand.
OPEN_CUTS, CLOSED_CUTS = 4, 4
# Most sessions taken of a recording that holds many. Chosen by hand.
MAX_SESSIONS = 12
# Nobody reads an output and types an answer in so short a time. Chosen by hand.
AT_ONCE = timedelta(seconds=2)


class CutPlace(Struct, frozen=True):
    """A place to cut. `truth`: open | closed; `after`, what was last: prompt | words | call |
    output; `lines` of the recording before the cut, None for one document; `messages` of the
    session before it, with subagents'; `place`: line or item of the last message."""

    truth: str
    after: str
    lines: int | None
    messages: int
    place: int


def speaker(message: Message) -> str:
    """Person | agent | tool, "?" where it tells nothing about the turn, "" for no speaker."""
    if message.agent or message.origin in ("injected", "compaction", "meta"):
        # A client writes so into the person's role what it adds, and for a button pressed.
        pressed = message.origin == "injected" and message.role == "user"
        return "?" if pressed and not message.agent else ""
    ways = {typed.via for typed in message.typed}
    if ways & {"queued", "rejection"} or message.origin == "interruption":
        return "?"
    if "prompt" in ways and any(type(p) is ToolResult for p in message.parts):
        return "?"
    if ways or message.origin == "prompt":
        return "person"
    if not any(type(p) is not Text or p.text.strip() for p in message.parts):
        return ""  # an empty message: nothing was said or done
    return message.origin if message.origin in ("agent", "tool") else ""


def _last(message: Message, who: str) -> str:
    if who == "person":
        return "prompt"
    if who == "tool":
        return "output"
    for part in reversed(message.parts):
        if type(part) is ToolCall:
            return "call"
        if type(part) is Text and part.text.strip():
            return "words"
    return "output"


def _at_once(last: Message, typed: Message) -> bool:
    """Whether a prompt follows a tool's output, or a call, sooner than anyone types: the client
    held it until the tool had ended. Only of times with fractions of a second."""
    if _last(last, last.origin) == "words" or "." not in last.time or "." not in typed.time:
        return False
    try:
        return datetime.fromisoformat(typed.time) - datetime.fromisoformat(last.time) < AT_ONCE
    except (ValueError, TypeError):
        return False


def places(messages: Sequence[Message], seed: str) -> list[CutPlace]:
    """Places of both kinds in one session, chosen by a seeded draw, in order."""
    found: dict[str, list[CutPlace]] = {"open": [], "closed": []}
    said = [(n, m, who) for n, m in enumerate(messages) if (who := speaker(m))]
    for (number, last, who), (_, after, then) in pairwise(said):
        if "?" in (who, then) or (who == then == "person"):
            continue
        if last.response and last.response == after.response:
            continue
        following = messages[number + 1]
        lines = None
        if last.line is not None:
            if following.line is None or following.line <= last.line:
                continue
            lines = following.line - 1
        truth = "closed" if then == "person" else "open"
        if truth == "closed" and _at_once(last, after):
            continue
        place = last.line if last.line is not None else last.item
        cut = CutPlace(
            truth, _last(last, who), lines, number + 1, -1 if place is None else place
        )
        found[truth].append(cut)
    draw = random.Random(seed)  # noqa: S311 - must be repeatable
    chosen: list[CutPlace] = []
    for truth, most in (("open", OPEN_CUTS), ("closed", CLOSED_CUTS)):
        chosen += draw.sample(found[truth], min(most, len(found[truth])))
    return sorted(chosen, key=lambda cut: cut.messages)


def rewritten(messages: Sequence[Message]) -> Iterator[bytes]:
    """The first messages of one document as a recording of leftoff's own format."""
    yield from native.write(messages).splitlines(keepends=True)
