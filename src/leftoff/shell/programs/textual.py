"""Programs that change files in place: ``sed -i``, ``patch``, ``ed``, formatters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leftoff.shell import embedded
from leftoff.shell import operations as ops
from leftoff.shell.programs.interpreters import apply_steps
from leftoff.shell.programs.nested import both_succeed

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.state import Status, Walk

__all__ = ["HANDLERS"]


def _sed(walk: Walk, args: Invocation) -> Status:
    operands = list(args.operands)
    if not args.has("-e", "-f", "--expression", "--file"):
        operands = operands[1:]
    in_place = False
    backup = ""
    for word in args.words:
        if word.startswith("-") and not word.startswith("--") and "i" in word[1:]:
            head, _, tail = word[1:].partition("i")
            if set(head) <= set("nEerszu"):
                in_place = True
                backup = tail if "e" not in head else backup
        elif word.startswith("--in-place"):
            in_place = True
            backup = word.partition("=")[2]
    if in_place and operands and operands[0] == "":
        operands = operands[1:]
    elif in_place and args.words[:2] == ["-i", ""]:
        operands = [word for word in operands if word]
        if len(operands) > 1 and not args.has("-e"):
            operands = operands[1:]
    script_file = args.value("-f", "--file")
    if script_file is not None:
        ops.read(walk, script_file)
    status: Status = True
    failing = walk.expected_status is False
    for field in operands:
        if not in_place:
            done = ops.read(walk, field)
        else:
            path = walk.resolved(field)
            if failing and not any(walk.reports_error("sed", item) for item in operands):
                done = False
            else:
                if failing:
                    walk.expected_status = None
                known = path is not None and walk.state.kind(path) == "absent"
                if backup and path is not None and not known:
                    backup_path = (
                        backup.replace("*", path.rpartition("/")[2])
                        if "*" in backup
                        else path + backup
                    )
                    walk.effects.write(backup_path, "sed", walk.uncertainty)
                done = ops.modify(walk, field)
        status = both_succeed(status, done)
    scripts = args.values.get("-e", []) + args.values.get("--expression", [])
    if not scripts and args.operands:
        scripts = args.operands[:1]
    for text in scripts:
        for line in text.split(";"):
            line = line.strip()
            if line.startswith("w ") or "/w " in line:
                ops.write(walk, line.rpartition("w ")[2].strip())
    return status


def _perl(walk: Walk, args: Invocation) -> Status:
    in_place, backup, code = False, "", ""
    operands: list[str] = []
    i, words = 0, args.words
    switches = True
    while i < len(words):
        word = words[i]
        i += 1
        if switches and word.startswith("-") and len(word) > 1:
            if word == "--":
                switches = False
                continue
            letters = word[1:]
            for j, letter in enumerate(letters):
                if letter == "i":
                    in_place, backup = True, letters[j + 1 :]
                    if backup[:1] in ("p", "n", "e", "l") and not backup.startswith("."):
                        if backup.endswith("e") and i < len(words):
                            code = words[i]
                            i += 1
                        backup = ""
                    break
                if letter in "eE":
                    code = words[i] if i < len(words) else ""
                    i += 1
                    break
                if letter in "MmI":
                    break
        else:
            switches = False
            operands.append(word)
    if not code and operands:
        status = ops.read(walk, operands[0])
        if status is not False:
            walk.effects.unknown("perl")
        return status
    if in_place:
        if walk.expected_status is False:
            return False
        for field in operands:
            if backup and not walk.is_unresolved(field):
                path = walk.path(field)
                if path is not None and walk.state.kind(path) != "absent":
                    walk.effects.write(path + backup, "perl", walk.uncertainty)
            ops.modify(walk, field)
        return None
    for field in operands:
        ops.read(walk, field)
    return apply_steps(walk, "perl", embedded.other_effects(code, "perl"))


def _editor(walk: Walk, args: Invocation) -> Status:
    """``ed``, ``ex``, ``vim -c``: the file is changed when a command writes it."""
    script = " ".join(
        [*args.values.get("-c", ()), *(word for word in args.words if word[:1] == "+")]
    )
    operands = [word for word in args.operands if word[:1] != "+"]
    text = script + " " + (walk.stdin or "")
    commands = {word.lstrip(":") for word in text.split()}
    written = any(word in commands for word in ("w", "wq", "x", "wq!", "w!", "x!", "wqa"))
    if not written and walk.stdin is None and not script:
        written = True
    for field in operands[:1]:
        if written and walk.expected_status is not False:
            path = walk.resolved(field)
            if path is not None and walk.state.kind(path) == "absent":
                ops.write(walk, field)
            else:
                ops.modify(walk, field)
        else:
            ops.read(walk, field)
    return None


def _awk(walk: Walk, args: Invocation) -> Status:
    operands = list(args.operands)
    code = ""
    in_place = False
    for value in args.values.get("-i", ()):
        in_place = in_place or value == "inplace"
    if args.has("-f"):
        for value in args.values.get("-f", ()):
            ops.read(walk, value)
    elif operands:
        code = operands.pop(0)
    status: Status = True
    if in_place and walk.expected_status is False:
        if not any(walk.reports_error(args.name, field) for field in operands):
            return False  # the error names none of the files: none was written
        walk.expected_status = None
    for field in operands:
        if "=" in field and field.partition("=")[0].isidentifier():
            continue
        done = ops.modify(walk, field) if in_place else ops.read(walk, field)
        status = both_succeed(status, done)
    if not operands and "BEGIN" not in code and walk.stdin is None:
        status = None
    found = embedded.other_effects(code, "awk")
    return both_succeed(status, apply_steps(walk, "awk", found))


def _patch(walk: Walk, args: Invocation) -> Status:
    text = walk.stdin
    source = args.value("-i", "--input")
    if source is not None:
        text = walk.known_content(source)
        if ops.read(walk, source) is False:
            return False
    elif len(args.operands) > 1:
        text = walk.known_content(args.operands[1])
        if ops.read(walk, args.operands[1]) is False:
            return False
    if args.has("--dry-run"):
        return None
    target = args.value("-o", "--output")
    cwd = walk.cwd
    directory = args.value("-d", "--directory")
    if directory is not None:
        walk.cwd = walk.path(directory)
    reported = _parse_patch_output(walk)
    if walk.expected_status is False and not reported:
        walk.cwd = cwd
        return False
    refused = {item.name for item in reported if item.refused}
    quiet = args.has("-s", "--quiet", "--silent")
    if target is not None:
        ops.write(walk, target)
    elif walk.expected_status is False and not quiet:
        _modify_reported(walk, reported)
    elif args.operands:
        field = args.operands[0]
        if args.has("-b", "--backup"):
            path = walk.path(field)
            if path is not None:
                walk.effects.write(path + ".orig", "patch", walk.uncertainty)
        if field not in refused:
            ops.modify(walk, field)
    elif text is not None:
        level = args.value("-p", "--strip")
        found = embedded.patch_effects(text, level, reverse=args.has("-R", "--reverse"))
        steps = tuple(step for step in found.steps if step[1] not in refused)
        walk.expected_status = None  # refused files are reported, the others were patched
        apply_steps(walk, "patch", found._replace(steps=steps))
    elif reported and not quiet:
        _modify_reported(walk, reported)
    else:
        walk.effects.unknown("patch")
    for item in reported:
        if item.backed_up and not args.has("--posix", "--no-backup-if-mismatch"):
            ops.write(walk, item.name + ".orig", "patch")
        if item.rejects:
            ops.write(walk, item.rejects, "patch")
    walk.cwd = cwd
    return None


class _PatchedFile:
    """What ``patch`` reports about one file.

    Attributes:
        name: The file.
        refused: Whether none of its hunks was applied.
        backed_up: Whether ``patch`` saved the old file as ``.orig``, since a hunk applied with
            fuzz, with an offset or not at all.
        rejects: The file of the hunks that were not applied.
    """

    __slots__ = ("backed_up", "name", "refused", "rejects")

    def __init__(self, name: str) -> None:
        self.name = name
        self.refused = self.backed_up = False
        self.rejects = ""


def _parse_patch_output(walk: Walk) -> list[_PatchedFile]:
    """The files that the output of ``patch`` reports, in order."""
    found: list[_PatchedFile] = []
    if walk.captured or walk.stderr_hidden:
        return found
    for line in walk.lines():
        if line.startswith("checking file "):
            return []
        if line.startswith("patching file "):
            found.append(_PatchedFile(line[14:].partition(" (")[0].strip().strip("'")))
        elif line.startswith("patch: ****") and found:
            found[-1].refused = True
        elif line.startswith("Hunk #") and found:
            far = " with fuzz " in line or " (offset " in line
            found[-1].backed_up = found[-1].backed_up or far or " FAILED " in line
        elif counts := _FAILED_HUNKS.match(line):
            some, all_of_them, how, rejects = counts.groups()
            if rejects and not (found and rejects == found[-1].name + ".rej"):
                found.append(_PatchedFile(rejects.removesuffix(".rej")))  # its only line
            if found:
                found[-1].refused = some == all_of_them
                found[-1].backed_up = found[-1].backed_up or how == "FAILED"
                found[-1].rejects = rejects or ""
    return found


_FAILED_HUNKS = re.compile(
    r"(\d{1,9}) out of (\d{1,9}) hunks? (FAILED|ignored)(?: -- saving rejects to file (.+))?"
)


def _modify_reported(walk: Walk, reported: list[_PatchedFile]) -> None:
    """Apply the changes to the reported files, where no patch text is known."""
    for item in reported:
        if item.refused or walk.reports_error("patch", item.name):
            continue
        if walk.kind(item.name) == "absent":
            ops.write(walk, item.name)
        else:
            ops.modify(walk, item.name)


def _apply_patch(walk: Walk, args: Invocation) -> Status:
    text = walk.stdin
    if args.operands and "*** Begin Patch" in args.operands[0]:
        text = args.operands[0]
    if walk.expected_status is False:
        return False
    if text is None:
        walk.effects.unknown(args.name)
        return None
    return apply_steps(walk, args.name, embedded.marked_patch_effects(text))


def _formatter(walk: Walk, args: Invocation) -> Status:
    """Formatters: with the option to write, they modify the files that their output names."""
    writes = not args.entry.in_place or args.has(*args.entry.in_place)
    if args.has("--check", "--diff", "--dry-run", "-n", "--list-different", "-l", "-d"):
        if not (args.has("-w") or args.has("--write")):
            writes = False
    if not writes:
        for field in args.operands:
            if walk.kind(field) == "file":
                ops.read(walk, field)
        return None
    shown: list[str] = []
    if walk.output is not None and not walk.captured:
        for line in walk.lines():
            for word in ("reformatted ", "Fixing ", "Formatted ", "formatted "):
                if line.startswith(word) and " file" not in line:
                    shown += [line.removeprefix(word).strip()]
    if shown:
        for name in shown:
            ops.modify(walk, name)
        return None
    if walk.expected_status is False:
        return False
    named = [field for field in args.operands if not walk.is_unresolved(field)]
    for field in named:
        walk.effects.unknown(args.name, walk.path(field))
    if not named:
        walk.effects.unknown(args.name)
    return None


def _agent_editor(walk: Walk, args: Invocation) -> Status:
    """The commands of an agent's own editor: ``create``, ``open``, ``edit``, ``insert``."""
    state = walk.state
    named = args.operands[0] if args.operands else None
    shown = _open_file(walk)
    if args.name == "create" and named is not None:
        if walk.expected_status is False or "already exists" in (walk.output or "")[:400]:
            return False
        ops.write(walk, named)
        state.editor_file = walk.path(named)
        return True
    if args.name == "open" and named is not None:
        if "not found" in (walk.output or "")[:200]:
            return False
        status = ops.read(walk, named)
        if status is not False:
            state.editor_file = shown or walk.path(named)
        return status
    if args.name in ("edit", "insert", "append"):
        text = (walk.output or "").lower()
        refused = (
            "your proposed edit has introduced" in text
            or "your changes have not been applied" in text
            or "no file open" in text
            or "invalid" in text[:80]
            or "text not found" in text[:200]
            or "usage:" in text[:80]
        )
        target = shown or state.editor_file
        if refused or walk.expected_status is False:
            return False
        if target is None:
            walk.effects.unknown(args.name, action="modified")
        else:
            walk.effects.write(target, args.name, walk.uncertainty, existed=True)
        return True
    return None


def _open_file(walk: Walk) -> str | None:
    for line in walk.lines():
        if line.startswith("[File: "):
            name = line[7:].partition(" (")[0].strip()
            return walk.path(name) if name else None
    return None


def _string_editor(walk: Walk, args: Invocation) -> Status:
    """``str_replace_editor COMMAND PATH …`` as a command line."""
    if len(args.operands) < 2 or walk.expected_status is False:
        return None
    verb, field = args.operands[0], args.operands[1]
    text = (walk.output or "").lower()
    if "no replacement was performed" in text or "invalid `path`" in text:
        return False
    if verb == "create":
        if "file already exists at" in text:
            return False
        ops.write(walk, field)
    elif verb in ("str_replace", "insert", "undo_edit"):
        ops.modify(walk, field)
    elif verb == "view":
        if walk.kind(field) != "directory" and "files and directories" not in text[:200]:
            ops.read(walk, field)
    return True


HANDLERS: dict[str, Callable[[Walk, Invocation], Status]] = {
    "sed": _sed,
    "perl": _perl,
    "editor": _editor,
    "awk": _awk,
    "patch": _patch,
    "apply_patch": _apply_patch,
    "formatter": _formatter,
    "agent_editor": _agent_editor,
    "string_editor": _string_editor,
}
