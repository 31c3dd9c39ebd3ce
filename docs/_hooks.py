"""Transcripts of a shell on the site: prompt and command stand out, what was printed is plain.

Pygments takes printed lines that begin with `#` or `(` for prompts, too.
"""

from __future__ import annotations

import re
from typing import Any

_TRANSCRIPT = re.compile(
    r'(<div class="language-console highlight"><pre>(?:<span></span>)?<code>)'
    r"(.*?)(</code></pre>)",
    re.DOTALL,
)
_TAG = re.compile(r"<[^>]+>")


def on_page_content(html: str, **_: Any) -> str:
    """The page with its transcripts told apart by line."""
    return _TRANSCRIPT.sub(lambda m: m[1] + _told_apart(_TAG.sub("", m[2])) + m[3], html)


def _told_apart(transcript: str) -> str:
    return "".join(
        f'<span class="gp">$ </span><b>{line[2:]}</b>'
        if line.startswith("$ ")
        else f'<span class="go">{line}</span>'
        for line in transcript.splitlines(keepends=True)
    )
