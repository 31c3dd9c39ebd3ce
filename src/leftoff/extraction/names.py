"""Extractor of the identifiers in code that the agent writes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Evidence, Wrote
from leftoff.extraction.extractor import EDIT, View
from leftoff.model import ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import whole

# Names recorded for one call, the most frequent ones. Chosen by hand; not measured.
MAX_NAMES = 40

# Code points of a call's text that are searched. Chosen by hand; not measured.
MAX_TEXT = 50_000

_WRITES = frozenset({"edit", "create", "patch", "notebook"})

# Words of prose are none: a name has an underscore, a capital inside or a dot.
IN_CODE = re.compile(
    r"\b[A-Za-z]\w*_\w+|\b_\w{2,}"  # snake_case, _private
    r"|\b(?:[a-z]+\d*[A-Z]|[A-Z][a-z0-9]+[A-Z])\w*"  # camelCase, PascalCase
    r"|\b[A-Za-z]\w*(?:\.[A-Za-z]\w+)+"  # a dotted name, a file
)

_REDACTED = re.compile(r"\[REDACTED:[^\]]*\]|\\[nrt]")


class Names(Struct):
    """Finds the identifiers in edits."""

    name: ClassVar[str] = "names"
    wants: ClassVar[int] = EDIT

    def see(self, view: View) -> Iterable[Evidence]:
        """The names in each call of a message that writes to a file."""
        for number, part in enumerate(view.message.parts):
            if type(part) is ToolCall and part.kind in _WRITES:
                # Redact first: no rule recognises a secret that is cut into names.
                written = Redactor().text(whole("\n".join(_texts(part.input)), MAX_TEXT))
                words = Counter(without_placeholders(written).split())
                counts: dict[str, int] = {}
                for word in words.keys() - _nameless:
                    times, found = words[word], _names_in(word)
                    for name in found:
                        counts[name] = counts.get(name, 0) + times
                    if not found and len(_nameless) < MAX_NAMELESS:
                        _nameless.add(word)
                if counts:
                    names = sorted(sorted(counts), key=counts.__getitem__, reverse=True)
                    yield Wrote(view.message.index, number, tuple(names[:MAX_NAMES]))


def without_placeholders(text: str) -> str:
    """A text without what holds no names: placeholders of secrets, escapes."""
    return _REDACTED.sub(" ", text) if "\\" in text or "[REDACTED:" in text else text


# Words without a name that were seen: most words are such, and recur. About 100 bytes each;
# chosen by hand for the memory.
MAX_NAMELESS = 1 << 12
_nameless: set[str] = set()


@lru_cache(1 << 12)
def _names_in(word: str) -> tuple[str, ...]:
    """The names in a word between white space; cached, since words repeat."""
    if word.isalpha() and word[1:].islower():
        return ()
    return tuple(IN_CODE.findall(word))


def _texts(value: object, depth: int = 3) -> Iterator[str]:
    """The strings in a call's arguments."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth - 1)
