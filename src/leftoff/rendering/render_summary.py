"""`render`: a summary in one of six output forms. Every form is redacted."""

from leftoff.analysis.summary_json import safe_summary, to_json
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
    everything: bool = False,
    place: str = "",
    gate: Redactor | None = None,
) -> str:
    """A summary in one of the forms text | markdown | json | prompt | log | html, redacted.

    Args:
        budget: most tokens (upper bound) that a prompt may take, 2,000 by default, or a resume
            log, 10,000 by default.
        colour: terminal colours in the text form.
        width: columns of the text form, 40 to 200.
        everything: text, markdown and HTML show all items, not only the first of each part.
        place: in a prompt, what `leftoff show` takes for this session; "" for its id's start.
        gate: the redactor to use, where its options or its numbering matter.

    Raises:
        UnknownName: no such form.
        BudgetTooSmall: the budget holds not even the head of a prompt."""
    if form == "json":
        return to_json(summary, gate, indent=2).decode()
    if form not in FORMS:
        raise UnknownName("form", form, FORMS)
    # Forms that few ask for are imported when they are.
    if form == "log":
        from leftoff.handover.resume_log.document import ResumeLog

        return ResumeLog.from_summary(summary).to_markdown(budget, gate=gate)
    if form == "html":
        from leftoff.rendering.html.session import page

        return page(summary, everything=everything, gate=gate)
    if form == "prompt":
        from leftoff.handover.briefing import DEFAULT_PROMPT, render_prompt

        tokens = DEFAULT_PROMPT if budget is None else budget
        return render_prompt(summary, tokens, place=place, gate=gate)
    safe = safe_summary(summary, gate)
    if form == "text":
        from leftoff.rendering.screen import render_screen

        return render_screen(safe, colour=colour, width=width, everything=everything)
    from leftoff.rendering.markdown import render_markdown

    return render_markdown(safe, everything=everything)
