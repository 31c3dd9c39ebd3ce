"""Parses unified diffs and ``*** Begin Patch`` texts: which files they change."""

from leftoff import lazy_re as re
from leftoff.shell.embedded.steps import MAX_STEPS, ScriptSteps

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))")
_PLAIN_ESCAPES = {b"t": b"\t", b"n": b"\n"}


def patch_effects(text: str, level: str | None = None) -> ScriptSteps:
    """What a unified diff does: files added, changed, removed and renamed.

    `level` is the number of leading directories to strip; None strips git's ``a/`` and ``b/``.
    A change of mode alone is none."""
    steps = diff_steps(text, level)
    return ScriptSteps(tuple(steps[:MAX_STEPS]), not steps)


def diff_steps(text: str, level: str | None = None) -> list[tuple[str, str, str]]:
    """All steps of a unified diff as (add | modify | delete | move, path, second path)."""
    reader = _Diff(level)
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

    def __init__(self, level: str | None) -> None:
        self.level = level
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
            self.old, self.new = _both_names(line[11:], self.level)
        elif line.startswith("--- "):
            # A diff without `diff --git` lines: the next file begins with its `---`.
            if self.paired:
                self.flush()
            self.old = _name(line[4:], self.level)
        elif line.startswith("+++ ") and self.old:
            self.new = _name(line[4:], self.level)
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


def _both_names(rest: str, level: str | None) -> tuple[str, str]:
    """The two names of a ``diff --git`` line, which stand side by side."""
    middle = len(rest) // 2
    # Names may hold blanks: both have the same length unless the file was renamed.
    if rest[middle : middle + 1] == " " and rest[2:middle] == rest[middle + 3 :]:
        return _name(rest[:middle], level), _name(rest[middle + 1 :], level)
    first, found, second = rest.partition(" b/")
    return (_name(first, level), _name("b/" + second, level)) if found else ("", "")


def unquoted(name: str) -> str:
    r"""Git quotes names byte by byte: `"\303\274.txt"` is `ü.txt`."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    return _ESCAPE.sub(_byte, name[1:-1].encode("utf-8", "replace")).decode("utf-8", "replace")


def _byte(found: re.Match[bytes]) -> bytes:
    return (
        bytes([int(found[1], 8) & 255]) if found[1] else _PLAIN_ESCAPES.get(found[2], found[2])
    )


def _name(text: str, level: str | None) -> str:
    name = unquoted(text.partition("\t")[0].strip())
    if name == "/dev/null":
        return name
    if level is None:
        # `i/` and `w/` with git's `diff.mnemonicPrefix`.
        return name[2:] if name[:2] in ("a/", "b/", "i/", "w/") else name
    if not level.isdecimal():
        return name
    parts = name.split("/")
    return "/".join(parts[min(int(level[:3]), len(parts) - 1) :])


def marked_patch_effects(text: str) -> ScriptSteps:
    """What a patch in the ``*** Begin Patch`` form does."""
    steps = marked_steps(text)
    return ScriptSteps(tuple(steps[:MAX_STEPS]), not steps)


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
