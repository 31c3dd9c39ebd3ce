"""Programs that pack and unpack: ``tar``, ``zip``, ``gzip`` and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import UNKNOWN
from leftoff.shell.expansion import globbed
from leftoff.shell.filesystem import matches, parent_of
from leftoff.shell.operations import looks_like_directory
from leftoff.shell.programs.nested import MANY, both, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS"]


class _TarCall:
    """The words of ``tar``, taken apart.

    Attributes:
        mode: ``c``, ``x``, ``t``, ``r`` (also for ``u``), ``d`` for ``--delete``, or empty.
        archive: The archive, where named.
        directory: Where it is unpacked.
        members: The other operands, each with the directory that it is packed from.
        verbose: Whether it prints the members.
        strip: How many folders members lose; None where that cannot be told.
        picks: Whether other options say which members are meant, or what they are called.
        lists: Files that hold names of members.
        shows: Whether it prints the contents instead of writing them.
    """

    def __init__(self, words: list[str]) -> None:
        if words and words[0][:1] != "-" and UNKNOWN not in words[0]:
            words = ["-" + words[0], *words[1:]]
        self.mode = ""
        self.archive: str | None = None
        self.directory: str | None = None
        self.members: list[tuple[str | None, str]] = []
        self.verbose = self.picks = self.shows = False
        self.strip: int | None = 0
        self.lists: list[str] = []
        rest = iter(words)
        for word in rest:
            if word.startswith("--"):
                option, found, value = word.partition("=")
                if option in _TAR_TAKES and not found:
                    value = next(rest, "")
                self._set(option, value)
            elif word[:1] == "-" and len(word) > 1:
                for j, letter in enumerate(word[1:], 2):
                    if letter not in _TAR_LETTERS:
                        continue
                    option = _TAR_LETTERS[letter]
                    if option in _TAR_TAKES:
                        self._set(option, word[j:] or next(rest, ""))
                        break
                    self._set(option, "")
            else:
                self.members.append((self.directory, word))

    def _set(self, option: str, value: str) -> None:
        if option in _TAR_MODES:
            self.mode = _TAR_MODES[option]
        elif option == "--file":
            self.archive = value
        elif option == "--directory":
            # Each counts from the one before it.
            before = self.directory
            self.directory = f"{before}/{value}" if before and value[:1] not in "/~" else value
        elif option == "--strip-components":
            self.strip = int(value) if value.isdecimal() and len(value) < 4 else None
        elif option == "--files-from":
            self.lists.append(value)
        elif option == "--verbose":
            self.verbose = True
        elif option == "--to-stdout":
            self.shows = True
        elif option in _TAR_PICKS:
            self.picks = True


_TAR_MODES = {
    "--create": "c", "--extract": "x", "--get": "x", "--list": "t", "--append": "r",
    "--update": "r", "--concatenate": "r", "--delete": "d", "--diff": "t", "--compare": "t",
}  # fmt: skip
_TAR_LETTERS = {
    "c": "--create", "x": "--extract", "t": "--list", "r": "--append", "u": "--update",
    "A": "--concatenate", "d": "--diff", "f": "--file", "C": "--directory", "v": "--verbose",
    "O": "--to-stdout", "T": "--files-from", "X": "--exclude-from", "k": "--keep-old-files",
    "I": "--use-compress-program", "b": "--blocking-factor", "N": "--newer",
}  # fmt: skip
_TAR_PICKS = frozenset(
    ("--exclude", "--exclude-from", "--transform", "--xform", "--wildcards", "--keep-old-files",
     "--skip-old-files", "--keep-newer-files", "--newer", "--one-top-level", "--concatenate")
)  # fmt: skip
_TAR_TAKES = frozenset(
    ("--file", "--directory", "--strip-components", "--files-from", "--exclude",
     "--exclude-from", "--transform", "--xform", "--use-compress-program", "--newer",
     "--blocking-factor", "--owner", "--group", "--mode", "--mtime", "--sort", "--format")
)  # fmt: skip


def _tar(machine: Machine, run: Invocation) -> Status:
    call = _TarCall(run.words)
    archive = call.archive
    if call.mode in ("c", "r"):
        return False if machine.want is False else _archive(machine, call)
    if call.mode == "d" and archive is not None:
        return machine.modify(archive)
    if archive is not None and archive != "-" and machine.read(archive) is False:
        return False
    if call.mode != "x" or machine.want is False or call.shows:
        return None
    inside = _members(machine, archive)
    cwd = machine.cwd
    if call.directory is not None:
        machine.cwd = machine.path(call.directory)
    operands = [name for _, name in call.members]
    shown = call.verbose and not machine.captured and machine.output is not None
    names: list[str] | None = None
    if shown:
        names = [line for line in machine.lines() if line and ": " not in line]
    elif inside is not None and not call.picks and not call.lists:
        names = _chosen(inside, operands)
    if call.strip is None or (call.strip and names is None):
        names, operands = None, []
    elif names is not None and call.strip:
        names = [
            name.split("/", call.strip)[-1] for name in names if name.count("/") >= call.strip
        ]
    _unpack(machine, [name for name in names if name] if names is not None else None, operands)
    machine.cwd = cwd
    return None


def _archive(machine: Machine, call: _TarCall) -> Status:
    """``tar -c`` and ``tar -r``: the members are read, the archive is written."""
    cwd = machine.cwd
    members: list[str] | None = None if call.picks else []
    status: Status = True
    packed = list(call.members)
    for name in call.lists:
        text = machine.known_text(name)
        machine.read(name)
        packed += [(call.directory, line) for line in (text or "").splitlines() if line]
        members = None if text is None else members
    for directory, field in packed:
        machine.cwd = cwd
        if directory is not None:
            machine.cwd = machine.path(directory)
        status = both(status, machine.read_tree(field))
        path = machine.path(field) if not machine.special(field) else None
        if path is None or machine.state.kind(path) == "unknown":
            members = None
        elif members is not None:
            members.extend(_inside(machine, field, path))
    machine.cwd = cwd
    archive = call.archive
    if archive is None or archive == "-":
        return False if status is False else None
    before: list[str] | None = []
    if call.mode == "r":
        before = _members(machine, archive)
        if kind_of(machine, archive) == "absent":
            before = []
        elif before is None:
            members = None
    if not machine.write(archive, guess_append=call.mode == "r"):
        return False
    known = members is not None and before is not None
    _note_members(machine, archive, [*(before or ()), *(members or ())] if known else None)
    return False if status is False else None


def _inside(machine: Machine, field: str, path: str) -> list[str]:
    if machine.state.kind(path) == "file":
        return [field.removeprefix("./")]
    start = 0 if path == "." else len(path) + 1
    base = field.rstrip("/").removeprefix("./")
    prefix = "" if base == "." else base + "/"
    return [prefix + item[start:] for item in machine.state.below(path)]


def _members(machine: Machine, archive: str | None) -> list[str] | None:
    path = machine.path(archive) if archive and not machine.special(archive) else None
    text = machine.contents.get("archive:" + path) if path is not None else None
    return None if text is None else text.split("\n")


def _note_members(machine: Machine, archive: str, members: list[str] | None) -> None:
    """Remember what an archive holds that has just been written, where that is known."""
    path = machine.path(archive) if not machine.special(archive) else None
    if path is not None and members is not None:
        machine.contents["archive:" + path] = "\n".join(dict.fromkeys(members))


def _chosen(names: list[str], operands: list[str]) -> list[str]:
    """The members that operands name, by themselves or by a folder above them."""
    if not operands:
        return names
    roots = tuple(operand.rstrip("/").removeprefix("./") for operand in operands)
    return [
        name
        for name in names
        if any(name == root or name.startswith(root + "/") for root in roots)
    ]


def _unpack(machine: Machine, names: list[str] | None, operands: list[str]) -> None:
    if names is None:
        if not operands:
            machine.effects.unknown(machine.tool)
        for field in operands:
            if machine.special(field) or "*" in field or looks_like_directory(field):
                machine.effects.unknown(machine.tool)
            else:
                machine.write(field)
        return
    for name in names[:MANY]:
        if name.endswith("/"):
            machine.make_directory(name, parents=True)
        else:
            path = machine.path(name)
            if path is not None and machine.state.kind(parent_of(path)) == "absent":
                machine.state.put_directory(parent_of(path), empty=True)
            machine.write(name, named=False)


def _zip(machine: Machine, run: Invocation) -> Status:
    if len(run.operands) < 2 or machine.want is False:
        return None
    archive = run.operands[0]
    if "." not in archive.rpartition("/")[2]:
        archive += ".zip"
    members: list[str] | None = []
    for field in run.operands[1:]:
        path = machine.path(field) if not machine.special(field) else None
        directory = path is not None and machine.state.kind(path) == "directory"
        if directory and not run.has("-r"):
            continue
        machine.read_tree(field)
        if path is None or machine.state.kind(path) == "unknown":
            members = None
        elif members is not None:
            members.extend(_inside(machine, field, path))
        if run.has("-m") and path is not None and not directory:
            machine.delete(field)
    if run.has("-d"):
        machine.modify(archive)
        return None
    if not machine.captured:
        for line in machine.lines():
            name, found, _ = line.strip().partition(" (")
            name = name.removeprefix("adding: ").removeprefix("updating: ")
            if found and line.lstrip().startswith(("adding: ", "updating: ")):
                if name[-1:] != "/" and not run.has("-j"):
                    machine.read(name, named=False)
    machine.write(archive)
    if members is not None and run.has("-j"):
        members = [name.rpartition("/")[2] for name in members]
    _note_members(machine, archive, None if run.values else members)
    return None


def _unzip(machine: Machine, run: Invocation) -> Status:
    if not run.operands or machine.read(run.operands[0]) is False:
        return False
    if run.has("-l", "-t", "-p", "-v", "-Z") or machine.want is False:
        return None
    names: list[str] = []
    shown = False
    if machine.output is not None and not machine.captured:
        for line in machine.lines():
            line = line.strip()
            for word in ("inflating: ", "extracting: ", "linking: "):
                if line.startswith(word):
                    shown = True
                    names.append(line[len(word) :].strip())
            if line.startswith("creating: "):
                shown = True
                machine.make_directory(line[10:].strip(), parents=True)
    if shown:
        for name in names:
            machine.write(name.partition(" -> ")[0], named=False)
        return True
    inside = _members(machine, run.operands[0])
    if inside is not None and len(run.operands) > 1:
        marked = [globbed(operand) for operand in run.operands[1:]]
        inside = [name for name in inside if any(matches(name, mark) for mark in marked)]
    operands = run.operands[1:]
    if run.has("-x"):  # what follows is left out
        inside, operands = None, []
    cwd = machine.cwd
    directory = run.value("-d")
    if directory is not None:
        machine.cwd = machine.path(directory)
        if inside is not None and machine.cwd is not None:
            machine.make_directory(".", parents=True)
    if inside is not None and run.has("-j"):
        inside = [name.rpartition("/")[2] for name in inside]
    if inside is not None and run.has("-n"):
        inside = [name for name in inside if kind_of(machine, name) != "file"]
    _unpack(machine, inside, operands)
    machine.cwd = cwd
    return None


_SUFFIX = {
    "gzip": (".gz", ".tgz", ".Z"),
    "bzip2": (".bz2",),
    "xz": (".xz",),
    "zstd": (".zst",),
    "lz4": (".lz4",),
    "compress": (".Z",),
    "lzma": (".lzma",),
}


_UNDO = {"gunzip": "gzip", "bunzip2": "bzip2", "unxz": "xz", "unzstd": "zstd", "unlz4": "lz4"}


def _compress(machine: Machine, run: Invocation) -> Status:
    name = _UNDO.get(run.name, run.name)
    undo = run.name in _UNDO or run.has("-d", "--decompress", "--uncompress")
    keep = run.has("-k", "--keep") or (name in ("zstd", "lz4") and not run.has("--rm"))
    stdout = run.has("-c", "--stdout", "--to-stdout") or run.has("-l", "-t", "--list", "--test")
    suffixes = _SUFFIX[name]
    status: Status = True
    if machine.want is False and len(run.operands) < 2:
        return False
    operands = run.operands
    if run.has("-r", "--recursive") and name in ("gzip", "zstd"):
        operands = _below(machine, operands, suffixes, undo)
    for field in operands:
        if stdout:
            status = both(status, machine.read(field))
            continue
        if machine.special(field):
            machine.effects.unknown(run.name)
            status = both(status, None)
            continue
        kind = kind_of(machine, field)
        source = field
        if undo:
            if kind == "absent":
                for suffix in suffixes:
                    if kind_of(machine, field + suffix) == "file":
                        source, kind = field + suffix, "file"
            found = next((s for s in suffixes if source.endswith(s)), None)
            goal = source[: -len(found)] if found else source
            if found is None:
                status = False
                continue
            if found == ".tgz":
                goal += ".tar"
        else:
            if field.endswith(suffixes) and not run.has("-f"):
                status = False
                continue
            goal = field + suffixes[0]
        explicit = run.value("-o")
        if explicit is not None and name in ("zstd", "lz4"):
            goal = explicit
        if kind in ("absent", "directory") or machine.complains(run.name, field):
            status = False
            continue
        if kind_of(machine, goal) == "file" and not run.has("-f", "--force"):
            status = False
            continue
        old, new = machine.path(source), machine.path(goal)
        content = machine.effects.content(old) if old is not None else ""
        if not machine.write(goal):
            status = False
            continue
        if old is not None and new is not None:
            packed = name + ":" + content
            if undo and content.startswith(name + ":"):
                packed = content[len(name) + 1 :]
            machine.effects.write(new, machine.tool, machine.rank, content=packed)
            machine.effects.read(old, machine.tool, machine.rank)
        if not keep:
            machine.delete(source)
    return status


def _below(
    machine: Machine, fields: list[str], suffixes: tuple[str, ...], undo: bool
) -> list[str]:
    """Operands with each directory replaced by its files that are (not) packed yet."""
    found: list[str] = []
    for field in fields:
        path = machine.path(field) if not machine.special(field) else None
        if path is None or machine.state.kind(path) == "unknown":
            machine.effects.unknown(machine.tool)
        elif machine.state.kind(path) == "directory":
            if not machine.state.is_complete(path):
                machine.effects.unknown(machine.tool)
            start = 0 if path == "." else len(path) + 1
            found += [
                field.rstrip("/") + "/" + item[start:]
                for item in machine.state.below(path)
                if item.endswith(suffixes) == undo
            ]
        else:
            found.append(field)
    return found


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    "tar": _tar,
    "zip": _zip,
    "unzip": _unzip,
    "compress": _compress,
}
