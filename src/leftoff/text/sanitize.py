"""Sanitises text for output: removes terminal codes, control and invisible characters."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]?"
    r"|[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?|[ -/]*+[0-~]?)"
    r"|\x9b[0-?]*+[ -/]*+[@-~]?"
    r"|[\x90\x98\x9d-\x9f][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"
)
# Control characters but newline and tab; bidirectional overrides and isolates; invisible
# characters that can carry hidden text (zero width space, word joiner, tags, supplementary
# selectors).
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_LINE_BREAKS = re.compile("\r\n?|\x0b|\x0c|\x85|\u2028|\u2029")


def _replace_unsafe(match: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= match.group() <= "\udfff" else ""


def clean(text: str) -> str:
    """Makes text safe to show in a terminal or to put in a document.

    Terminal escape sequences, control characters other than newline and tab, bidirectional
    overrides, tag characters and other invisible characters are removed; every line break
    becomes a newline; a lone surrogate becomes U+FFFD. The function is idempotent.
    """
    if UNSAFE.search(text) is None:
        return text
    text = _ESCAPES.sub("", text)
    text = _LINE_BREAKS.sub("\n", text)
    return UNSAFE.sub(_replace_unsafe, text)
