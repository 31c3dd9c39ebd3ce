"""Removals and reads that only the words of a command show."""

from leftoff import lazy_re as re
from leftoff.tables import table

_RE = re.patterns(table(__file__, "patterns.toml")["removals"])

# The word after them is their value, which would be taken for a file.
_VALUED = frozenset(
    "-erroraction -ea -include -exclude -filter -stream -totalcount -head -first -tail -last"
    " -encoding -readcount -delimiter".split()
)


def named_in_powershell(command: str, did: str) -> list[str]:
    """The literal paths that a PowerShell or cmd command line removes or reads, as it names
    them.

    Args:
        did: removed | read.

    >>> named_in_powershell("Remove-Item -Force 'C:/w/a b.txt' -ErrorAction Ignore", "removed")
    ['C:/w/a b.txt']"""
    found: list[str] = []
    for match in _RE[did].finditer(command):
        skip = False
        for word in _RE["word"].finditer(match[1]):
            text = word[1] or word[2] or word[3] or ""
            if skip or text[:1] == "-":
                skip = not skip and text.casefold() in _VALUED
                continue
            if text and not set("$*?`@") & set(text):
                found.append(text)
    return found
