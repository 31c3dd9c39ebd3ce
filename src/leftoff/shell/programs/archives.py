"""Archives and compression: ``tar``, ``zip``, ``gzip`` and similar programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import UNKNOWN
from leftoff.shell.expansion import mark_patterns
from leftoff.shell.globs import matches
from leftoff.shell.operations import looks_like_directory
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Interpreter, Status

__all__ = ["HANDLERS"]


class _TarArguments:
    """The parsed arguments of ``tar``.

    Attributes:
        mode: ``c``, ``x``, ``t``, ``r`` (also for ``u``), ``d`` for ``--delete``, or empty.
        archive: The archive, where named.
        directory: Where it is unpacked.
        members: The other operands, each with the directory that it is packed from.
        verbose: Whether it prints the members.
        strip: How many leading folders to strip from members; None where not known.
        filtered: Whether other options select or rename members.
        name_files: Files that hold names of members.
        to_stdout: Whether it prints the contents instead of writing them.
    """

    def __init__(self, words: list[str]) -> None:
        if words and words[0][:1] != "-" and UNKNOWN not in words[0]:
            words = ["-" + words[0], *words[1:]]
        self.mode = ""
        self.archive: str | None = None
        self.directory: str | None = None
        self.members: list[tuple[str | None, str]] = []
        self.verbose = self.filtered = self.to_stdout = False
        self.strip: int | None = 0
        self.name_files: list[str] = []
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
            # Each is relative to the one before it.
            before = self.directory
            self.directory = f"{before}/{value}" if before and value[:1] not in "/~" else value
        elif option == "--strip-components":
            self.strip = int(value) if value.isdecimal() and len(value) < 4 else None
        elif option == "--files-from":
            self.name_files.append(value)
        elif option == "--verbose":
            self.verbose = True
        elif option == "--to-stdout":
            self.to_stdout = True
        elif option in _TAR_PICKS:
            self.filtered = True


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


def _tar(shell: Interpreter, args: Invocation) -> Status:
    call = _TarArguments(args.words)
    archive = call.archive
    if call.mode in ("c", "r"):
        return False if shell.expected_status is False else _archive(shell, call)
    if call.mode == "d" and archive is not None:
        return shell.modify(archive)
    if archive is not None and archive != "-" and shell.read(archive) is False:
        return False
    if call.mode != "x" or shell.expected_status is False or call.to_stdout:
        return None
    members_known = _known_members(shell, archive)
    cwd = shell.cwd
    if call.directory is not None:
        shell.cwd = shell.path(call.directory)
    operands = [name for _, name in call.members]
    shown = call.verbose and not shell.captured and shell.output is not None
    names: list[str] | None = None
    if shown:
        names = [line for line in shell.lines() if line and ": " not in line]
    elif members_known is not None and not call.filtered and not call.name_files:
        names = _select_members(members_known, operands)
    if call.strip is None or (call.strip and names is None):
        names, operands = None, []
    elif names is not None and call.strip:
        names = [
            name.split("/", call.strip)[-1] for name in names if name.count("/") >= call.strip
        ]
    _unpack(shell, [name for name in names if name] if names is not None else None, operands)
    shell.cwd = cwd
    return None


def _archive(shell: Interpreter, call: _TarArguments) -> Status:
    """``tar -c`` and ``tar -r``: the members are read, the archive is written."""
    cwd = shell.cwd
    members: list[str] | None = None if call.filtered else []
    status: Status = True
    packed = list(call.members)
    for name in call.name_files:
        text = shell.known_content(name)
        shell.read(name)
        packed += [(call.directory, line) for line in (text or "").splitlines() if line]
        members = None if text is None else members
    for directory, field in packed:
        shell.cwd = cwd
        if directory is not None:
            shell.cwd = shell.path(directory)
        status = both_succeed(status, shell.read_tree(field))
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if path is None or shell.state.kind(path) == "unknown":
            members = None
        elif members is not None:
            members.extend(_member_names(shell, field, path))
    shell.cwd = cwd
    archive = call.archive
    if archive is None or archive == "-":
        return False if status is False else None
    before: list[str] | None = []
    if call.mode == "r":
        before = _known_members(shell, archive)
        if kind_of(shell, archive) == "absent":
            before = []
        elif before is None:
            members = None
    if not shell.write(archive, guess_append=call.mode == "r"):
        return False
    known = members is not None and before is not None
    _record_members(shell, archive, [*(before or ()), *(members or ())] if known else None)
    return False if status is False else None


def _member_names(shell: Interpreter, field: str, path: str) -> list[str]:
    if shell.state.kind(path) == "file":
        return [field.removeprefix("./")]
    start = 0 if path == "." else len(path) + 1
    base = field.rstrip("/").removeprefix("./")
    prefix = "" if base == "." else base + "/"
    return [prefix + item[start:] for item in shell.state.below(path)]


def _known_members(shell: Interpreter, archive: str | None) -> list[str] | None:
    path = shell.path(archive) if archive and not shell.is_unresolved(archive) else None
    text = shell.contents.get("archive:" + path) if path is not None else None
    return None if text is None else text.split("\n")


def _record_members(shell: Interpreter, archive: str, members: list[str] | None) -> None:
    """Track the members of an archive that has just been written, where they are known."""
    path = shell.path(archive) if not shell.is_unresolved(archive) else None
    if path is not None and members is not None:
        shell.contents["archive:" + path] = "\n".join(dict.fromkeys(members))


def _select_members(names: list[str], operands: list[str]) -> list[str]:
    """The members that operands name, by themselves or by a folder above them."""
    if not operands:
        return names
    roots = tuple(operand.rstrip("/").removeprefix("./") for operand in operands)
    return [
        name
        for name in names
        if any(name == root or name.startswith(root + "/") for root in roots)
    ]


def _unpack(shell: Interpreter, names: list[str] | None, operands: list[str]) -> None:
    if names is None:
        if not operands:
            shell.effects.unknown(shell.tool)
        for field in operands:
            if shell.is_unresolved(field) or "*" in field or looks_like_directory(field):
                shell.effects.unknown(shell.tool)
            else:
                shell.write(field)
        return
    for name in names[:MAX_ITEMS]:
        if name.endswith("/"):
            shell.make_directory(name, parents=True)
        else:
            path = shell.path(name)
            if path is not None and shell.state.kind(parent_of(path)) == "absent":
                shell.state.put_directory(parent_of(path), empty=True)
            shell.write(name, named=False)


def _zip(shell: Interpreter, args: Invocation) -> Status:
    if len(args.operands) < 2 or shell.expected_status is False:
        return None
    archive = args.operands[0]
    if "." not in archive.rpartition("/")[2]:
        archive += ".zip"
    members: list[str] | None = []
    for field in args.operands[1:]:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        directory = path is not None and shell.state.kind(path) == "directory"
        if directory and not args.has("-r"):
            continue
        shell.read_tree(field)
        if path is None or shell.state.kind(path) == "unknown":
            members = None
        elif members is not None:
            members.extend(_member_names(shell, field, path))
        if args.has("-m") and path is not None and not directory:
            shell.delete(field)
    if args.has("-d"):
        shell.modify(archive)
        return None
    if not shell.captured:
        for line in shell.lines():
            name, found, _ = line.strip().partition(" (")
            name = name.removeprefix("adding: ").removeprefix("updating: ")
            if found and line.lstrip().startswith(("adding: ", "updating: ")):
                if name[-1:] != "/" and not args.has("-j"):
                    shell.read(name, named=False)
    shell.write(archive)
    if members is not None and args.has("-j"):
        members = [name.rpartition("/")[2] for name in members]
    _record_members(shell, archive, None if args.values else members)
    return None


def _unzip(shell: Interpreter, args: Invocation) -> Status:
    if not args.operands or shell.read(args.operands[0]) is False:
        return False
    if args.has("-l", "-t", "-p", "-v", "-Z") or shell.expected_status is False:
        return None
    names: list[str] = []
    shown = False
    if shell.output is not None and not shell.captured:
        for line in shell.lines():
            line = line.strip()
            for word in ("inflating: ", "extracting: ", "linking: "):
                if line.startswith(word):
                    shown = True
                    names.append(line[len(word) :].strip())
            if line.startswith("creating: "):
                shown = True
                shell.make_directory(line[10:].strip(), parents=True)
    if shown:
        for name in names:
            shell.write(name.partition(" -> ")[0], named=False)
        return True
    members_known = _known_members(shell, args.operands[0])
    if members_known is not None and len(args.operands) > 1:
        marked = [mark_patterns(operand) for operand in args.operands[1:]]
        members_known = [
            name for name in members_known if any(matches(name, mark) for mark in marked)
        ]
    operands = args.operands[1:]
    if args.has("-x"):  # the operands after it are excluded members
        members_known, operands = None, []
    cwd = shell.cwd
    directory = args.value("-d")
    if directory is not None:
        shell.cwd = shell.path(directory)
        if members_known is not None and shell.cwd is not None:
            shell.make_directory(".", parents=True)
    if members_known is not None and args.has("-j"):
        members_known = [name.rpartition("/")[2] for name in members_known]
    if members_known is not None and args.has("-n"):
        members_known = [name for name in members_known if kind_of(shell, name) != "file"]
    _unpack(shell, members_known, operands)
    shell.cwd = cwd
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


_DECOMPRESSORS = {
    "gunzip": "gzip",
    "bunzip2": "bzip2",
    "unxz": "xz",
    "unzstd": "zstd",
    "unlz4": "lz4",
}


def _compress(shell: Interpreter, args: Invocation) -> Status:
    name = _DECOMPRESSORS.get(args.name, args.name)
    undo = args.name in _DECOMPRESSORS or args.has("-d", "--decompress", "--uncompress")
    keep = args.has("-k", "--keep") or (name in ("zstd", "lz4") and not args.has("--rm"))
    stdout = args.has("-c", "--stdout", "--to-stdout") or args.has(
        "-l", "-t", "--list", "--test"
    )
    suffixes = _SUFFIX[name]
    status: Status = True
    if shell.expected_status is False and len(args.operands) < 2:
        return False
    operands = args.operands
    if args.has("-r", "--recursive") and name in ("gzip", "zstd"):
        operands = _below(shell, operands, suffixes, undo)
    for field in operands:
        if stdout:
            status = both_succeed(status, shell.read(field))
            continue
        if shell.is_unresolved(field):
            shell.effects.unknown(args.name)
            status = both_succeed(status, None)
            continue
        kind = kind_of(shell, field)
        source = field
        if undo:
            if kind == "absent":
                for suffix in suffixes:
                    if kind_of(shell, field + suffix) == "file":
                        source, kind = field + suffix, "file"
            found = next((s for s in suffixes if source.endswith(s)), None)
            goal = source[: -len(found)] if found else source
            if found is None:
                status = False
                continue
            if found == ".tgz":
                goal += ".tar"
        else:
            if field.endswith(suffixes) and not args.has("-f"):
                status = False
                continue
            goal = field + suffixes[0]
        explicit = args.value("-o")
        if explicit is not None and name in ("zstd", "lz4"):
            goal = explicit
        if kind in ("absent", "directory") or shell.reports_error(args.name, field):
            status = False
            continue
        if kind_of(shell, goal) == "file" and not args.has("-f", "--force"):
            status = False
            continue
        old, new = shell.path(source), shell.path(goal)
        content = shell.effects.content(old) if old is not None else ""
        if not shell.write(goal):
            status = False
            continue
        if old is not None and new is not None:
            packed = name + ":" + content
            if undo and content.startswith(name + ":"):
                packed = content[len(name) + 1 :]
            shell.effects.write(new, shell.tool, shell.uncertainty, content=packed)
            shell.effects.read(old, shell.tool, shell.uncertainty)
        if not keep:
            shell.delete(source)
    return status


def _below(
    shell: Interpreter, fields: list[str], suffixes: tuple[str, ...], undo: bool
) -> list[str]:
    """Operands with each directory replaced by its files that are (not) packed yet."""
    found: list[str] = []
    for field in fields:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if path is None or shell.state.kind(path) == "unknown":
            shell.effects.unknown(shell.tool)
        elif shell.state.kind(path) == "directory":
            if not shell.state.is_complete(path):
                shell.effects.unknown(shell.tool)
            start = 0 if path == "." else len(path) + 1
            found += [
                field.rstrip("/") + "/" + item[start:]
                for item in shell.state.below(path)
                if item.endswith(suffixes) == undo
            ]
        else:
            found.append(field)
    return found


HANDLERS: dict[str, Callable[[Interpreter, Invocation], Status]] = {
    "tar": _tar,
    "zip": _zip,
    "unzip": _unzip,
    "compress": _compress,
}
