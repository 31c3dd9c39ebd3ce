"""Archives and compression: ``tar``, ``zip``, ``gzip`` and similar programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.expansion import mark_patterns
from leftoff.shell.globs import matches
from leftoff.shell.operations import looks_like_directory
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.state import Status, Walk

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


def _tar(walk: Walk, args: Invocation) -> Status:
    call = _TarArguments(args.words)
    archive = call.archive
    if call.mode in ("c", "r"):
        return False if walk.expected_status is False else _archive(walk, call)
    if call.mode == "d" and archive is not None:
        return ops.modify(walk, archive)
    if archive is not None and archive != "-" and ops.read(walk, archive) is False:
        return False
    if call.mode != "x" or walk.expected_status is False or call.to_stdout:
        return None
    members_known = _known_members(walk, archive)
    cwd = walk.cwd
    if call.directory is not None:
        walk.cwd = walk.path(call.directory)
    operands = [name for _, name in call.members]
    shown = call.verbose and not walk.captured and walk.output is not None
    names: list[str] | None = None
    if shown:
        names = [line for line in walk.lines() if line and ": " not in line]
    elif members_known is not None and not call.filtered and not call.name_files:
        names = _select_members(members_known, operands)
    if call.strip is None or (call.strip and names is None):
        names, operands = None, []
    elif names is not None and call.strip:
        names = [
            name.split("/", call.strip)[-1] for name in names if name.count("/") >= call.strip
        ]
    _unpack(walk, [name for name in names if name] if names is not None else None, operands)
    walk.cwd = cwd
    return None


def _archive(walk: Walk, call: _TarArguments) -> Status:
    """``tar -c`` and ``tar -r``: the members are read, the archive is written."""
    cwd = walk.cwd
    members: list[str] | None = None if call.filtered else []
    status: Status = True
    packed = list(call.members)
    for name in call.name_files:
        text = walk.known_content(name)
        ops.read(walk, name)
        packed += [(call.directory, line) for line in (text or "").splitlines() if line]
        members = None if text is None else members
    for directory, field in packed:
        walk.cwd = cwd
        if directory is not None:
            walk.cwd = walk.path(directory)
        status = both_succeed(status, ops.read_tree(walk, field))
        path = walk.resolved(field)
        if path is None or walk.state.kind(path) == "unknown":
            members = None
        elif members is not None:
            members.extend(_member_names(walk, field, path))
    walk.cwd = cwd
    archive = call.archive
    if archive is None or archive == "-":
        return False if status is False else None
    before: list[str] | None = []
    if call.mode == "r":
        before = _known_members(walk, archive)
        if walk.kind(archive) == "absent":
            before = []
        elif before is None:
            members = None
    if not ops.write(walk, archive, guess_append=call.mode == "r"):
        return False
    known = members is not None and before is not None
    _record_members(walk, archive, [*(before or ()), *(members or ())] if known else None)
    return False if status is False else None


def _member_names(walk: Walk, field: str, path: str) -> list[str]:
    if walk.state.kind(path) == "file":
        return [field.removeprefix("./")]
    start = 0 if path == "." else len(path) + 1
    base = field.rstrip("/").removeprefix("./")
    prefix = "" if base == "." else base + "/"
    return [prefix + item[start:] for item in walk.state.below(path)]


def _known_members(walk: Walk, archive: str | None) -> list[str] | None:
    path = walk.path(archive) if archive and not walk.is_unresolved(archive) else None
    text = walk.contents.get("archive:" + path) if path is not None else None
    return None if text is None else text.split("\n")


def _record_members(walk: Walk, archive: str, members: list[str] | None) -> None:
    """Track the members of an archive that has just been written, where they are known."""
    path = walk.resolved(archive)
    if path is not None and members is not None:
        walk.contents["archive:" + path] = "\n".join(dict.fromkeys(members))


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


def _unpack(walk: Walk, names: list[str] | None, operands: list[str]) -> None:
    if names is None:
        if not operands:
            walk.effects.unknown(walk.tool)
        for field in operands:
            if walk.is_unresolved(field) or "*" in field or looks_like_directory(field):
                walk.effects.unknown(walk.tool)
            else:
                ops.write(walk, field)
        return
    for name in names[:MAX_ITEMS]:
        if name.endswith("/"):
            ops.make_directory(walk, name, parents=True)
        else:
            path = walk.path(name)
            if path is not None and walk.state.kind(parent_of(path)) == "absent":
                walk.state.put_directory(parent_of(path), empty=True)
            ops.write(walk, name, named=False)


def _zip(walk: Walk, args: Invocation) -> Status:
    if len(args.operands) < 2 or walk.expected_status is False:
        return None
    archive = args.operands[0]
    if "." not in archive.rpartition("/")[2]:
        archive += ".zip"
    members: list[str] | None = []
    for field in args.operands[1:]:
        path = walk.resolved(field)
        directory = path is not None and walk.state.kind(path) == "directory"
        if directory and not args.has("-r"):
            continue
        ops.read_tree(walk, field)
        if path is None or walk.state.kind(path) == "unknown":
            members = None
        elif members is not None:
            members.extend(_member_names(walk, field, path))
        if args.has("-m") and path is not None and not directory:
            ops.delete(walk, field)
    if args.has("-d"):
        ops.modify(walk, archive)
        return None
    if not walk.captured:
        for line in walk.lines():
            name, found, _ = line.strip().partition(" (")
            name = name.removeprefix("adding: ").removeprefix("updating: ")
            if found and line.lstrip().startswith(("adding: ", "updating: ")):
                if name[-1:] != "/" and not args.has("-j"):
                    ops.read(walk, name, named=False)
    ops.write(walk, archive)
    if members is not None and args.has("-j"):
        members = [name.rpartition("/")[2] for name in members]
    _record_members(walk, archive, None if args.values else members)
    return None


def _unzip(walk: Walk, args: Invocation) -> Status:
    if not args.operands or ops.read(walk, args.operands[0]) is False:
        return False
    if args.has("-l", "-t", "-p", "-v", "-Z") or walk.expected_status is False:
        return None
    names: list[str] = []
    shown = False
    if walk.output is not None and not walk.captured:
        for line in walk.lines():
            line = line.strip()
            for word in ("inflating: ", "extracting: ", "linking: "):
                if line.startswith(word):
                    shown = True
                    names.append(line[len(word) :].strip())
            if line.startswith("creating: "):
                shown = True
                ops.make_directory(walk, line[10:].strip(), parents=True)
    if shown:
        for name in names:
            ops.write(walk, name.partition(" -> ")[0], named=False)
        return True
    members_known = _known_members(walk, args.operands[0])
    if members_known is not None and len(args.operands) > 1:
        marked = [mark_patterns(operand) for operand in args.operands[1:]]
        members_known = [
            name for name in members_known if any(matches(name, mark) for mark in marked)
        ]
    operands = args.operands[1:]
    if args.has("-x"):  # the operands after it are excluded members
        members_known, operands = None, []
    cwd = walk.cwd
    directory = args.value("-d")
    if directory is not None:
        walk.cwd = walk.path(directory)
        if members_known is not None and walk.cwd is not None:
            ops.make_directory(walk, ".", parents=True)
    if members_known is not None and args.has("-j"):
        members_known = [name.rpartition("/")[2] for name in members_known]
    if members_known is not None and args.has("-n"):
        members_known = [name for name in members_known if walk.kind(name) != "file"]
    _unpack(walk, members_known, operands)
    walk.cwd = cwd
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


def _compress(walk: Walk, args: Invocation) -> Status:
    name = _DECOMPRESSORS.get(args.name, args.name)
    undo = args.name in _DECOMPRESSORS or args.has("-d", "--decompress", "--uncompress")
    keep = args.has("-k", "--keep") or (name in ("zstd", "lz4") and not args.has("--rm"))
    stdout = args.has("-c", "--stdout", "--to-stdout") or args.has(
        "-l", "-t", "--list", "--test"
    )
    suffixes = _SUFFIX[name]
    status: Status = True
    if walk.expected_status is False and len(args.operands) < 2:
        return False
    operands = args.operands
    if args.has("-r", "--recursive") and name in ("gzip", "zstd"):
        operands = _below(walk, operands, suffixes, undo)
    for field in operands:
        if stdout:
            status = both_succeed(status, ops.read(walk, field))
            continue
        if walk.is_unresolved(field):
            walk.effects.unknown(args.name)
            status = both_succeed(status, None)
            continue
        kind = walk.kind(field)
        source = field
        if undo:
            if kind == "absent":
                for suffix in suffixes:
                    if walk.kind(field + suffix) == "file":
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
        if kind in ("absent", "directory") or walk.reports_error(args.name, field):
            status = False
            continue
        if walk.kind(goal) == "file" and not args.has("-f", "--force"):
            status = False
            continue
        old, new = walk.path(source), walk.path(goal)
        content = walk.effects.content(old) if old is not None else ""
        if not ops.write(walk, goal):
            status = False
            continue
        if old is not None and new is not None:
            packed = name + ":" + content
            if undo and content.startswith(name + ":"):
                packed = content[len(name) + 1 :]
            walk.effects.write(new, walk.tool, walk.uncertainty, content=packed)
            walk.effects.read(old, walk.tool, walk.uncertainty)
        if not keep:
            ops.delete(walk, source)
    return status


def _below(walk: Walk, fields: list[str], suffixes: tuple[str, ...], undo: bool) -> list[str]:
    """Operands with each directory replaced by its files that are (not) packed yet."""
    found: list[str] = []
    for field in fields:
        path = walk.resolved(field)
        if path is None or walk.state.kind(path) == "unknown":
            walk.effects.unknown(walk.tool)
        elif walk.state.kind(path) == "directory":
            if not walk.state.is_complete(path):
                walk.effects.unknown(walk.tool)
            start = 0 if path == "." else len(path) + 1
            found += [
                field.rstrip("/") + "/" + item[start:]
                for item in walk.state.below(path)
                if item.endswith(suffixes) == undo
            ]
        else:
            found.append(field)
    return found


HANDLERS: dict[str, Callable[[Walk, Invocation], Status]] = {
    "tar": _tar,
    "zip": _zip,
    "unzip": _unzip,
    "compress": _compress,
}
