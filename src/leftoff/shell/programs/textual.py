"""Programs that change files in place: ``sed -i``, ``patch``, ``ed``, formatters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leftoff.shell import embedded
from leftoff.shell.programs.interpreters import follow
from leftoff.shell.programs.nested import both, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS"]


def _sed(machine: Machine, run: Invocation) -> Status:
    operands = list(run.operands)
    if not run.has("-e", "-f", "--expression", "--file"):
        operands = operands[1:]
    in_place = False
    backup = ""
    for word in run.words:
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
    elif in_place and run.words[:2] == ["-i", ""]:
        operands = [word for word in operands if word]
        if len(operands) > 1 and not run.has("-e"):
            operands = operands[1:]
    script_file = run.value("-f", "--file")
    if script_file is not None:
        machine.read(script_file)
    status: Status = True
    failing = machine.want is False
    for field in operands:
        if not in_place:
            done = machine.read(field)
        else:
            path = machine.path(field) if not machine.special(field) else None
            if failing and not any(machine.complains("sed", item) for item in operands):
                done = False
            else:
                if failing:
                    machine.want = None
                known = path is not None and machine.state.kind(path) == "absent"
                if backup and path is not None and not known:
                    kept = (
                        backup.replace("*", path.rpartition("/")[2])
                        if "*" in backup
                        else path + backup
                    )
                    machine.effects.write(kept, "sed", machine.rank)
                done = machine.modify(field)
        status = both(status, done)
    scripts = run.values.get("-e", []) + run.values.get("--expression", [])
    if not scripts and run.operands:
        scripts = run.operands[:1]
    for text in scripts:
        for line in text.split(";"):
            line = line.strip()
            if line.startswith("w ") or "/w " in line:
                machine.write(line.rpartition("w ")[2].strip())
    return status


def _perl(machine: Machine, run: Invocation) -> Status:
    in_place, backup, code = False, "", ""
    operands: list[str] = []
    i, words = 0, run.words
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
        status = machine.read(operands[0])
        if status is not False:
            machine.effects.unknown("perl")
        return status
    if in_place:
        if machine.want is False:
            return False
        for field in operands:
            if backup and not machine.special(field):
                path = machine.path(field)
                if path is not None and machine.state.kind(path) != "absent":
                    machine.effects.write(path + backup, "perl", machine.rank)
            machine.modify(field)
        return None
    for field in operands:
        machine.read(field)
    return follow(machine, "perl", embedded.other_effects(code, "perl"))


def _editor(machine: Machine, run: Invocation) -> Status:
    """``ed``, ``ex``, ``vim -c``: the file is changed when a command writes it."""
    script = " ".join(
        [*run.values.get("-c", ()), *(word for word in run.words if word[:1] == "+")]
    )
    operands = [word for word in run.operands if word[:1] != "+"]
    text = script + " " + (machine.stdin or "")
    said = {word.lstrip(":") for word in text.split()}
    written = any(word in said for word in ("w", "wq", "x", "wq!", "w!", "x!", "wqa"))
    if not written and machine.stdin is None and not script:
        written = True
    for field in operands[:1]:
        if written and machine.want is not False:
            path = machine.path(field) if not machine.special(field) else None
            if path is not None and machine.state.kind(path) == "absent":
                machine.write(field)
            else:
                machine.modify(field)
        else:
            machine.read(field)
    return None


def _awk(machine: Machine, run: Invocation) -> Status:
    operands = list(run.operands)
    code = ""
    in_place = False
    for value in run.values.get("-i", ()):
        in_place = in_place or value == "inplace"
    if run.has("-f"):
        for value in run.values.get("-f", ()):
            machine.read(value)
    elif operands:
        code = operands.pop(0)
    status: Status = True
    if in_place and machine.want is False:
        if not any(machine.complains(run.name, field) for field in operands):
            return False  # it is not about one of the files: none was written
        machine.want = None
    for field in operands:
        if "=" in field and field.partition("=")[0].isidentifier():
            continue
        done = machine.modify(field) if in_place else machine.read(field)
        status = both(status, done)
    if not operands and "BEGIN" not in code and machine.stdin is None:
        status = None
    found = embedded.other_effects(code, "awk")
    return both(status, follow(machine, "awk", found))


def _patch(machine: Machine, run: Invocation) -> Status:
    text = machine.stdin
    source = run.value("-i", "--input")
    if source is not None:
        text = machine.known_text(source)
        if machine.read(source) is False:
            return False
    elif len(run.operands) > 1:
        text = machine.known_text(run.operands[1])
        if machine.read(run.operands[1]) is False:
            return False
    if run.has("--dry-run"):
        return None
    target = run.value("-o", "--output")
    cwd = machine.cwd
    directory = run.value("-d", "--directory")
    if directory is not None:
        machine.cwd = machine.path(directory)
    told = _told_of_patch(machine)
    if machine.want is False and not told:
        machine.cwd = cwd
        return False
    refused = {item.name for item in told if item.refused}
    quiet = run.has("-s", "--quiet", "--silent")
    if target is not None:
        machine.write(target)
    elif machine.want is False and not quiet:
        _patch_named(machine, told)
    elif run.operands:
        field = run.operands[0]
        if run.has("-b", "--backup"):
            path = machine.path(field)
            if path is not None:
                machine.effects.write(path + ".orig", "patch", machine.rank)
        if field not in refused:
            machine.modify(field)
    elif text is not None:
        level = run.value("-p", "--strip")
        found = embedded.patch_effects(text, level, reverse=run.has("-R", "--reverse"))
        steps = tuple(step for step in found.steps if step[1] not in refused)
        machine.want = None  # what it refused is told, the rest went through
        follow(machine, "patch", found._replace(steps=steps))
    elif told and not quiet:
        _patch_named(machine, told)
    else:
        machine.effects.unknown("patch")
    for item in told:
        if item.kept and not run.has("--posix", "--no-backup-if-mismatch"):
            machine.write(item.name + ".orig", "patch")
        if item.rejects:
            machine.write(item.rejects, "patch")
    machine.cwd = cwd
    return None


class _Patched:
    """What ``patch`` says of one file.

    Attributes:
        name: The file.
        refused: Whether none of its hunks went in.
        kept: Whether it stands as it was in a file beside it, since a hunk did not stand quite
            where the patch says.
        rejects: The file of the hunks that did not go in.
    """

    __slots__ = ("kept", "name", "refused", "rejects")

    def __init__(self, name: str) -> None:
        self.name = name
        self.refused = self.kept = False
        self.rejects = ""


def _told_of_patch(machine: Machine) -> list[_Patched]:
    """The files that the output of ``patch`` names, in order."""
    found: list[_Patched] = []
    if machine.captured or machine.hidden:
        return found
    for line in machine.lines():
        if line.startswith("checking file "):
            return []
        if line.startswith("patching file "):
            found.append(_Patched(line[14:].partition(" (")[0].strip().strip("'")))
        elif line.startswith("patch: ****") and found:
            found[-1].refused = True
        elif line.startswith("Hunk #") and found:
            far = " with fuzz " in line or " (offset " in line
            found[-1].kept = found[-1].kept or far or " FAILED " in line
        elif counts := _REFUSED.match(line):
            some, all_of_them, how, rejects = counts.groups()
            if rejects and not (found and rejects == found[-1].name + ".rej"):
                found.append(_Patched(rejects.removesuffix(".rej")))  # silent but for this
            if found:
                found[-1].refused = some == all_of_them
                found[-1].kept = found[-1].kept or how == "FAILED"
                found[-1].rejects = rejects or ""
    return found


_REFUSED = re.compile(
    r"(\d{1,9}) out of (\d{1,9}) hunks? (FAILED|ignored)(?: -- saving rejects to file (.+))?"
)


def _patch_named(machine: Machine, told: list[_Patched]) -> None:
    """Only the output says which files were patched."""
    for item in told:
        if item.refused or machine.complains("patch", item.name):
            continue
        if kind_of(machine, item.name) == "absent":
            machine.write(item.name)
        else:
            machine.modify(item.name)


def _apply_patch(machine: Machine, run: Invocation) -> Status:
    text = machine.stdin
    if run.operands and "*** Begin Patch" in run.operands[0]:
        text = run.operands[0]
    if machine.want is False:
        return False
    if text is None:
        machine.effects.unknown(run.name)
        return None
    return follow(machine, run.name, embedded.marked_patch_effects(text))


def _formatter(machine: Machine, run: Invocation) -> Status:
    """A program that rewrites files when told to: those that it names in its output."""
    writes = not run.entry.in_place or run.has(*run.entry.in_place)
    if run.has("--check", "--diff", "--dry-run", "-n", "--list-different", "-l", "-d"):
        if not (run.has("-w") or run.has("--write")):
            writes = False
    if not writes:
        for field in run.operands:
            if kind_of(machine, field) == "file":
                machine.read(field)
        return None
    shown: list[str] = []
    if machine.output is not None and not machine.captured:
        for line in machine.lines():
            for word in ("reformatted ", "Fixing ", "Formatted ", "formatted "):
                if line.startswith(word) and " file" not in line:
                    shown += [line.removeprefix(word).strip()]
    if shown:
        for name in shown:
            machine.modify(name)
        return None
    if machine.want is False:
        return False
    named = [field for field in run.operands if not machine.special(field)]
    for field in named:
        machine.effects.unknown(run.name, machine.path(field))
    if not named:
        machine.effects.unknown(run.name)
    return None


def _agent_editor(machine: Machine, run: Invocation) -> Status:
    """The commands of an agent's own editor: ``create``, ``open``, ``edit``, ``insert``."""
    state = machine.state
    named = run.operands[0] if run.operands else None
    shown = _open_file(machine)
    if run.name == "create" and named is not None:
        if machine.want is False or "already exists" in (machine.output or "")[:400]:
            return False
        machine.write(named)
        state.editor_file = machine.path(named)
        return True
    if run.name == "open" and named is not None:
        if "not found" in (machine.output or "")[:200]:
            return False
        status = machine.read(named)
        if status is not False:
            state.editor_file = shown or machine.path(named)
        return status
    if run.name in ("edit", "insert", "append"):
        text = (machine.output or "").lower()
        refused = (
            "your proposed edit has introduced" in text
            or "your changes have not been applied" in text
            or "no file open" in text
            or "invalid" in text[:80]
            or "text not found" in text[:200]
            or "usage:" in text[:80]
        )
        target = shown or state.editor_file
        if refused or machine.want is False:
            return False
        if target is None:
            machine.effects.unknown(run.name, action="modified")
        else:
            machine.effects.write(target, run.name, machine.rank, existed=True)
        return True
    return None


def _open_file(machine: Machine) -> str | None:
    for line in machine.lines():
        if line.startswith("[File: "):
            name = line[7:].partition(" (")[0].strip()
            return machine.path(name) if name else None
    return None


def _string_editor(machine: Machine, run: Invocation) -> Status:
    """``str_replace_editor COMMAND PATH …`` as a command line."""
    if len(run.operands) < 2 or machine.want is False:
        return None
    verb, field = run.operands[0], run.operands[1]
    text = (machine.output or "").lower()
    if "no replacement was performed" in text or "invalid `path`" in text:
        return False
    if verb == "create":
        if "file already exists at" in text:
            return False
        machine.write(field)
    elif verb in ("str_replace", "insert", "undo_edit"):
        machine.modify(field)
    elif verb == "view":
        if kind_of(machine, field) != "directory" and "files and directories" not in text[:200]:
            machine.read(field)
    return True


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
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
