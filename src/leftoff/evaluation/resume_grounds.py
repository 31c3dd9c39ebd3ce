"""Whether what a text says stands in the recording: paths, numbers, ids and quoted phrases.

What our own normalisation does to recorded words is undone first: white space, quotation marks
that replace others, placeholders for secrets, the mark of a cut, paths told relative to the
project or with other slashes. Counts that are ours and marked as ours ("3 left out", "#12")
are no claims about it, nor are titles in bold letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff.evaluation.resume_scores import Share
from leftoff.text.sanitize import clean

_SIGNS = str.maketrans("`‹›“”‘’\\", "'<>\"\"''/")
_SPACE = re.compile(r"\s+")

_SECRET = re.compile(r"\[REDACTED:[\w-]+:\d+\]")
_OURS = re.compile(
    rf"{_SECRET.pattern}"
    r"|\b[01]\.\d\d(?=, #\d)"
    r"|\*\*[A-Za-z /]{1,40}:?\*\*"
    r"|</?leftoff\b[^>]*>"
    r"|#(?:\d+(?:[-–]\d+)?|n\b)"
    r"|\(left out: [^)]*\)"
    r"|[~≈]\s?\d[\d,.]*(?:k\b)?"
    r"|\b\d[\d,]*(?:\.\d+)?(?:\s?%|\s?x\b|\s(?:more|left out|times?|messages?|turns?"
    r"|tool calls?|calls?|tokens?|requests?|files?|errors?|tests? runs?|edits?|touches"
    r"|decisions?|items?|hours?|minutes?|h|min|s|days?)\b)"
    r"|\b\d+ of \d+\b|×\s?\d+",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"([^"\n]{3,400})"|`([^`\n]{2,400})`|“([^”\n]{3,400})”')
_PATH = re.compile(
    r"(?<![\w/:.@+-])(?:[A-Za-z]:/|[~.]{0,2}/)?[\w@.+-]+(?:/[\w@.+-]+)+"
    r"|(?<![\w/:.@+-])/[\w@.+-]+"
)
_ID = re.compile(r"\b(?=[0-9a-f-]*\d)(?=[0-9a-f-]*[a-f])[0-9a-f]{7,}(?:-[0-9a-f]{4,})*\b")
_NUMBER = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_CLOCK = re.compile(r"\b\d\d:\d\d:\d\d\b")
_WORD = re.compile(r"[A-Za-z0-9]+")
_CUT = re.compile(r"…|\.\.\.")


class Claim(Struct, frozen=True):
    """Something in a text that must come from the recording: path | number | id | quote."""

    kind: str
    text: str


class Ground:
    """Everything that a recording says up to a cut, ready to be looked into.

    Args:
        data: the recording's lines.
    """

    def __init__(self, data: Iterable[bytes]) -> None:
        said: list[str] = []
        for line in data:
            try:
                value = codec.parse(line)
            except ValueError:
                value = line.decode("utf-8", "replace")
            said += _strings(value)
        self._text = _flat("\n".join(said))
        self._numbers = set(_NUMBER.findall(self._text))
        self._numbers.update(_NUMBER.findall(_THOUSANDS.sub("", self._text)))
        self._numbers.update(t.replace(":", "") for t in _CLOCK.findall(self._text))
        self._names = set(re.findall(r"[\w@.+-]+", self._text))
        self._words = set(_WORD.findall(self._text))

    def holds(self, claim: Claim) -> bool:
        """Whether the recording says it."""
        if claim.kind == "number":
            return claim.text in self._numbers
        if all(_flat(part).strip() in self._text for part in _CUT.split(claim.text)):
            return True
        if claim.kind == "id" or " " in claim.text:
            return False
        # Told relative to the project, or joined from a directory and a name.
        parts = [part.rstrip(":") for part in claim.text.split("/")]
        if {part for part in parts if part.strip(".~")} <= self._names:
            return True
        # Put together by a loop or a brace of the shell: every word of it was said.
        return claim.kind == "path" and set(_WORD.findall(claim.text)) <= self._words

    def share(self, text: str) -> tuple[Share, list[Claim]]:
        """How many claims of a text hold, and those that do not."""
        found = list(claims(text))
        wrong = [claim for claim in found if not self.holds(claim)]
        return Share(len(found) - len(wrong), len(found)), wrong


def claims(text: str) -> Iterator[Claim]:
    """The paths, numbers, ids and quoted phrases of a text, each once."""
    seen: set[Claim] = set()
    found: list[Claim] = []
    # What we put in place of a secret is a gap in a quotation.
    for match in _QUOTED.finditer(_SECRET.sub("…", clean(text))):
        quoted = match[1] or match[2] or match[3]
        if quoted.strip() and not _OURS.fullmatch(quoted):
            found.append(Claim("quote", quoted))
    flat = _OURS.sub(" ", clean(text)).translate(_SIGNS)
    found += [Claim("id", i) for i in _ID.findall(flat)]
    found += [Claim("path", path.rstrip(".-")) for path in _PATH.findall(_whole(flat))]
    found += [Claim("number", n) for n in _NUMBER.findall(_THOUSANDS.sub("", _whole(flat)))]
    for claim in found:
        if claim not in seen:
            seen.add(claim)
            yield claim


def _whole(text: str) -> str:
    """A text without the words that a cut left broken."""
    return re.sub(r"\S*(?:…|\.\.\.)\S*", " ", text)


def _flat(text: str) -> str:
    return _SPACE.sub(" ", clean(text).translate(_SIGNS))


def _strings(value: Any) -> Iterator[str]:
    """Every string, number and key of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)
