"""Facts about files in listings that a call printed.

``ls``, ``find``, ``git status``, ``git diff --stat`` and their like name files that exist, and
some that do not. Such a line is evidence about the state of files, not something that the call
did to them."""

from itertools import pairwise
from typing import Literal

import msgspec

from leftoff import lazy_re as re
from leftoff.shell import ast
from leftoff.shell.embedded.patches import diff_steps, unquoted
from leftoff.shell.paths import join
from leftoff.shell.programs.git import summary_lines

Fact = Literal["file", "directory", "absent"]
# Lines of an output that are read. Chosen by hand; not measured.
_MAX_LINES = 5_000


class Observation(msgspec.Struct, frozen=True):
    """One fact about a path.

    Attributes:
        path: The path.
        fact: ``file``, ``directory`` or ``absent``.
        source: The listing, such as ``git status``."""

    path: str
    fact: Fact
    source: str


def read_listings(script: ast.Script, output: str) -> list[Observation]:
    """The facts in the output of a script, where it is clear which command printed which
    lines."""
    body = script.body
    cwd: str | None = script.cwd if script.cwd is not None else "."
    commands: list[ast.Command] = []
    stack = [body]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Logical):
            stack.extend((item.right, item.left))
        elif isinstance(item, ast.Sequence):
            stack.extend(reversed(item.items))
        elif isinstance(item, ast.Command):
            commands.append(item)
        elif isinstance(item, ast.Pipeline) and all(map(_only_filters, item.items[1:])):
            stack.append(item.items[0])
        else:
            return []
        # Chosen by hand; not measured.
        if len(commands) + len(stack) > 12:
            return []
    printing: list[tuple[ast.Command, str | None]] = []
    for command in commands:
        words = command.words
        name = words[0] if words and isinstance(words[0], str) else ""
        if name == "cd" and len(words) > 1:
            target = words[1]
            known = isinstance(target, str) and ast.UNKNOWN not in target and cwd is not None
            cwd = join(cwd, target) if known and isinstance(target, str) else None
        elif name not in ("echo", "true", "export", "set", "sleep", "mkdir", "touch", "rm", ""):
            printing.append((command, cwd))
    if not printing:
        return []
    if not any(_program_name(item[0]) in _LISTING for item in printing):
        return []
    # Of several listings in one output, git alone labels its lines.
    if len(printing) > 1 and any(item[0].words[0] != "git" for item in printing):
        return []
    lines = output[:400_000].splitlines()[:_MAX_LINES]
    out: list[Observation] = []
    for command, place in printing:
        if any(item.operator[:1] == ">" and item.descriptor != 2 for item in command.redirects):
            continue
        plain = [word for word in command.words if isinstance(word, str)]
        if len(plain) != len(command.words) or any(
            not ast.PATTERN_MARKS.isdisjoint(word) for word in plain
        ):
            continue
        out.extend(_listed_by(plain, place, lines))
    return out


_FILTERS = frozenset(("sort", "head", "tail", "uniq", "grep", "cat"))


def _only_filters(item: ast.Statement) -> bool:
    """Whether a command in a pipe prints only lines of its input, unchanged."""
    if not isinstance(item, ast.Command) or item.redirects or not item.words:
        return False
    words = [word for word in item.words if isinstance(word, str)]
    if words[:1] != [item.words[0]] or words[0] not in _FILTERS:
        return False
    # `grep -c`, `grep -o`, `cat -n` and their like print other lines than they read.
    counts = words[0] in ("grep", "uniq", "cat") and any(
        word[:1] == "-" and set("conAB").intersection(word) for word in words[1:]
    )
    return not counts


# With one of these words, what `find` prints need not be of the type that is named.
_LOGIC = frozenset(("!", "-not", "-prune", "-o", "-or", ","))

# Programs whose output may list files.
_LISTING = frozenset(("git", "ls", "find", "fd", "rg", "grep"))


def _program_name(command: ast.Command) -> str:
    word = command.words[0]
    return word.rpartition("/")[2] if isinstance(word, str) else ""


