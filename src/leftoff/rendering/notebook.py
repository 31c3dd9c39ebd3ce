"""Display methods of `ContextSummary`: HTML in a notebook, text in IPython and through rich.

`leftoff.summary` must not import renderers, so this module adds the methods when it is
imported: by the package `leftoff`, together with `ContextSummary`, `summarize` and so on. It
imports jinja2 and rich only when a method is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from leftoff.summary import ContextSummary

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

# Columns; wider lines are hard to read. Chosen by hand.
MAX_WIDTH = 110


def rich_console(
    summary: ContextSummary, console: Console, options: ConsoleOptions
) -> Iterator[RenderableType]:
    """The text form in the console's width, redacted, for rich."""
    from rich.text import Text

    from leftoff.rendering.render_summary import render

    shown = render(summary, "text", colour=True, width=min(MAX_WIDTH, options.max_width))
    yield Text.from_ansi(shown.rstrip("\n"))


def repr_html(summary: ContextSummary) -> str:
    """The summary as an HTML card, redacted."""
    from leftoff.rendering.html.session import card

    return card(summary)


def repr_pretty(summary: ContextSummary, printer: Any, cycle: bool) -> None:
    """The text form, redacted, for IPython's printer."""
    from leftoff.rendering.render_summary import render

    printer.text("ContextSummary(...)" if cycle else render(summary, "text").rstrip())


for _name, _method in (
    ("_repr_html_", repr_html),
    ("_repr_pretty_", repr_pretty),
    ("__rich_console__", rich_console),
):
    setattr(ContextSummary, _name, _method)
