"""Files named in patch texts: the `*** Begin Patch` dialect and unified diffs."""

from __future__ import annotations

import re

_BEGIN = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.+?)[ \t\r]*$(?:\n\*\*\* Move to: (.+?)[ \t\r]*$)?",
    re.MULTILINE,
)
_UNIFIED = re.compile(r"^--- (.+?)[\t\r ]*\n\+\+\+ (.+?)[\t\r ]*$", re.MULTILINE)
_GIT = re.compile(
    r"^diff --git a/(.+?) b/(.+?)$"
    r"(?:\n(?:old mode|new mode|similarity|dissimilarity|index) .*$)*"
    r"(?:\n(new file|deleted file|rename from|copy from)\b.*$)?",
    re.MULTILINE,
)
_VERBS = {"Add": "create", "Update": "edit", "Delete": "delete"}


def patched_files(patch: str) -> list[tuple[str, str, str]]:
    """(verb, path, new path) for each file that a patch touches, in order.

    Verbs are create, edit, delete and move; the new path is "" unless it moves.
    """
    found: list[tuple[str, str, str]] = []
    for action, path, target in _BEGIN.findall(patch):
        found.append(("move" if target else _VERBS[action], path, target))
    if found:
        return found
    for old, new, note in _GIT.findall(patch):
        if note == "new file":
            found.append(("create", new, ""))
        elif note == "deleted file":
            found.append(("delete", old, ""))
        elif note == "rename from":
            found.append(("move", old, new))
        else:
            found.append(("edit", new, ""))
    if found:
        return found
    for old, new in _UNIFIED.findall(patch):
        if old == "/dev/null":
            found.append(("create", _plain(new), ""))
        elif new == "/dev/null":
            found.append(("delete", _plain(old), ""))
        else:
            found.append(("edit", _plain(new), ""))
    return found


def _plain(path: str) -> str:
    path = path.split("\t", 1)[0]
    return path[2:] if path[:2] in {"a/", "b/"} else path
