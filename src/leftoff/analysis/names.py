"""Ranks the names of a session: identifiers, paths, hashes, URLs, issue numbers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Called, Ran, Said, Wrote
from leftoff.extraction.names import without_placeholders
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

# A file or a dotted name; a hyphen belongs to it. Up to five letters and a digit, as `.ipynb`
# and `.mp4` have: chosen by hand.
_DOTTED = (
    r"|(?<!\w[.-])\b(?:\d[\w-]*-)?[A-Za-z_](?:[\w-]*\w)?(?:\.[\w-]+)*\.(?:[a-z]{1,5}\d?)\b"
)
# Hashes begin at seven digits, as git shortens them, and hold one: `deface` is a word.
_WORDS = (
    r"|(?<!\w-)\b(?:[A-Za-z]\w*_\w+|_\w{2,}"  # snake_case, _private; none is cut at a hyphen
    r"|[a-z]+\d*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, PascalCase
    r"|(?=[a-f]*\d)[0-9a-f]{7,40})\b(?!-[A-Za-z0-9])"  # a hash
    r"|#\d+\b"
)
_PATHS = r"https?://[^\s\"'`)\]>,]+|[\w.~@$:-]*/[\w./@~-]*\w"
# To look for a path takes quadratic time in the length of a word, so words without a slash or
# dot are searched for less.
_NAME = re.compile(_PATHS + _DOTTED + _WORDS)
_WITHOUT_SLASH = re.compile(_DOTTED[1:] + _WORDS)
_WITHOUT_DOT = re.compile(_WORDS[1:])
# Prose with a slash, devices, paths that begin with a variable.
_NO_NAME = re.compile(
    r"(?:/dev/|\$|[A-Za-z]+/[A-Za-z]+$|/[a-z]+$|[ei]\.[ge]$|[A-Z]/)"
    r"|(?:max_output_tokens|yield_time_ms|session_id|exec_command|write_stdin)$"
)

# A word without a match of this holds no match of `_NAME`.
_SIGN = re.compile(r"[/_\d]|\.[a-z]|[a-z][A-Z]")

# Between two texts that are redacted together: printable, since redaction looks twice around
# what is not; no letter of a credential.
_DELIMITER = "\n|^|\n"


def names_in_use(view: SessionView) -> tuple[Name, ...]:
    """Identifiers and paths in the agent's own words, calls and code, ranked by the number of
    messages with the name times the recency of the last."""
    finder = NameFinder(view.state.header.cwd)
    in_words = _found(finder, _written(view))
    in_code = ((one.message, finder.normalised(one.names)) for one in view.each(Wrote))
    counts: Counter[str] = Counter()
    latest: dict[str, int] = {}
    for message, several in groupby(merge(in_words, in_code, key=_MESSAGE), key=_MESSAGE):
        found = set().union(*(names for _, names in several))
        counts.update(found)
        latest.update(dict.fromkeys(found, message))
    end = max(1, len(view.thread))
    order = sorted(counts, key=lambda n: (-counts[n] * (0.2 + latest[n] / end), n))
    return tuple(Name(name, counts[name], latest[name]) for name in order[:MAX_NAMES])


def _found(
    finder: "NameFinder", texts: Iterator[tuple[int, str]]
) -> Iterator[tuple[int, set[str]]]:
    """The names in each text, beside its message. Found in the redacted texts, since no rule
    recognises a secret that is cut into names."""
    while batch := list(islice(texts, REDACTION_BATCH)):
        each = [*{text: None for _, text in batch}]  # one command is often run again
        pairs = zip(each, finder.names(each), strict=True)
        found = {text: names for text, names in pairs if names}
        # Where there is no name, there is none without the secrets.
        shown = zip(found, _redacted([*found]), strict=True)
        changed = {text: after for text, after in shown if text != after}
        found.update(zip(changed, finder.names(changed.values()), strict=True))
        yield from ((message, found[text]) for message, text in batch if text in found)


class NameFinder:
    """Finds names in texts. A name has no white space and most words of a session repeat, so
    each word is searched once.

    Args:
        cwd: paths below this folder become relative to it."""

    def __init__(self, cwd: str = "") -> None:
        cwd = cwd.rstrip("/")
        self._here = f"{cwd}/" if cwd else ""
        self._names: dict[str, tuple[str, ...]] = {}  # a set takes four times the memory
        self._seen: set[str] = set()

    def names(self, texts: Iterable[str]) -> list[set[str]]:
        """The names in each text."""
        words = [without_placeholders(text).split() for text in texts]
        new = set().union(*words) - self._seen
        self._seen |= new
        for word in new:
            # Most are plain words, which is cheaper to ask than a pattern.
            if not (word.isalpha() and word.islower()) and _SIGN.search(word):
                if names := self.normalised(_names_in(word)):
                    self._names[word] = tuple(names)
        known = self._names.get
        return [set().union(*filter(None, map(known, several))) for several in words]

    def normalised(self, names: Iterable[str]) -> set[str]:
        """The names without those of no use, paths relative to `cwd`."""
        found: set[str] = set()
        for name in names:
            name = name.removeprefix(self._here).rstrip(".-:")
            if len(name) > 2 and (name[0].isalpha() or _LETTER.search(name)):
                if not _NO_NAME.match(name):
                    found.add(name)
        return found


_LETTER = re.compile(r"[^\W\d_]")
_MESSAGE = itemgetter(0)


def _names_in(word: str) -> list[str]:
    name = _NAME if "/" in word else _WITHOUT_SLASH if "." in word else _WITHOUT_DOT
    if len(word) <= MAX_WORD:
        return name.findall(word)
    pieces = (word[at : at + MAX_WORD] for at in range(0, len(word), MAX_WORD))
    return [found for piece in pieces for found in name.findall(piece)]


def _written(view: SessionView) -> Iterator[tuple[int, str]]:
    """The recorded texts of the agent (sentences, commands, paths), each with its message, in
    order."""
    calls = {ran.call for ran in view.each(Ran)}
    said = ((said.ref.message, said.text) for said in view.each(Said))
    ran = ((ran.ref.message, ran.command) for ran in view.each(Ran))
    called = (
        (call.message, call.text)
        for call in view.each(Called)
        if call.text and call.call not in calls
    )
    return merge(said, ran, called, key=_MESSAGE)


def _redacted(texts: Sequence[str]) -> list[str]:
    """The texts, redacted: all at once, which is far cheaper, unless a secret crosses a
    delimiter."""
    shown = Redactor().text(_DELIMITER.join(texts)).split(_DELIMITER)
    if len(shown) != len(texts):
        gate = Redactor()
        shown = [gate.text(text) for text in texts]
    return shown
