"""Templates, each value of which is cleaned and escaped on its way in."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from leftoff.errors import UsageError
from leftoff.handover.wording import duration, number, plural
from leftoff.rendering.html.frame import part
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line, truncate

_NAMES = ("card.html", "macros.html", "report.html", "session.html")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_TEXTS = {name: part(name) for name in _NAMES}


def fill(name: str, **values: Any) -> str:
    """A template with its values.

    Raises:
        UsageError: jinja2 is not installed.
    """
    made: str = _engine().get_template(name).render(**values)
    return made


@cache
def _engine() -> Any:
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError:
        raise UsageError("an HTML page needs `pip install 'leftoff[html]'`") from None
    engine = Environment(
        loader=DictLoader(_TEXTS),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters.update(brief=_brief, cut=truncate, flat=one_line)
    engine.filters.update(day=_day, duration=duration, moment=_moment, number=number)
    engine.globals.update(plural=plural)
    return engine


def _brief(text: str, limit: int) -> Any:
    """Recorded words on one line of at most `limit` characters; code in backticks as code."""
    from markupsafe import Markup, escape

    pieces = _CODE.split(one_line(text, limit))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece)
        for number, piece in enumerate(pieces)
    )


def _finalize(value: Any) -> Any:
    # Not Markup: that is HTML of ours. Escaping follows.
    return clean(value) if type(value) is str else value


def _day(time: str) -> str:
    return time[:10]


def _moment(time: str) -> str:
    """A recorded time as people read it: to the minute."""
    return time[:16].replace("T", " ")
