"""The document around every HTML page: self-contained, with a content security policy that
allows only our own style and script, by hash.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files

from leftoff.text.sanitize import clean


def template_text(name: str) -> str:
    """The text of a file in `templates/`."""
    return files("leftoff.rendering.html").joinpath("templates", name).read_text("utf-8")


# Read at import, since rendering must not open files.
BASE_STYLE = template_text("style.css").strip()


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
