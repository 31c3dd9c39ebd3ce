"""`render`: a summary in one of six output forms. Every form is redacted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leftoff.analysis.summary_json import to_json, to_plain
from leftoff.errors import UnknownName
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary

FORMS = ("text", "markdown", "json", "prompt", "log", "html")


def render(
    summary: ContextSummary,
    form: str = "text",
    *,
    budget: int | None = None,
    colour: bool = False,
    width: int = 96,
    gate: Redactor | None = None,
) -> str:
    """A summary in one of the forms text | markdown | json | prompt | log | html, redacted.

    Args:
        budget: most tokens (upper bound) that a prompt may take, 2,000 by default, or a resume
            log, 10,000 by default.
        colour: terminal colours in the text form.
        width: columns of the text form.
        gate: the redactor to use, where its options or its numbering matter.

    Raises:
        UnknownName: no such form.
        UsageError: HTML without jinja2.
    """
    if form == "json":
        return to_json(summary, gate, indent=2).decode()
    if form not in FORMS:
        raise UnknownName("form", form, FORMS)
    if form == "log":
        from leftoff.handover.resume_log.document import ResumeLog

        return ResumeLog.from_summary(summary).to_markdown(budget, gate=gate)
    if form == "html":
        from leftoff.rendering.html.session import page

        return page(summary, gate=gate)
    value = to_plain(summary, gate)
    if form == "text":
        from leftoff.rendering.screen import render_screen

        return render_screen(value, colour=colour, width=width)
    from leftoff.handover.prompt import render_prompt
    from leftoff.rendering.markdown import render_markdown

    renderer: Callable[..., str] = render_markdown if form == "markdown" else render_prompt
    options: dict[str, Any] = {} if form == "markdown" or budget is None else {"budget": budget}
    return renderer(value, **options)
