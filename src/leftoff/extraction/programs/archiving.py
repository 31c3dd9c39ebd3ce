"""Programs that pack and unpack: ``tar``, ``zip``, ``gzip`` and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.extraction.file_state import parent_of
from leftoff.extraction.programs.running import MANY, both, kind_of
from leftoff.extraction.script import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.extraction.commands import Invocation
    from leftoff.extraction.machine import Machine, Status

__all__ = ["HANDLERS"]


def _tar(machine: Machine, run: Invocation) -> Status:
    words = list(run.words)
    if words and words[0][:1] != "-" and UNKNOWN not in words[0]:
        words[0] = "-" + words[0]
    mode, archive, directory = "", None, None
    operands: list[str] = []
    verbose = False
    strip = False
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word.startswith("--"):
            option, found, value = word.partition("=")
            if option in ("--create", "--extract", "--get", "--list", "--append", "--update"):
                mode = {"--get": "x", "--extract": "x", "--list": "t", "--create": "c"}.get(
                    option, "r"
                )
            elif option in ("--file", "--directory", "--exclude", "--strip-components"):
                if not found and i < len(words):
                    value = words[i]
                    i += 1
                if option == "--file":
                    archive = value
                elif option == "--directory":
                    directory = value
                elif option == "--strip-components":
                    strip = True
            elif option == "--verbose":
                verbose = True
        elif word[:1] == "-" and len(word) > 1:
            for j, letter in enumerate(word[1:], 1):
                if letter in "cxtru":
                    mode = letter
                elif letter == "v":
                    verbose = True
                elif letter in "fCTX":
                    value = word[j + 1 :]
                    if not value and i < len(words):
                        value = words[i]
                        i += 1
                    if letter == "f":
                        archive = value
                    elif letter == "C":
                        if mode == "c" and operands:
                            continue
                        directory = value
                    break
        else:
            operands.append(word)
    cwd = machine.cwd
    if mode == "c":
        if machine.want is False:
            return False
        return _archive(machine, archive, operands, directory)
    if mode in ("r", "u") and archive is not None:
        machine.modify(archive)
        return None
    if archive is not None and archive != "-" and machine.read(archive) is False:
        return False
    if mode != "x" or machine.want is False:
        return None
    inside = _members(machine, archive)
    if directory is not None:
        machine.cwd = machine.path(directory)
    names: list[str] | None = None
    if verbose and not machine.captured and machine.output is not None:
        names = [line for line in machine.lines() if line and ": " not in line]
    elif inside is not None and not strip:
        names = inside
    _unpack(machine, names, operands)
    machine.cwd = cwd
    return None


def _archive(
    machine: Machine, archive: str | None, operands: list[str], directory: str | None
) -> Status:
    cwd = machine.cwd
    if directory is not None:
        machine.cwd = machine.path(directory)
    before = machine.cwd
    members: list[str] | None = []
    status: Status = True
    for field in operands:
        done = machine.read_tree(field)
        if done is False:
            status = False
        path = machine.path(field) if not machine.special(field) else None
        if path is None or machine.state.kind(path) == "unknown":
            members = None
        elif members is not None:
            members.extend(_inside(machine, field, path))
    machine.cwd = cwd
    if archive is not None and archive != "-":
        if not machine.write(archive):
            return False
        path = machine.path(archive) if not machine.special(archive) else None
        if path is not None and members is not None:
            machine.contents["archive:" + path] = "\n".join(members)
    del before
    return status


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


def _unpack(machine: Machine, names: list[str] | None, operands: list[str]) -> None:
    if names is None:
        if not operands:
            machine.effects.unknown(machine.tool)
        for field in operands:
            if machine.special(field) or "*" in field or field.endswith("/"):
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
    path = machine.path(archive) if not machine.special(archive) else None
    if path is not None and members is not None:
        names = [name.rpartition("/")[2] for name in members] if run.has("-j") else members
        machine.contents["archive:" + path] = "\n".join(names)
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
    _unpack(machine, inside, run.operands[1:])
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
    for field in run.operands:
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


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    "tar": _tar,
    "zip": _zip,
    "unzip": _unzip,
    "compress": _compress,
}
