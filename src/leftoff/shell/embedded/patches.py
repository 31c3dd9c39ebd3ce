"""Parses unified diffs and ``*** Begin Patch`` texts: which files they change."""

from leftoff import lazy_re as re

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))")
_PLAIN_ESCAPES = {b"t": b"\t", b"n": b"\n"}


def diff_steps(text: str) -> list[tuple[str, str, str]]:
    """What a unified diff does, as (add | modify | delete | move, path, second path); a change
    of mode alone is nothing."""
    reader = _Diff()
    left = right = 0
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if left > 0 or right > 0:
            mark = line[:1]
            # A removed line that begins with `-- ` looks like the head of a file,
            # below which `+++` and `@@` stand.
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
            # A diff without `diff --git` lines: the next file begins with its `---`.
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
            self.source = unquoted(line.partition(" from ")[2].strip())
        elif line.startswith(("rename to ", "copy to ")) and self.source:
            self.kind = "move" if line[0] == "r" else "add"
            self.new = unquoted(line.partition(" to ")[2].strip())
        # Contents changed, also where no hunk says so; of a mode alone there is no such line.
        elif line.startswith(("index ", "Binary files ", "GIT binary patch")):
            self.changed = self.changed or bool(self.new)

    def flush(self) -> None:
        old, new, kind, changed = self.old, self.new, self.kind, self.changed
        if kind == "move":
            self.steps.append(("move", self.source, new))
            if changed:
                self.steps.append(("modify", new, ""))
        elif new == "/dev/null":
            self.steps.append(("delete", old, ""))
        elif new and (changed or kind):
            self.steps.append(("add" if old == "/dev/null" else kind or "modify", new, ""))
        self._clear()


def _both_names(rest: str) -> tuple[str, str]:
    """The two names of a ``diff --git`` line, which stand side by side: names may hold blanks,
    but both have the same length unless the file was renamed."""
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " " and rest[2:middle] == rest[middle + 3 :]:
        return _name(rest[:middle]), _name(rest[middle + 1 :])
    return "", ""


def unquoted(name: str) -> str:
    r"""Git quotes names byte by byte: `"\303\274.txt"` is `ü.txt`."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    return _ESCAPE.sub(_byte, name[1:-1].encode("utf-8", "replace")).decode("utf-8", "replace")


def _byte(found: re.Match[bytes]) -> bytes:
    return (
        bytes([int(found[1], 8) & 255]) if found[1] else _PLAIN_ESCAPES.get(found[2], found[2])
    )


def _name(text: str) -> str:
    name = unquoted(text.partition("\t")[0].strip())
    # `i/` and `w/` with git's `diff.mnemonicPrefix`.
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
