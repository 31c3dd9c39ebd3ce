"""The markdown form of a summary, complete."""

from __future__ import annotations

from typing import Any

from leftoff.handover.prompt import facts, sections_of
from leftoff.handover.wording import inline


def markdown(value: dict[str, Any]) -> str:
    """The whole summary as markdown: every section, nothing left out but file reads."""
    session, stats = value["session"], value["stats"]
    lines = [f"# {inline(session['title'] or session['id'] or 'Session')}", ""]
    lines += [f"- {label}: {text}" for label, text in facts(session, stats) if text]
    for title, items in sections_of(value):
        if items:
            lines += ["", f"## {title}", ""]
            lines += [f"- {item}" for item in items]
    return "\n".join(lines) + "\n"
