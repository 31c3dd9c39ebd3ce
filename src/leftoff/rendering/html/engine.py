"""The document around every HTML page, and the jinja2 environment, in which every value is
cleaned and escaped when a template is rendered.

A page is self-contained; its content security policy allows only our own style and script, by
hash."""

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from leftoff import lazy_re as re
from leftoff.handover.wording import duration, number, plural
from leftoff.rendering.overview import moment
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line, truncate


def template_text(name: str) -> str:
    """The text of a file in `templates/`."""
    return files("leftoff.rendering.html").joinpath("templates", name).read_text("utf-8")


_PAGES = "card conversation curve labels macros report session strip".split()
# Read at import, since rendering must not open files.
BASE_STYLE = template_text("style.css").strip()
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
        # Only recorded text, not Markup, which is our own HTML. Autoescaping follows.
        finalize=lambda value: clean(value) if type(value) is str else value,
        # A misspelt name must fail in a test and not vanish from the page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters.update(brief=_brief, cut=truncate, flat=one_line)
    engine.filters.update(day=lambda time: time[:10], duration=duration, moment=moment)
    engine.filters.update(number=lambda count: "–" if count is None else number(count))
    engine.globals.update(plural=plural)
    return engine


def _brief(text: str, limit: int) -> object:
    """Recorded text on one line of at most `limit` characters; backticks become `<code>`."""
    from markupsafe import Markup
    from markupsafe import escape as escaped

    fragments = _CODE.split(one_line(text, limit))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escaped(piece)
        for number, piece in enumerate(fragments)
    )


def html_document(
    title: str, body: str, *, style: str = "", script: str = "", kind: str = ""
) -> str:
    """A whole HTML document: a plain title, a body in which all recorded text is escaped, CSS
    added to the style that all pages share, a script that runs at the end, without which the
    page must be complete, and the class of the `body` element."""
    # The content security policy allows this style and this script and nothing else: no
    # request, image, frame or form, and no `style` or event attribute.
    css = f"\n{BASE_STYLE}\n{style.strip()}\n" if style else f"\n{BASE_STYLE}\n"
    policy = f"default-src 'none'; style-src {_hash(css)}"
    if script:
        policy += f"; script-src {_hash(script)}"
    policy += "; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(clean(title))}</title>\n<style>{css}</style>\n</head>\n"
        + (f'<body class="{kind}">\n' if kind else "<body>\n")
        + body.strip()
        + (f"\n<script>{script}</script>" if script else "")
        + "\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
