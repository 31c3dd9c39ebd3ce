"""The jinja2 environment: every value is cleaned and escaped when a template is rendered."""

from __future__ import annotations

from functools import cache
from typing import Any

from leftoff import lazy_re as re
from leftoff.handover.wording import duration, number, plural
from leftoff.rendering.html.frame import template_text
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line, truncate

_PAGES = ("card", "conversation", "labels", "macros", "report", "session")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_TEMPLATE_TEXTS = {f"{name}.html": template_text(f"{name}.html") for name in _PAGES}


def render_template(name: str, **values: object) -> str:
    """A template of `templates/`, rendered with `values`."""
    return str(_engine().get_template(name).render(**values))


@cache
def _engine() -> Any:
    from jinja2 import DictLoader, Environment, StrictUndefined

    engine = Environment(
        loader=DictLoader(_TEMPLATE_TEXTS),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters.update(brief=_brief, cut=truncate, flat=one_line)
    engine.filters.update(
        day=lambda time: time[:10],
        duration=duration,
        moment=lambda time: time[:16].replace("T", " "),
        number=lambda count: "–" if count is None else number(count),
    )
    engine.globals.update(plural=plural)
    return engine


def _brief(text: str, limit: int) -> object:
    """Recorded text on one line of at most `limit` characters; backticks become `<code>`."""
    from markupsafe import Markup, escape

    fragments = _CODE.split(one_line(text, limit))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece)
        for number, piece in enumerate(fragments)
    )


def _finalize(value: object) -> object:
    # Only recorded text, not Markup, which is our own HTML. Autoescaping follows.
    return clean(value) if type(value) is str else value
