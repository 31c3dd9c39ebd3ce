"""Archives and compression: ``tar``, ``zip``, ``gzip`` and similar programs.

Which members an archive holds is not tracked: what is unpacked may have changed any file, but
for members that the command or its output names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell import operations as ops
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed

if TYPE_CHECKING:
    from leftoff.shell.commands import Invocation
    from leftoff.shell.state import Status, Walk


def _run_tar(walk: Walk, args: Invocation) -> Status:
    """``tar``; its letters may stand without a dash."""
    words = args.words
    if words and words[0].isalpha():
        words = ["-" + words[0], *words[1:]]
    given = args.again(words)
    archive = given.value("-f", "--file")
    failed = walk.expected_status is False
    cwd = walk.cwd
    directory = given.value("-C", "--directory")
    if given.has("-c", "-r", "-u", "--create", "--append", "--update"):
        if failed:
            return False
        walk.cwd = cwd if directory is None else walk.path(directory)
        status: Status = None
        for field in given.operands:
            status = False if ops.read_tree(walk, field) is False else status
        walk.cwd = cwd
        if archive is not None and archive != "-":
            appends = not given.has("-c", "--create")
            if not ops.write(walk, archive, guess_append=appends):
                return False
        return status
    if given.has("--delete") and archive is not None:
        return ops.modify(walk, archive)
    if archive is not None and archive != "-" and ops.read(walk, archive) is False:
        return False
    if failed or not given.has("-x", "--extract", "--get") or given.has("-O", "--to-stdout"):
        return None
    walk.cwd = cwd if directory is None else walk.path(directory)
    shown = given.has("-v", "--verbose") and not walk.captured and walk.output is not None
    renames = any(word.startswith(("--strip", "--transform", "--xform")) for word in words)
    if renames:
        walk.effects.unknown("tar")
    elif shown:
        _unpacked(walk, [line for line in walk.lines() if line and ": " not in line])
    else:
        _unpack(walk, given.operands)
    walk.cwd = cwd
    return None


def _unpack(walk: Walk, members: list[str]) -> None:
    """Write the members that a command names; without any, files that are not known."""
    plain = [name for name in members if not (walk.is_unresolved(name) or "*" in name)]
    files = [name for name in plain if not ops.looks_like_directory(name)]
    if not members or len(files) < len(members):
        walk.effects.unknown(walk.tool)
    for name in files:
        ops.write(walk, name)


def _unpacked(walk: Walk, names: list[str]) -> None:
    for name in names[:MAX_ITEMS]:
        path = walk.path(name)
        if name.endswith("/"):
            ops.make_directory(walk, name, parents=True)
        elif path is not None:
            if walk.state.kind(parent_of(path)) == "absent":
                walk.state.put_directory(parent_of(path), empty=True)
            ops.write(walk, name, named=False)


def _run_zip(walk: Walk, args: Invocation) -> Status:
    if len(args.operands) < 2 or walk.expected_status is False:
        return None
    archive, *members = args.operands
    if "." not in archive.rpartition("/")[2]:
        archive += ".zip"
    for field in () if args.has("-d") else members:
        if walk.kind(field) != "directory":
            ops.read(walk, field)
            if args.has("-m"):
                ops.delete(walk, field)
        elif args.has("-r"):
            ops.read_tree(walk, field)
            if args.has("-m"):
                walk.effects.unknown("zip", action="deleted")
    ops.write(walk, archive, guess_append=True)
    return None


def _run_unzip(walk: Walk, args: Invocation) -> Status:
    """``unzip ARCHIVE``; its output names what it unpacked."""
    if not args.operands or ops.read(walk, args.operands[0]) is False:
        return False
    if walk.expected_status is False or args.has("-l", "-t", "-p", "-v", "-Z"):
        return None
    cwd = walk.cwd
    directory = args.value("-d")
    marks = ("inflating: ", "extracting: ")
    lines = [] if walk.captured else [line.strip() for line in walk.lines()]
    shown = [line.partition(": ")[2].strip() for line in lines if line.startswith(marks)]
    if shown:
        _unpacked(walk, shown)
    else:
        walk.cwd = cwd if directory is None else walk.path(directory)
        _unpack(walk, [] if args.has("-x", "-j", "-n") else args.operands[1:])
    walk.cwd = cwd
    return None


_SUFFIXES = {
    "gzip": (".gz", ".tgz", ".Z"), "bzip2": (".bz2",), "xz": (".xz",), "zstd": (".zst",),
    "lz4": (".lz4",), "compress": (".Z",), "lzma": (".lzma",),
}  # fmt: skip
_PACKERS = {
    "gunzip": "gzip", "bunzip2": "bzip2", "unxz": "xz", "unzstd": "zstd", "unlz4": "lz4",
}  # fmt: skip


def _run_compress(walk: Walk, args: Invocation) -> Status:
    """``gzip`` and its like: each file is replaced by the packed or the unpacked one."""
    name = _PACKERS.get(args.name, args.name)
    undo = args.name in _PACKERS or args.has("-d", "--decompress", "--uncompress")
    keep = args.has("-k", "--keep") or (name in ("zstd", "lz4") and not args.has("--rm"))
    reads = args.has("-c", "--stdout", "--to-stdout", "-l", "-t", "--list", "--test")
    suffixes = _SUFFIXES[name]
    if walk.expected_status is False and len(args.operands) < 2:
        return False
    status: Status = True
    for field in args.operands:
        kind = walk.kind(field)
        packed = next((end for end in suffixes if field.endswith(end)), None)
        if reads:
            status = both_succeed(status, ops.read(walk, field))
        elif walk.is_unresolved(field) or args.has("-r", "-o", "-S") or packed == ".tgz":
            walk.effects.unknown(args.name)
            status = both_succeed(status, None)
        elif (
            kind in ("absent", "directory")
            or (packed is not None) != undo
            or walk.reports_error(args.name, field)
        ):
            status = False
        else:
            goal = field[: -len(packed)] if packed else field + suffixes[0]
            if walk.kind(goal) == "file" and not args.has("-f", "--force"):
                status = False
                continue
            old, new = walk.path(field), walk.path(goal)
            if old is None or new is None or not ops.write(walk, goal):
                status = False
                continue
            content = walk.effects.content(old)
            unpacked = content.removeprefix(name + ":") if undo else name + ":" + content
            walk.effects.write(new, walk.tool, walk.uncertainty, content=unpacked)
            walk.effects.read(old, walk.tool, walk.uncertainty)
            if not keep:
                ops.delete(walk, field)
    return status
