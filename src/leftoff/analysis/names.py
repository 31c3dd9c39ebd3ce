"""Which names the work is about: identifiers, paths, hashes, addresses, issue numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter

from leftoff.extraction.evidence import Called, Ran, Said, Wrote
from leftoff.redaction.redactor import Redactor
from leftoff.session_view import Story
from leftoff.summary import Name

NAMES = 300
"""At most so many names."""

TOGETHER = 10_000
"""So many texts are redacted together."""

WORD = 500
"""Code points of a word that are looked at at once: what is longer is data, and finding names
in it would take the square of its length."""

_NAME = re.compile(
    r"https?://[^\s\"'`)\]>,]+"
    r"|[\w.~@$:-]*/[\w./@~-]*\w"  # a path
    r"|\b[A-Za-z_]\w*(?:\.\w+)*\.(?:[a-z]{1,5}\d?)\b"  # a file or a dotted name
    r"|\b[A-Za-z]\w*_\w+|\b_\w{2,}"  # snake_case, _private
    r"|\b[a-z]+\d*[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, PascalCase
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"  # a hash
    r"|#\d+\b"
)
_NO_NAME = re.compile(
    r"(?:/dev/|\$|[A-Za-z]+/[A-Za-z]+$|/[a-z]+$|[ei]\.[ge]$|[A-Z]/)"
    r"|(?:max_output_tokens|yield_time_ms|session_id|exec_command|write_stdin)$"
)
"""Prose with a slash, devices, paths that begin with a variable."""

_NOTHING = re.compile(r"\[REDACTED:[^\]]*\]|\\[nrt]")
"""What no name begins in: the mark of a secret, an escape."""

_AROUND = ".,:;!?()\"'*`-–—[]{}<>=|&+"
_BORDER = "\n\x1e\n"


def names_in_use(story: Story) -> tuple[Name, ...]:
    """Identifiers and paths in the agent's own words, calls and code: those that came up often
    and late first."""
    finder = Finder(story.recording.header.cwd)
    in_words = ((message, finder.names(text)) for message, text in _written(story))
    in_code = ((one.message, finder.tidy(one.names)) for one in story.each(Wrote))
    counts: dict[str, int] = {}
    latest: dict[str, int] = {}
    for message, names in merge(in_words, in_code, key=itemgetter(0)):
        for name in names:
            if latest.get(name) != message:
                latest[name] = message
                counts[name] = counts.get(name, 0) + 1
    end = max(1, len(story.thread))
    order = sorted(counts, key=lambda n: (-counts[n] * (0.2 + latest[n] / end), n))
    return tuple(Name(name, counts[name], latest[name]) for name in order[:NAMES])


class Finder:
    """Finds names in texts. No name holds white space, and few words of a session are new: each
    is looked at once.

    Args:
        cwd: names of files below this folder are told from there.
    """

    def __init__(self, cwd: str = "") -> None:
        cwd = cwd.rstrip("/")
        self._here = f"{cwd}/" if cwd else ""
        self._names: dict[str, set[str]] = {}
        self._plain: set[str] = set()

    def names(self, text: str) -> set[str]:
        """The names in a text."""
        if "\\" in text or "[REDACTED:" in text:
            text = _NOTHING.sub(" ", text)
        found: set[str] = set()
        for word in set(text.split()) - self._plain:
            names = self._names.get(word)
            if names is None:
                inner = word.strip(_AROUND)
                lower = inner.isalpha() and inner[1:].islower()
                names = set() if lower else self.tidy(_in(word))
                if not names:
                    self._plain.add(word)
                    continue
                self._names[word] = names
            found |= names
        return found

    def tidy(self, names: Sequence[str]) -> set[str]:
        """Those of the names that are worth telling, as they are told."""
        found = {name.removeprefix(self._here).rstrip(".-:") for name in names}
        return {n for n in found if len(n) > 2 and not _NO_NAME.match(n) and _LETTER.search(n)}


_LETTER = re.compile(r"[^\W\d_]")


def _in(word: str) -> list[str]:
    """What looks like a name in a word, taken in pieces where it is very long."""
    if len(word) <= WORD:
        return _NAME.findall(word)
    return [n for at in range(0, len(word), WORD) for n in _NAME.findall(word[at : at + WORD])]


def _written(story: Story) -> Iterator[tuple[int, str]]:
    """What the agent wrote, as far as it is kept: sentences, commands, paths, each with its
    message, in their order. Redacted: a key that is cut into names is no key to any rule."""
    calls = {(ran.ref.message, ran.part) for ran in story.each(Ran)}
    said = ((said.ref.message, said.text) for said in story.each(Said))
    ran = ((ran.ref.message, ran.command) for ran in story.each(Ran))
    called = (
        (call.message, call.text)
        for call in story.each(Called)
        if call.text and (call.message, call.part) not in calls
    )
    texts = merge(said, ran, called, key=itemgetter(0))
    while some := list(islice(texts, TOGETHER)):
        shown = _redacted([text for _, text in some])
        yield from ((message, text) for (message, _), text in zip(some, shown, strict=True))


def _redacted(texts: Sequence[str]) -> list[str]:
    """Each text without its secrets: all at once, which is far cheaper, unless one of them
    reaches over a border."""
    shown = Redactor().text(_BORDER.join(texts)).split(_BORDER)
    if len(shown) != len(texts):
        gate = Redactor()
        shown = [gate.text(text) for text in texts]
    return shown
