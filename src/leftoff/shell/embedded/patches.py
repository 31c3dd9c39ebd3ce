"""Parses unified diffs and ``*** Begin Patch`` texts: which files they change."""

from __future__ import annotations

from leftoff import lazy_re as re

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_ESCAPE = re.compile(r"\\(?:([0-7]{3})|(.))")
_PLAIN_ESCAPES = {"t": "\t", "n": "\n"}


def diff_steps(text: str) -> list[tuple[str, str, str]]:
    """All steps of a unified diff as (add | modify | delete | move, path, second path), without
    git's ``a/`` and ``b/``. A change of mode alone is none."""
    reader = _Diff()
    left = right = 0
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if left > 0 or right > 0:
            mark = line[:1]
            starts = line[:4] == "--- " and [text[:3] for text in lines[i + 1 : i + 3]] == [
                "+++",
                "@@ ",
            ]
            if line[:11] != "diff --git " and not starts and mark in " +-\\":
                left -= mark != "+" and mark != "\\"
                right -= mark != "-" and mark != "\\"
                continue
            left = right = 0
        if line[:3] == "@@ ":
            found = _HUNK.match(line)
            if found is not None:
                left, right = (int(size) if size else 1 for size in found.groups())
        else:
            reader.header(line)
    reader.flush()
    return reader.steps


class _Diff:
    """The headers of one file's part of a diff, until the next one begins."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str, str]] = []
        self._clear()

    def _clear(self) -> None:
        self.old = self.new = ""
        self.kind = ""
        self.source = ""
        self.changed = self.paired = False

    def header(self, line: str) -> None:
        if line.startswith("diff --git "):
            self.flush()
            self.old, self.new = _both_names(line[11:])
        elif line.startswith("--- "):
            if self.paired:
                self.flush()
            self.old = _name(line[4:])
        elif line.startswith("+++ ") and self.old:
            self.new = _name(line[4:])
            self.changed = self.paired = True
        elif line.startswith("new file mode "):
            self.kind = "add"
        elif line.startswith("deleted file mode "):
            self.kind = "delete"
        elif line.startswith(("rename from ", "copy from ")):
            self.source = _unquoted(line.partition(" from ")[2].strip())
        elif line.startswith(("rename to ", "copy to ")) and self.source:
            self.kind = "move" if line[0] == "r" else "copy"
            self.new = _unquoted(line.partition(" to ")[2].strip())
        elif line.startswith(("index ", "Binary files ", "GIT binary patch")):
            self.changed = self.changed or bool(self.new)

    def flush(self) -> None:
        old, new, kind, changed = self.old, self.new, self.kind, self.changed
        source = self.source
        self._clear()
        if kind in ("move", "copy"):
            self.steps.append(("add", new, "") if kind == "copy" else ("move", source, new))
            if changed and kind == "move":
                self.steps.append(("modify", new, ""))
            return
        if not new or not (changed or kind):
            return
        if old == "/dev/null":
            kind = "add"
        elif new == "/dev/null":
            kind = "delete"
        path = old if new == "/dev/null" else new
        self.steps.append((kind or "modify", path, ""))


def _both_names(rest: str) -> tuple[str, str]:
    """The two names of a ``diff --git`` line, which stand side by side."""
    if rest[:1] == '"':
        first, _, second = rest[1:].partition('" ')
        return _name('"' + first + '"'), _name(second)
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " " and rest[2:middle] == rest[middle + 3 :]:
        return _name(rest[:middle]), _name(rest[middle + 1 :])
    first, found, second = rest.partition(" b/")
    return (_name(first), _name("b/" + second)) if found else ("", "")


def _unquoted(name: str) -> str:
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = bytearray()
    last = 0
    body = name[1:-1]
    for found in _ESCAPE.finditer(body):
        raw += body[last : found.start()].encode()
        octal, plain = found.groups()
        if octal:
            raw.append(int(octal, 8) & 255)
        else:
            raw += _PLAIN_ESCAPES.get(plain, plain).encode()
        last = found.end()
    raw += body[last:].encode()
    return raw.decode("utf-8", "replace")


def _name(text: str) -> str:
    name = _unquoted(text.partition("\t")[0].strip())
    return name[2:] if name[:2] in ("a/", "b/", "i/", "w/") else name


def marked_steps(text: str) -> list[tuple[str, str, str]]:
    """All steps of a patch in the ``*** Begin Patch`` form."""
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
    return steps
