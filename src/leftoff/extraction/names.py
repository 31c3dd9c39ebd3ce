"""The identifiers in code that the agent writes."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from leftoff import lazy_re as re

# Names recorded for one call, the most frequent ones. Chosen by hand; not measured.
MAX_NAMES = 40

# Words of prose are none: a name has an underscore, a capital inside or a dot.
IN_CODE = re.compile(
    r"(?<!\w-)\b(?:[A-Za-z]\w*_\w+|_\w{2,}"  # snake_case, _private; none is cut at a hyphen
    r"|(?:[a-z]+\d*[A-Z]|[A-Z][a-z0-9]+[A-Z])\w*"  # camelCase, PascalCase
    r"|[A-Za-z]\w*(?:\.[A-Za-z]\w+)+)"  # a dotted name, a file
)

_REDACTED = re.compile(r"\[REDACTED:[^\]]*\]|\\[nrt]")


def names_in(text: str) -> tuple[str, ...]:
    """The identifiers in a redacted text, the most frequent ones first."""
    counts: dict[str, int] = {}
    for word, times in Counter(without_placeholders(text).split()).items():
        # Most words are in small letters alone, which no pattern has to tell.
        if not word.islower() or "_" in word or "." in word:
            for name in _names_in(word):
                counts[name] = counts.get(name, 0) + times
    return tuple(sorted(sorted(counts), key=counts.__getitem__, reverse=True)[:MAX_NAMES])


def without_placeholders(text: str) -> str:
    """A text without what holds no names: placeholders of secrets, escapes."""
    return _REDACTED.sub(" ", text) if "\\" in text or "[REDACTED:" in text else text


@lru_cache(1 << 12)
def _names_in(word: str) -> tuple[str, ...]:
    """The names in a word between white space; cached, since words repeat."""
    if word.isalpha() and word[1:].islower():
        return ()
    return tuple(IN_CODE.findall(word))


def texts_in(value: object, depth: int = 3) -> Iterator[str]:
    """The strings in a call's arguments."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from texts_in(inner, depth - 1)
