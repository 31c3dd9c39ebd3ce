"""Sanitises text for output: removes terminal codes, control and invisible characters.

This module is the one place that says what never reaches a reader. `leftoff.redaction` judges
text without exactly these characters (`cleaned_view`, `bare_view`), so that no secret can be
put together by the removal: what is shown is what was judged.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

_CSI: Final = r"[0-?]*+[ -/]*+[@-~]?"
_STRING: Final = r"[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"

_ESCAPES = re.compile(
    rf"\x1b(?:\[{_CSI}|[\]PX^_]{_STRING}|[ -/]*+[0-~]?)"
    rf"|\x9b{_CSI}"
    rf"|[\x90\x98\x9d-\x9f]{_STRING}"
)
_OTHER_ESCAPE = re.compile(r"\x1b(?!\[)|[\x90\x98\x9b\x9d-\x9f]")

FORMAT_MARKS: Final = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that reorder or hide, as the inside of a class: every character of category Cf
without a shape of its own but U+200C and U+200D (needed by emoji and by Indic and Persian
spelling), and the blocks of tags and supplementary selectors, which can carry hidden text."""

# Control characters but newline and tab; line and paragraph separator; format marks; halves of
# surrogate pairs.
UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{FORMAT_MARKS}]")
_LINE_BREAKS = re.compile("\r\n?|\x0b|\x0c|\x85|\u2028|\u2029")


_CONTROLS: Final = bytes({*range(9), *range(11, 32), 127})


def has_unsafe(text: str) -> bool:
    """Whether `clean` would change the text; faster than `UNSAFE` for text in ASCII."""
    if text.isascii():
        return len(text.encode().translate(None, _CONTROLS)) != len(text)
    return UNSAFE.search(text) is not None


def _replace_unsafe(match: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= match.group() <= "\udfff" else ""


def clean(text: str) -> str:
    """Makes text safe to show in a terminal or to put in a document.

    Terminal escape sequences, control characters other than newline and tab, marks that
    reorder text, tag characters and other invisible characters are removed; every line break
    becomes a newline; a lone surrogate becomes U+FFFD. The function is idempotent.
    """
    if not has_unsafe(text):
        return text
    text = _ESCAPES.sub("", text)
    text = _LINE_BREAKS.sub("\n", text)
    return UNSAFE.sub(_replace_unsafe, text)


class View(NamedTuple):
    """A text without some of its characters, and where the rest of them stood."""

    text: str
    starts: list[int]
    """Offsets in `text` at which a stretch begins that stands together in the original."""
    shifts: list[int]
    """How much is added to an offset in such a stretch, for its offset in the original."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original of a span of `text` that is not empty."""
        return self._at(start), self._at(end - 1) + 1

    def _at(self, offset: int) -> int:
        return offset + self.shifts[bisect_right(self.starts, offset) - 1]


def without(text: str, spans: list[tuple[int, int, str]]) -> View:
    """Gives the text with each span (start, end, new text; in order, disjoint) replaced."""
    parts: list[str] = []
    starts, shifts = [0], [0]
    at = size = 0
    for start, end, new in spans:
        parts += (text[at:start], new)
        size += start - at + len(new)
        at = end
        starts.append(size)
        shifts.append(end - size)
    parts.append(text[at:])
    return View("".join(parts), starts, shifts)


# `clean` in one pass: it begins with a class, by which `re` finds the next place fast. Escape
# sequences within a line break do not make it two.
_ALL = re.compile(
    rf"{UNSAFE.pattern}"
    rf"(?:(?<=\x1b)(?:\[{_CSI}|[\]PX^_]{_STRING}|[ -/]*+[0-~]?)"
    rf"|(?<=\x9b){_CSI}|(?<=[\x90\x98\x9d-\x9f]){_STRING}"
    rf"|(?<=\r)(?:{_ESCAPES.pattern})*+\n?|(?<![\x1b\x9b\x90\x98\x9d-\x9f\r]))"
)
_BARE = re.compile(rf"{UNSAFE.pattern}(?:(?<=\x1b)\[{_CSI})?")


def _shown(match: re.Match[str]) -> str:
    return clean(match.group())


def cleaned_view(text: str) -> View:
    """Gives `clean(text)`, with the place in `text` of every character of it."""
    return without(text, [(*m.span(), _shown(m)) for m in _ALL.finditer(text)])


def bare_view(text: str) -> View | None:
    """Gives the text without sequences of ESC and "[", and without any other unsafe character,
    but with what `clean` takes for the payload of another sequence.

    A lone escape character in a word makes a terminal swallow what follows; in a file it is
    still there. Line breaks other than a newline are removed, too. None if the result is that
    of `cleaned_view`.
    """
    if _OTHER_ESCAPE.search(text) is None and _LINE_BREAKS.search(text) is None:
        return None
    return without(text, [(*m.span(), "") for m in _BARE.finditer(text)])
