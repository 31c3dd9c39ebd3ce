"""What command lines of PowerShell and cmd did to files, as far as their words show it."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Ran, Returned
from leftoff.shell.paths import absolute
from leftoff.shell.powershell import is_powershell, named_writes, values_in
from leftoff.tables import table

if TYPE_CHECKING:
    from leftoff.analysis.files.track import Tracker

_RE = re.patterns(table(__file__, "patterns.toml")["powershell"])

# How an error of a cmdlet is printed.
_FAILED = re.compile(r"CategoryInfo|\b(?:[A-Z][a-z]+-(?:Content|Item)|Out-File) ?: ")

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
    value = values_in(command)
    found = [
        (value(m[1]), value(m[2]) or "*", value(m[3]))
        for m in _RE["moved_all"].finditer(command)
    ]
    found += [(value(m[1]), "", value(m[2])) for m in _RE["moved"].finditer(command)]
    return [one for one in found if not set("$`@") & set("".join(one)) and one[0] and one[2]]


def apply_powershell(tracker: Tracker, act: Ran, outcome: Returned | None) -> None:
    """Applies to the files of a session what a command line of PowerShell reads and writes, and
    its removals and moves of files that are known; without its grammar they are likely at
    most."""
    status = outcome.status if outcome is not None else "unknown"
    if status not in {"ok", "unknown", "running"}:
        return
    call, known = tracker.call_site(act.ref, act.tool, act.cwd), tracker.known

    # The folder that it goes to before all else; None where that is not known.
    value, folder = values_in(act.command), act.cwd or tracker.root
    goes = [*_RE["goes"].finditer(act.command)]
    place = value(goes[0][1]) if goes else "."
    late = goes and _RE["acts"].search(act.command, 0, goes[0].start())
    unknown = late or len(goes) > 1 or not place or not set("$`(").isdisjoint(place)
    base = None if unknown else absolute(place, folder)

    def resolved(path: str) -> str:
        return tracker.resolve_path(absolute(path, base or folder))

    for path in map(resolved, named_in_powershell(act.command, "read") * (status == "ok")):
        if known.kind(path) != "directory":
            known.put(path)
            tracker.add_event(call, path, "read", "likely", tool="Get-Content")
    for path in map(resolved, named_in_powershell(act.command, "removed")):
        for name in sorted(tracker.changed):
            if name == path or name.startswith(f"{path}/"):
                tracker.record_change(name, "deleted")
                tracker.add_event(call, name, "deleted", "likely", tool="Remove-Item")

    def is_folder(path: str, given: str) -> bool:
        below = any(one.startswith(f"{path}/") for one in tracker.touched)
        return given[-1:] in "/\\" or below or known.kind(path) == "directory"

    for given, pattern, target in moved_in_powershell(act.command):
        path, into = resolved(given), resolved(target)
        below = pattern or is_folder(into, target)
        for old in sorted(tracker.changed):
            above, _, name = old.rpartition("/")
            meant = above == path and fnmatch.fnmatch(name, pattern) if pattern else old == path
            if meant and known.kind(old) == "file":
                new = f"{into}/{name}" if below else into
                tracker.record_move(call, old, new, "likely")
    if status == "running" or outcome is not None and _FAILED.search(outcome.output):
        return
    writes = act.language == "powershell" or is_powershell(act.command)
    for cmdlet, given, source in named_writes(act.command)[0] if writes else ():
        path = resolved(given)
        if base is None and path == resolved(f"./{given}"):
            continue
        if source and is_folder(path, given):
            path = f"{path}/{resolved(source).rpartition('/')[2]}"
        kind = known.kind(path)
        there = kind == "file" or kind == "unknown" and cmdlet == "Add-Content"
        tracker.record_change(path, "modified" if there else "created")
        known.contents.pop(path, None)
        tracker.add_event(call, path, "modified" if there else "created", "likely", tool=cmdlet)
