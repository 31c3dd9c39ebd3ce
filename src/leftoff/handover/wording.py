"""How values are put in words wherever a document or a screen shows them, and how text that was
recorded is made inert before it stands in a document of ours."""

from __future__ import annotations

from typing import Any

from leftoff.text.sanitize import clean
from leftoff.text.truncation import short

ITEM = 400
"""Code points that one item of a document may take."""


def inline(text: str) -> str:
    """Recorded text on one line that cannot leave its place: no markup, no delimiter."""
    flat = " ".join(clean(text).split())
    return flat.replace("`", "'").replace("<", "‹")


def brief(text: str, limit: int = ITEM) -> str:
    """`inline`, in at most `limit` code points; no secret is halved where it is cut."""
    return inline(short(text, limit, "…"))


def place(ref: dict[str, Any]) -> str:
    """A reference as people read it: the message's number, from 1."""
    return f"#{ref['message'] + 1}"


def number(count: int) -> str:
    """A count with thousands separated."""
    return f"{count:,}"


def plural(count: int, word: str) -> str:
    """`3 files`, `1 file`."""
    return f"{number(count)} {word}{'' if count == 1 else 's'}"


def ended(passed: bool | None) -> str:
    """How a command ended, in words; None where nobody knows."""
    return "result unknown" if passed is None else "passed" if passed else "failed"


def duration(seconds: int | None) -> str:
    """Seconds as `2 h 10 min`, "" if unknown."""
    if seconds is None:
        return ""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds} s"
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {rest} min" if hours else f"{minutes} min"


def unseen(effects: list[dict[str, Any]], limit: int = 5) -> str:
    """Programs that may have changed files which nothing names, in one phrase; "" for none."""
    counts: dict[str, int] = {}
    for effect in effects:
        tool = brief(effect["tool"], 40)
        counts[tool] = counts.get(tool, 0) + effect["count"]
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    names = ", ".join(f"{tool} ×{count}" for tool, count in shown[:limit])
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return f"may have changed others: {names}{more}" if names else ""


def said(text: str, limit: int = ITEM) -> str:
    """What a person or the agent said, on one line: markup of code stays where it is closed,
    but nothing can begin a block or look like a tag."""
    flat = short(text, limit, "…").replace("<", "‹")
    return flat if flat.count("`") % 2 == 0 else flat.replace("`", "'")


def printed(text: str, limit: int = ITEM) -> str:
    """What a tool or a file said, as code in which no code can end."""
    return f"`{brief(text, limit)}`"