def _listed_by(words: list[str], cwd: str | None, lines: list[str]) -> list[Observation]:
    name = words[0].rpartition("/")[2]
    if name == "git":
        return _git(words[1:], cwd, lines)
    operands = [word for word in words[1:] if word[:1] != "-"]
    flags = "".join(word[1:] for word in words[1:] if word[:1] == "-" and word[:2] != "--")
    if name == "ls" and len(operands) < 2 and "R" not in flags and "d" not in flags:
        return _ls(operands, flags, cwd, lines)
    if name in ("find", "fd", "rg") or (name == "grep" and "l" in flags):
        # Other lines of `rg` are of what stands in the files.
        if name == "rg" and "--files" not in words and "l" not in flags:
            return []
        if any(word in ("-exec", "-delete", "-printf", "-ls") for word in words):
            return []
        directories = name == "find" and "-type" not in words
        parts = [part for word in words for part in word.split("=", 1)]
        types = [after for word, after in pairwise(parts) if word in ("-type", "-t", "--type")]
        folders = name in ("find", "fd") and types == ["d"]
        negated = {*pairwise(words)} & {("!", "-type"), ("-not", "-type")}
        if name == "find" and (negated or (folders and not _LOGIC.isdisjoint(words))):
            return []  # which lines are directories is not known
        return [
            Observation(path, "directory" if folders else "file", name)
            for line in lines
            if (path := _plain_path(line, cwd)) is not None
            and (not directories or "." in path.rpartition("/")[2][1:])
        ]
    return []


def _plain_path(line: str, cwd: str | None) -> str | None:
    line = line.strip()
    if not line or ": " in line or len(line) > 400 or line[-1:] in "/.:":
        return None
    return join(cwd, line)


def _ls(
    operands: list[str], flags: str, cwd: str | None, lines: list[str]
) -> list[Observation]:
    place = join(cwd, operands[0]) if operands else cwd
    if place is None:
        return []
    names: list[tuple[str, bool]] = []
    long = "l" in flags
    for line in lines:
        if long:
            pieces = line.split(None, 8)
            if len(pieces) < 9 or len(pieces[0]) < 10 or pieces[0][0] not in "-dl":
                continue
            name = pieces[8].partition(" -> ")[0]
            names.append((name.rstrip("/*"), pieces[0][0] == "d"))
        else:
            name = line.strip()
            if not name or ": " in name or name.endswith(":"):
                continue
            names.append((name.rstrip("*@"), name.endswith("/")))
    if operands and len(names) == 1 and names[0][0] == operands[0]:
        return [Observation(place, "file", "ls")]
    out: list[Observation] = []
    for name, directory in names:
        if name in (".", "..", ""):
            continue
        path = join(place, name.rstrip("/"))
        if path is None:
            continue
        if directory:
            out.append(Observation(path, "directory", "ls"))
        elif long or "." in name[1:]:
            out.append(Observation(path, "file", "ls"))
    return out


# Lines of `git status`: the code or label, and the path, for a rename the new one.
_SHORT_STATUS = re.compile(r"(?P<code>[ MADRCUT?]{2}) (?:.* -> )?(?P<path>.+)")
_LONG_STATUS = re.compile(
    r"\s*(?P<code>modified|new file|deleted|renamed):\s*(?:.* -> )?(?P<path>\S.*)"
)


