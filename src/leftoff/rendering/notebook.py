"""Display methods of `ContextSummary`: HTML in a notebook, text in IPython and through rich.

`leftoff.summary` must not import renderers, so `attach` adds the methods from here. The package
`leftoff` imports this module together with `ContextSummary`, `summarize` and so on; it imports
jinja2 and rich only when a method is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from leftoff.summary import ContextSummary

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

# Columns; wider lines are hard to read. Chosen by hand.
MAX_WIDTH = 110


class RichSummary:
    """A summary as a rich renderable: the text form in the console's width."""

    def __init__(self, summary: ContextSummary) -> None:
        self.summary = summary

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        from rich.text import Text

        from leftoff.rendering.render_summary import render

        width = min(MAX_WIDTH, options.max_width)
        shown = render(self.summary, "text", colour=True, width=width)
        yield Text.from_ansi(shown.rstrip("\n"))


def repr_html(summary: ContextSummary) -> str:
    """The summary as an HTML card, redacted."""
    from leftoff.rendering.html.session import card

    return card(summary)


def repr_pretty(summary: ContextSummary, printer: Any, cycle: bool) -> None:
    """The text form, redacted, for IPython's printer."""
    from leftoff.rendering.render_summary import render

    printer.text("ContextSummary(...)" if cycle else render(summary, "text").rstrip())


def attach() -> None:
    """Adds the display methods to `ContextSummary`. Idempotent."""
    methods = {"_repr_html_": repr_html, "_repr_pretty_": repr_pretty, "__rich__": to_rich}
    for name, method in methods.items():
        setattr(ContextSummary, name, method)


def to_rich(summary: ContextSummary) -> RichSummary:
    """The summary for rich."""
    return RichSummary(summary)


attach()
