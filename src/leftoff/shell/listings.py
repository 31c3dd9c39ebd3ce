"""Facts about files in listings that a call printed.

``ls``, ``find``, ``git status``, ``git diff --stat`` and their like name files that exist, and
some that do not. Such a line is evidence about the state of files, not something that the call
did to them."""

from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from leftoff import lazy_re as re
from leftoff.shell import ast
from leftoff.shell.embedded.patches import unquoted
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
        source: The listing, such as ``git status``.
        differs: Git lists a file of the last commit as changed."""

    path: str
    fact: Fact
    source: str
    differs: bool = False


class _Printed(NamedTuple):
    """A command whose output is in that of the call: its words, [] where they are not known in
    full, and its directory."""

    name: str
    words: list[str]
    cwd: str | None


# They print nothing, or nothing that looks like a listing.
_PRINT_NOTHING = frozenset(("echo", "true", "export", "set", "sleep", "mkdir", "touch", "rm"))


def _printing(script: ast.Script) -> list[_Printed]:
    """The commands that printed the output of a script; [] where that is not clear."""
    cwd: str | None = script.cwd if script.cwd is not None else "."
    found: list[_Printed] = []
    stack: list[ast.Statement] = [script.body]
    seen = 0
    while stack:
        item = stack.pop()
        seen += 1
        if isinstance(item, ast.Logical):
            stack += [item.right, item.left]
        elif isinstance(item, ast.Sequence):
            stack += reversed(item.items)
        elif isinstance(item, ast.Pipeline) and all(map(_only_filters, item.items[1:])):
            stack.append(item.items[0])
        elif not isinstance(item, ast.Command) or seen > _MAX_COMMANDS:
            return []
        else:
            words = [word for word in item.words if isinstance(word, str)]
            first = item.words[0] if item.words else "true"
            name = first.rpartition("/")[2] if isinstance(first, str) else ""
            plain = len(words) == len(item.words) and ast.PATTERN_MARKS.isdisjoint(
                "".join(words)
            )
            if name == "cd" and len(item.words) > 1:
                known = plain and ast.UNKNOWN not in words[1]
                cwd = join(cwd, words[1]) if known else None
            elif name not in _PRINT_NOTHING:
                away = [one for one in item.redirects if one.operator[:1] != "<"]
                shown = all(one.descriptor == 2 for one in away)
                words = words if plain and shown else []
                found.append(_Printed(name, words, cwd))
    return found


def read_listings(script: ast.Script, output: str) -> list[Observation]:
    """The facts in the output of a script, where it is clear which command printed which
    lines."""
    printing = _printing(script)
    # Of several listings in one output, git alone labels its lines.
    if not any(one.name in _LISTING for one in printing) or (
        len(printing) > 1 and any(one.name != "git" for one in printing)
    ):
        return []
    lines = output[:400_000].splitlines()[:_MAX_LINES]
    return [seen for one in printing if one.words for seen in _listed_by(one, lines)]


# Statements of a script with listings. Chosen by hand; not measured.
_MAX_COMMANDS = 24

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


def _listed_by(printed: _Printed, lines: list[str]) -> list[Observation]:
    name, words, cwd = printed
    if name == "git":
        return _git(printed, lines)
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


_SHORT = frozenset(("-s", "--short", "--porcelain", "-sb"))
# Lines of `git status`: the code or label, and the path, for a rename the new one.
_SHORT_STATUS = re.compile(r"(?P<code>[ MADRCUT?]{2}) (?:.* -> )?(?P<path>.+)")
_LONG_STATUS = re.compile(
    r"\s*(?P<code>modified|new file|deleted|renamed):\s*(?:.* -> )?(?P<path>\S.*)"
)


def _subcommand(printed: _Printed) -> tuple[str, list[str], str | None]:
    """What git was asked for, the words after it, and the directory."""
    words, cwd = printed.words[1:], printed.cwd
    while words and words[0][:1] == "-":
        if words[0] == "-C" and len(words) > 1:
            cwd = join(cwd, words[1])
            del words[0]
        del words[0]
    return "".join(words[:1]), words[1:], cwd


def _status(lines: list[str], *, short: bool) -> list[tuple[str, Fact, bool]]:
    """The files that `git status` lists."""
    return [
        (
            line["path"],
            "absent" if "D" in code or code == "deleted" else "file",
            code in _MODIFIED,
        )
        for line in map((_SHORT_STATUS if short else _LONG_STATUS).fullmatch, lines)
        if line
        for code in (line["code"],)
    ]


_MODIFIED = (" M", "M ", "MM", "modified")


def _git(printed: _Printed, lines: list[str]) -> list[Observation]:
    name, words, cwd = _subcommand(printed)
    options = set(words)
    found: list[tuple[str, Fact, bool]] = []
    if name == "status":
        found = _status(lines, short=not _SHORT.isdisjoint(options))
    elif name == "diff" and "--name-only" in options:
        found = [(line, "file", False) for line in lines if " " not in line]
    elif name == "ls-files" and options.isdisjoint(("-s", "--stage", "-d")):
        found = [(line, "file", False) for line in lines if ": " not in line]
    elif name in ("commit", "merge", "pull", "diff", "show"):
        summed = summary_lines(lines)
        found = [(path, "file", False) for what, path, _ in summed if what != "deleted"]
    observed: list[Observation] = []
    for path, fact, differs in found:
        path = unquoted(path.strip())
        whole = join(cwd, path) if path and len(path) < 400 else None
        if whole is not None and not path.endswith("/"):
            observed.append(Observation(whole, fact, f"git {name}", differs))
    return observed
