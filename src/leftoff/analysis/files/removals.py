"""Removals, moves and reads that only the words of a command show."""

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


def moved_in_powershell(command: str) -> list[tuple[str, str, str]]:
    """What a PowerShell command line moves, as (path or folder, pattern of the files in the
    folder or "", target), with variables that it sets to a text before.

    >>> moved_in_powershell("$a = 'C:/w'; ls $a -Filter *.ps1 | Move-Item -Destination $a/lib")
    [('C:/w', '*.ps1', 'C:/w/lib')]"""
    if "move-item" not in command.casefold():
        return []
    known: dict[str, str] = {}

    def value(word: str | None) -> str:
        return _RE["variable"].sub(lambda m: known.get(m[1], m[0]), (word or "").strip("\"'"))

    for name, given in _RE["assigned"].findall(command):
        known[name] = value(given)
    found = [
        (value(m[1]), value(m[2]) or "*", value(m[3]))
        for m in _RE["moved_all"].finditer(command)
    ]
    found += [(value(m[1]), "", value(m[2])) for m in _RE["moved"].finditer(command)]
    return [one for one in found if not set("$`@") & set("".join(one)) and one[0] and one[2]]
