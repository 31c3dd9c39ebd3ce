"""Groundedness: whether paths, numbers, ids and quotations of a text occur in the recording.

Our own normalisation of recorded words is undone first: white space, replaced quotation marks,
placeholders for secrets, truncation marks, paths relative to the project or with other slashes.
Counts that are marked as ours ("3 left out", "#12") and bold titles are not claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from leftoff import codec
from leftoff.evaluation.handover_scores import Share
from leftoff.lazy_re import patterns
from leftoff.tables import table
from leftoff.text.sanitize import clean

_RE = patterns(table(__file__, "patterns.toml")["resume_grounds"])

_CHARACTERS = str.maketrans("`‹›“”‘’\\", "'<>\"\"''/")


class Claim(Struct, frozen=True):
    """A piece of a text that must occur in the recording: path | number | id | quote."""

    kind: str
    text: str


class GroundingSource:
    """The lines of a recording up to a cut, indexed for lookups."""

    def __init__(self, data: Iterable[bytes]) -> None:
        strings: list[str] = []
        for line in data:
            try:
                value = codec.parse(line)
            except ValueError:
                value = line.decode("utf-8", "replace")
            strings += _strings(value)
        self._text = _normalised("\n".join(strings))
        self._numbers = set(_RE["number"].findall(self._text))
        self._numbers.update(_RE["number"].findall(_RE["thousands"].sub("", self._text)))
        self._numbers.update(t.replace(":", "") for t in _RE["clock"].findall(self._text))
        self._names = set(re.findall(r"[\w@.+-]+", self._text))
        self._words = set(_RE["word"].findall(self._text))

    def supports(self, claim: Claim) -> bool:
        """Whether the recording contains the claim."""
        if claim.kind == "number":
            return claim.text in self._numbers
        if claim.kind == "quote" and claim.text[0] in "+-":  # a line of a patch
            claim = Claim("quote", claim.text[1:])
        if all(
            _normalised(part).strip() in self._text for part in _RE["cut"].split(claim.text)
        ):
            return True
        if claim.kind == "id" or " " in claim.text:
            return False
        # A path relative to the project, or joined from a directory and a name.
        parts = [part.rstrip(":") for part in claim.text.split("/")]
        if {part for part in parts if part.strip(".~")} <= self._names:
            return True
        # A path that a shell loop or brace expansion built from recorded words.
        return claim.kind == "path" and set(_RE["word"].findall(claim.text)) <= self._words

    def grounded_share(self, text: str) -> tuple[Share, list[Claim]]:
        """The share of a text's claims that are supported, and the unsupported ones."""
        found = list(claims(text))
        wrong = [claim for claim in found if not self.supports(claim)]
        return Share(len(found) - len(wrong), len(found)), wrong


def claims(text: str) -> Iterator[Claim]:
    """The paths, numbers, ids and quoted phrases of a text, each once."""
    seen: set[Claim] = set()
    found: list[Claim] = []
    # A placeholder for a secret is a gap in a quotation.
    for match in _RE["quoted"].finditer(_RE["secret"].sub("…", clean(text))):
        quoted = match[1] or match[2] or match[3]
        if quoted.strip() and not _RE["not_claims"].fullmatch(quoted):
            found.append(Claim("quote", quoted))
    flat = _RE["not_claims"].sub(" ", clean(text)).translate(_CHARACTERS)
    found += [Claim("id", i) for i in _RE["id"].findall(flat)]
    found += [
        Claim("path", path.rstrip(".-"))
        for path in _RE["path"].findall(_without_truncated_words(flat))
    ]
    found += [
        Claim("number", n)
        for n in _RE["number"].findall(_RE["thousands"].sub("", _without_truncated_words(flat)))
    ]
    for claim in found:
        if claim not in seen:
            seen.add(claim)
            yield claim


def _without_truncated_words(text: str) -> str:
    return re.sub(r"\S*(?:…|\.\.\.)\S*", " ", text)


def _normalised(text: str) -> str:
    return _RE["space"].sub(" ", clean(text).translate(_CHARACTERS))


def _strings(value: object) -> Iterator[str]:
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
