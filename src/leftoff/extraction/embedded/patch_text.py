"""What the text of a patch does to files."""

from __future__ import annotations

from leftoff.extraction.embedded.steps import MANY, Embedded

__all__ = ["marked_patch_effects", "patch_effects"]


def patch_effects(text: str, level: str | None = None, *, reverse: bool = False) -> Embedded:
    """What a unified diff does: files added, changed, removed and renamed.

    `level` is the number of leading directories to strip; None strips git's ``a/`` and ``b/``.
    """
    steps: list[tuple[str, str, str]] = []
    old: str | None = None
    renamed: str | None = None
    in_hunk = 0
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if in_hunk > 0 and line[:1] in " +-\\":
            if line[:4] != "--- " or not (
                i + 1 < len(lines) and lines[i + 1].startswith("+++ ")
            ):
                continue
        in_hunk = 0
        if line.startswith("--- "):
            old = _patch_name(line[4:], level)
        elif line.startswith("+++ ") and old is not None:
            new = _patch_name(line[4:], level)
            first, second = (new, old) if reverse else (old, new)
            if first == "/dev/null" and second is not None:
                steps.append(("add", second, ""))
            elif second == "/dev/null" and first is not None:
                steps.append(("delete", first, ""))
            elif second is not None:
                if renamed is not None and renamed != second:
                    steps.append(("move", renamed, second))
                steps.append(("modify", second, ""))
            old = renamed = None
        elif line.startswith("rename from "):
            renamed = line[12:].strip()
        elif line.startswith("rename to ") and renamed is not None:
            goal = line[10:].strip()
            following = lines[i + 1 : i + 3]
            if not any(item.startswith(("index ", "--- ")) for item in following):
                steps.append(("move", goal, renamed) if reverse else ("move", renamed, goal))
                renamed = None
        elif line.startswith("@@ "):
            in_hunk = 1
        elif line.startswith("diff --git "):
            old = renamed = None
    return Embedded(tuple(steps[:MANY]), not steps)


def _patch_name(text: str, level: str | None) -> str | None:
    name = text.partition("\t")[0].strip().strip('"')
    if name == "/dev/null":
        return name
    if level is None:
        return name[2:] if name[:2] in ("a/", "b/") else name
    if not level.isdecimal():
        return name
    parts = name.split("/")
    return "/".join(parts[min(int(level[:3]), len(parts) - 1) :])


def marked_patch_effects(text: str) -> Embedded:
    """What a patch in the ``*** Begin Patch`` form does."""
    steps: list[tuple[str, str, str]] = []
    current = ""
    for line in text.splitlines():
        if line.startswith("*** Add File: "):
            steps.append(("add", line[14:].strip(), ""))
        elif line.startswith("*** Delete File: "):
            steps.append(("delete", line[17:].strip(), ""))
        elif line.startswith("*** Update File: "):
            current = line[17:].strip()
            steps.append(("modify", current, ""))
        elif line.startswith("*** Move to: ") and current:
            steps.append(("move", current, line[13:].strip()))
    return Embedded(tuple(steps[:MANY]), not steps)
