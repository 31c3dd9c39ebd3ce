"""Extractor of the identifiers that the agent writes in code, and of definitions it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Evidence, Wrote
from leftoff.extraction.extractor import FILE, RESULT, Pending, View
from leftoff.model import ToolCall, ToolResult
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import whole

MAX_NAMES = 40
"""Names recorded for one call, the most frequent ones. Chosen by hand; not measured."""

MAX_TEXT = 50_000
"""Code points of a call's text that are searched. Chosen by hand; not measured."""

_WRITES = frozenset({"edit", "create", "patch", "notebook"})

IN_CODE = re.compile(
    r"\b[A-Za-z]\w*_\w+|\b_\w{2,}"  # snake_case, _private
    r"|\b(?:[a-z]+\d*[A-Z]|[A-Z][a-z0-9]+[A-Z])\w*"  # camelCase, PascalCase
    r"|\b[A-Za-z]\w*(?:\.[A-Za-z]\w+)+"  # a dotted name, a file
)


_REDACTED = re.compile(r"\[REDACTED:[^\]]*\]|\\[nrt]")
"""Parts of a text that are no names: placeholders of secrets, escapes."""


MAX_DEFINED, MAX_LINE = 200, 160
"""Definitions that are remembered, the last read, and code points of their lines. Chosen by
hand."""

MAX_READ = 60_000
"""Code points of an output in which definitions are looked for. Chosen by hand."""

DEFINITION = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async"
    r"|override|suspend|pub(?:\([a-z]+\))?|unsafe|extern|inline|virtual|sealed|partial) +)*"
    r"(?:defp?|class|func(?: \([^)]*\))?|function\*?|fn|struct|enum|interface|trait|impl|type"
    r"|module|namespace|record|protocol|object|macro_rules!|(?:const|let|var)(?= +\w+ *="
    r" *(?:async )?(?:\(|function|\w+ *=>))) +([A-Za-z_$][\w$.]*)"
)
"""What begins the definition of a function, a class or the like; the group is its name."""

_NUMBERED = re.compile(
    r"\n[ \t]*(\d{1,6})(?:→|\t|: |\|)[ \t]*(?=[acdefilmnoprstuv][a-z_]*[ !(*])"
    rf"({DEFINITION}[^\n]*)"
)
"""The look-ahead at the keyword is only for speed."""
_FOUND = re.compile(rf"\n([\w./@-]+\.\w{{1,5}}):(\d{{1,6}}):[ \t]*({DEFINITION}[^\n]*)")
_SEARCHES = re.compile(r"\b(?:grep|rg)\b")


class Definition(Struct, frozen=True, array_like=True):
    """A line that defines something, as it was last read: message, path as the call or its
    output names it, number of the line from 1."""

    message: int
    path: str
    line: int
    text: str


class Names(Struct):
    """Finds the identifiers in edits, and remembers the definitions in what was read.

    Attributes:
        defined: by name and path, the last read at the end.
    """

    name: ClassVar[str] = "names"
    wants: ClassVar[int] = FILE | RESULT

    defined: dict[str, Definition] = field(default_factory=dict)

    def see(self, view: View) -> Iterable[Evidence]:
        """The names in each call of a message that writes to a file."""
        for number, call in view.calls.items():
            part = view.message.parts[number]
            if type(part) is ToolResult and part.status in {"ok", "unknown"}:
                self._read(call, part.text)
        for number, part in enumerate(view.message.parts):
            if type(part) is ToolCall and part.kind in _WRITES:
                # Redact first: no rule recognises a secret that is cut into names.
                written = Redactor().text(whole("\n".join(_texts(part.input)), MAX_TEXT))
                if "\\" in written or "[REDACTED:" in written:
                    written = _REDACTED.sub(" ", written)
                words, counts = Counter(written.split()), dict[str, int]()
                for word, found in zip(words, map(_names_in, words), strict=True):
                    for name in found:
                        counts[name] = counts.get(name, 0) + words[word]
                if counts:
                    names = sorted(counts, key=lambda n: (-counts[n], n))[:MAX_NAMES]
                    yield Wrote(view.message.index, number, tuple(names))

    def _read(self, call: Pending, text: str) -> None:
        found = []
        if call.kind == "read":
            rows = (
                (call.text, *m.group(1, 2, 3))
                for m in _NUMBERED.finditer("\n" + text[:MAX_READ])
            )
            found = list(rows)
        elif call.kind == "search" or call.kind == "shell" and _SEARCHES.search(call.text):
            found = [m.group(1, 2, 3, 4) for m in _FOUND.finditer("\n" + text[:MAX_READ])]
        for path, line, words, name in found:
            key = f"{name.rpartition('.')[2]} {path}"
            self.defined.pop(key, None)
            self.defined[key] = Definition(
                call.message,
                path,
                int(line),
                whole(words.rstrip(" {:(\r").removesuffix(" do"), MAX_LINE),
            )
        for key in list(self.defined)[:-MAX_DEFINED]:
            del self.defined[key]


@lru_cache(1 << 14)
def _names_in(word: str) -> tuple[str, ...]:
    """The names in a word between white space; cached, since words repeat."""
    if word.isalpha() and word[1:].islower():
        return ()
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