def _git(words: list[str], cwd: str | None, lines: list[str]) -> list[Observation]:
    i = 0
    while i < len(words) and words[i][:1] == "-":
        if words[i] == "-C" and i + 1 < len(words):
            cwd = join(cwd, words[i + 1])
            i += 1
        i += 1
    name, options = words[i] if i < len(words) else "", set(words[i + 1 :])
    found: list[tuple[str, Fact]] = []
    if name == "status":
        short = not options.isdisjoint(("-s", "--short", "--porcelain", "-sb"))
        matches = map((_SHORT_STATUS if short else _LONG_STATUS).fullmatch, lines)
        for line in filter(None, matches):
            gone = "D" in line["code"] or line["code"] == "deleted"
            found.append((line["path"], "absent" if gone else "file"))
    elif name == "diff" and "--name-only" in options:
        found = [(line, "file") for line in lines if " " not in line]
    elif name == "ls-files" and options.isdisjoint(("-s", "--stage", "-d")):
        found = [(line, "file") for line in lines if ": " not in line]
    elif name in ("commit", "merge", "pull", "diff", "show"):
        found = [(path, "file") for what, path, _ in summary_lines(lines) if what != "deleted"]
    observed: list[Observation] = []
    for path, fact in found:
        path = unquoted(path.strip())
        whole = join(cwd, path) if path and len(path) < 400 else None
        if whole is not None and not path.endswith("/"):
            observed.append(Observation(whole, fact, f"git {name}"))
    return observed


class Differences(msgspec.Struct, frozen=True):
    """What git showed of the working tree as against the last commit.

    Attributes:
        names: the files that differ, as git names them: from the root of the repository or from
            the folder of the command.
        within: the files or folders of which all such files are named.
        index: it is what differs from the index."""

    names: frozenset[str]
    within: tuple[str, ...]
    index: bool = False

    def shows(self, path: str) -> bool:
        """Whether a file, or an untracked folder that holds it, is named."""
        return any(
            path.endswith("/" + name) or name[-1:] == "/" and f"/{name}" in path
            for name in self.names
        )

    def covers(self, path: str) -> bool:
        """Whether a file would be named if it differed."""
        return any(path == place or path.startswith(f"{place}/") for place in self.within)


# Options with which the output still names every file that differs.
_COMPLETE = frozenset(("--", "--stat", "--name-only", "--short", "-s", "--porcelain"))
_HEADS = re.compile(r"(?m)^(?:On branch|HEAD detached|## )")


def differences(script: ast.Script, output: str) -> Differences | None:
    """What a `git status`, or a `git diff` without a commit to compare with, says that alone
    printed an output; None for other commands."""
    body, cwd = script.body, script.cwd
    while isinstance(body, ast.Logical) and body.both and isinstance(body.left, ast.Command):
        target = body.left.words[1:2]
        if body.left.words[:1] != ("cd",) or not target or not isinstance(target[0], str):
            return None
        body, cwd = body.right, join(cwd, target[0])
    if not isinstance(body, ast.Command) or body.redirects or cwd is None:
        return None
    words = [word for word in body.words if isinstance(word, str)]
    verb, options = "".join(words[1:2]), {word for word in words[2:] if word[:1] == "-"}
    if len(words) != len(body.words) or words[0] != "git" or not options <= _COMPLETE:
        return None
    operands = [word for word in words[2:] if word[:1] != "-"]
    lines = output.splitlines()
    if any(line.lstrip(" [(").startswith(("...", "…")) for line in lines):
        return None  # git shortened a name (` .../a.py | 2 +-`), or the recorder cut the output
    if verb == "status":
        found = [m["path"] for m in map(_SHORT_STATUS.fullmatch, lines) if m]
        found += [m["path"] for m in map(_LONG_STATUS.fullmatch, lines) if m]
        if output.strip() and not found and _HEADS.search(output) is None:
            return None  # an error
    elif verb == "diff" and _of_paths(words[2:]):
        if "--name-only" in options:
            found = lines
        elif "--stat" in options:
            found = [name for _, name, _ in summary_lines(lines)]
        else:
            found = [name for _, *names in diff_steps(output) for name in names if name]
        if output.strip() and not found:
            return None
    else:
        return None
    within = [place for name in operands or ["."] if (place := join(cwd, name))]
    return Differences(frozenset(map(unquoted, found)), tuple(within), verb == "diff")


def _of_paths(words: list[str]) -> bool:
    """Whether the operands of `git diff` are paths; a commit stands before `--` or alone."""
    before = words[: words.index("--")] if "--" in words else words
    operands = [word for word in before if word[:1] != "-"]
    return not operands or "--" not in words and all("." in word for word in operands)
