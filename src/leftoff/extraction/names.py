"""Names in the code that the agent writes: what the work is about, in words to go on with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

from msgspec import Struct

from leftoff.extraction.evidence import Evidence, Wrote
from leftoff.extraction.extractor import FILE, View
from leftoff.model import ToolCall
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import whole

NAMES = 40
"""Names kept of one call, those that occur most in it."""

LOOKED_AT = 50_000
"""Code points of a call's text that are looked at."""

_WRITES = frozenset({"edit", "create", "patch", "notebook"})

IN_CODE = re.compile(
    r"\b[A-Za-z]\w*_\w+|\b_\w{2,}"  # snake_case, _private
    r"|\b(?:[a-z]+\d*[A-Z]|[A-Z][a-z0-9]+[A-Z])\w*"  # camelCase, PascalCase
    r"|\b[A-Za-z]\w*(?:\.[A-Za-z]\w+)+"  # a dotted name, a file
)


_REDACTED = re.compile(r"\[REDACTED:[^\]]*\]|\\[nrt]")
"""What no name begins in: the mark of a secret, an escape."""


class Names(Struct):
    """Finds the identifiers in edits."""

    name: ClassVar[str] = "names"
    wants: ClassVar[int] = FILE

    def see(self, view: View) -> Iterable[Evidence]:
        """The names in each call of a message that writes to a file."""
        found: list[Evidence] = []
        for number, part in enumerate(view.message.parts):
            if type(part) is ToolCall and part.kind in _WRITES:
                # Redacted first: a key that is cut into names is no key to any rule.
                written = Redactor().text(whole("\n".join(_texts(part.input)), LOOKED_AT))
                counts: dict[str, int] = {}
                for word, times in Counter(_REDACTED.sub(" ", written).split()).items():
                    for name in _in_word(word):
                        counts[name] = counts.get(name, 0) + times
                if counts:
                    names = sorted(counts, key=lambda n: (-counts[n], n))[:NAMES]
                    found.append(Wrote(view.message.index, number, tuple(names)))
        return found


@lru_cache(1 << 14)
def _in_word(word: str) -> tuple[str, ...]:
    """The names in what stands between white space: the same words come again and again."""
    return tuple(IN_CODE.findall(word))


def _texts(value: Any, depth: int = 3) -> Iterator[str]:
    """The strings in a call's arguments."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth - 1)
