"""How a summary shows itself: as HTML in a notebook, as text in IPython, and through rich.

A `ContextSummary` stands below rendering and knows nothing of it, so it is told from here:
`attach` gives the class the methods that notebooks and rich look for. The front door
(`leftoff.ContextSummary`, `leftoff.summarize` and so on) imports this module, which imports
nothing heavy itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from leftoff.summary import ContextSummary

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

WIDEST = 110
"""Columns; wider lines are hard to read."""


class OnScreen:
    """A summary as rich shows it: the text form, as wide as there is room."""

    def __init__(self, summary: ContextSummary) -> None:
        self.summary = summary

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """One text; rich drops the colours where they are not wanted."""
        from rich.text import Text

        from leftoff.rendering.render_summary import render

        width = min(WIDEST, options.max_width)
        shown = render(self.summary, "text", colour=True, width=width)
        yield Text.from_ansi(shown.rstrip("\n"))


def html_of(summary: ContextSummary) -> str | None:
    """The summary as a card for a notebook, redacted; None where jinja2 is not installed, and
    the notebook shows the text."""
    from leftoff.errors import UsageError
    from leftoff.rendering.html.session import card

    try:
        return card(summary)
    except UsageError:
        return None


def pretty(summary: ContextSummary, printer: Any, cycle: bool) -> None:
    """The text form, redacted, for IPython's printer."""
    from leftoff.rendering.render_summary import render

    printer.text("ContextSummary(...)" if cycle else render(summary, "text").rstrip())


def attach() -> None:
    """Lets every `ContextSummary` show itself; doing it again changes nothing."""
    methods = {"_repr_html_": html_of, "_repr_pretty_": pretty, "__rich__": on_screen}
    for name, method in methods.items():
        setattr(ContextSummary, name, method)


def on_screen(summary: ContextSummary) -> OnScreen:
    """The summary for rich."""
    return OnScreen(summary)


attach()
