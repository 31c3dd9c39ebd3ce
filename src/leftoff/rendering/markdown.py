"""The markdown form of a summary."""

from __future__ import annotations

from typing import Any

from leftoff.handover.prompt import session_facts, summary_sections
from leftoff.handover.wording import inline


def render_markdown(value: dict[str, Any]) -> str:
    """The summary as markdown: all items of every section except files that were only read."""
    session, stats = value["session"], value["stats"]
    lines = [f"# {inline(session['title'] or session['id'] or 'Session')}", ""]
    lines += [f"- {label}: {text}" for label, text in session_facts(session, stats) if text]
    for title, items in summary_sections(value):
        if items:
            lines += ["", f"## {title}", ""]
            lines += [f"- {item}" for item in items]
    return "\n".join(lines) + "\n"
