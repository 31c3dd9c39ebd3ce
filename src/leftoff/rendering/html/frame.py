"""The frame of every HTML page: one file that asks for nothing, and in which nothing runs but a
script of ours, named by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files

from leftoff.redaction.redactor import Redactor
from leftoff.text.sanitize import clean


def part(name: str) -> str:
    """A file of `templates/`."""
    return files("leftoff.rendering.html").joinpath("templates", name).read_text("utf-8")


# Read when this module is imported: using it opens nothing.
STYLE = part("style.css").strip()


def frame(title: str, body: str, *, style: str = "", script: str = "", kind: str = "") -> str:
    """A whole page.

    Its security policy allows this style and this script and nothing else: no request, no
    image, no frame, no form, and no `style` or event attribute.

    Args:
        title: plain text.
        body: HTML in which everything recorded is escaped.
        style: rules after those that all pages share.
        script: runs at the end; the page must say everything without it.
        kind: class of the page's body.
    """
    look = f"\n{STYLE}\n{style.strip()}\n" if style else f"\n{STYLE}\n"
    policy = f"default-src 'none'; style-src {_hash(look)}"
    if script:
        policy += f"; script-src {_hash(script)}"
    policy += "; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(clean(title))}</title>\n<style>{look}</style>\n</head>\n"
        + (f'<body class="{kind}">\n' if kind else "<body>\n")
        + body.strip()
        + (f"\n<script>{script}</script>" if script else "")
        + "\n</body>\n</html>\n"
    )


def shown(text: str, gate: Redactor) -> str:
    """Recorded text as HTML: redacted, without control and hidden characters, escaped."""
    return escape(clean(gate.text(text)))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
