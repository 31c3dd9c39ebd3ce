"""Ranks the names of a session: identifiers, paths, hashes, URLs, issue numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, islice
from operator import itemgetter

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Called, Ran, Said, Wrote
from leftoff.redaction.redactor import Redactor
from leftoff.session_view import SessionView
from leftoff.summary import Name

# At most so many names.
MAX_NAMES = 300

# Texts that are redacted in one call.
REDACTION_BATCH = 2_000

# Code points; a longer word is searched in pieces: it is data, and the search takes quadratic
# time in the length of a word.
MAX_WORD = 500

_NAME = re.compile(
    r"(?=[\w.~@$:/#-])(?:"  # what begins no name is passed over first
    r"https?://[^\s\"'`)\]>,]+"
    r"|[\w.~@$:-]*+/[\w./@~-]*\w"  # a path
    r"|\b[A-Za-z_]\w*(?:\.\w+)*\.(?:[a-z]{1,5}\d?)\b"  # a file or a dotted name
    r"|\b[A-Za-z]\w*_\w+|\b_\w{2,}"  # snake_case, _private
    r"|\b[a-z]+\d*[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, PascalCase
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"  # a hash
    r"|#\d+\b)"
)
# In each name is one of these: few words have any.
_MAY_BE_NAME = re.compile(r"[/_#]|\.[a-z]|[a-z\d][A-Z]|[0-9a-f]{7}")
# Prose with a slash, devices, paths that begin with a variable.
_NO_NAME = re.compile(
    r"(?:/dev/|\$|[A-Za-z]+/[A-Za-z]+$|/[a-z]+$|[ei]\.[ge]$|[A-Z]/)"
    r"|(?:max_output_tokens|yield_time_ms|session_id|exec_command|write_stdin)$"
)

# Parts of a text that are no names: placeholders of secrets, escapes.
_SEPARATORS = re.compile(r"\[REDACTED:[^\]]*\]|\\[nrt]")

# Between two texts that are redacted together: printable, since redaction looks twice around
# what is not; no letter of a credential.
_DELIMITER = "\n|^|\n"


def names_in_use(view: SessionView) -> tuple[Name, ...]:
    """Identifiers and paths in the agent's own words, calls and code, ranked by the number of
    messages with the name times the recency of the last."""
    finder = NameFinder(view.state.header.cwd)
    counts: dict[str, int] = {}
    latest: dict[str, int] = {}
    written = _written(view)
    while batch := list(islice(written, REDACTION_BATCH)):
        of_text = finder.names(item for _, item in batch if isinstance(item, str))
        for message, item in batch:
            found = of_text.get(item) if isinstance(item, str) else finder.normalised(item)
            for name in found or ():
                if latest.get(name) != message:
                    latest[name] = message
                    counts[name] = counts.get(name, 0) + 1
    end = max(1, len(view.thread))
    order = sorted(counts, key=lambda n: (-counts[n] * (0.2 + latest[n] / end), n))
    return tuple(Name(name, counts[name], latest[name]) for name in order[:MAX_NAMES])


class NameFinder:
    """Finds names in texts. A name has no white space and most words of a session repeat, so
    the result for each word is cached.

    Args:
        cwd: paths below this folder become relative to it.
    """

    def __init__(self, cwd: str = "") -> None:
        cwd = cwd.rstrip("/")
        self._here = f"{cwd}/" if cwd else ""
        self._seen: set[str] = set()
        self._names: dict[str, set[str]] = {}

    def names(self, texts: Iterable[str]) -> dict[str, set[str]]:
        """The names in each text that may have one. Of redacted texts: no rule recognises a
        secret that is cut into names."""
        texts = list(filter(_MAY_BE_NAME.search, dict.fromkeys(texts)))
        words = [
            (
                _SEPARATORS.sub(" ", text) if "\\" in text or "[REDACTED:" in text else text
            ).split()
            for text in _redacted(texts)
        ]
        new = set(chain.from_iterable(words)) - self._seen
        self._seen |= new
        for word in filter(_MAY_BE_NAME.search, new):
            if names := self.normalised(_names_in(word)):
                self._names[word] = names
        named, of_word = self._names.keys(), self._names.__getitem__
        return {
            text: set().union(*map(of_word, named & found))
            for text, found in zip(texts, words, strict=True)
        }

    def normalised(self, names: Sequence[str]) -> set[str]:
        """The names without those of no use, paths relative to `cwd`."""
        found = {name.removeprefix(self._here).rstrip(".-:") for name in names}
        return {n for n in found if len(n) > 2 and not _NO_NAME.match(n) and _LETTER.search(n)}


_LETTER = re.compile(r"[^\W\d_]")


def _names_in(word: str) -> list[str]:
    """The names in a word; a very long one is searched in pieces."""
    if len(word) <= MAX_WORD:
        return _NAME.findall(word)
    return [
        n
        for at in range(0, len(word), MAX_WORD)
        for n in _NAME.findall(word[at : at + MAX_WORD])
    ]


def _written(view: SessionView) -> Iterator[tuple[int, str | Sequence[str]]]:
    """The recorded texts of the agent (sentences, commands, paths) and the names in its code,
    each with its message, in order."""
    calls = {(ran.ref.message, ran.part) for ran in view.each(Ran)}
    said = ((said.ref.message, said.text) for said in view.each(Said))
    ran = ((ran.ref.message, ran.command) for ran in view.each(Ran))
    called = (
        (call.message, call.text)
        for call in view.each(Called)
        if call.text and (call.message, call.part) not in calls
    )
    code = ((one.message, one.names) for one in view.each(Wrote))
    return merge(said, ran, called, code, key=itemgetter(0))


def _redacted(texts: Sequence[str]) -> list[str]:
    """The texts, redacted: all at once, which is far cheaper, unless a secret crosses a
    delimiter."""
    shown = Redactor().text(_DELIMITER.join(texts)).split(_DELIMITER)
    if len(shown) != len(texts):
        gate = Redactor()
        shown = [gate.text(text) for text in texts]
    return shown
