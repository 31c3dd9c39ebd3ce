"""Programs that change files in place: ``sed -i``, ``patch``, ``ed``, formatters."""

from __future__ import annotations

from leftoff import lazy_re as re
from leftoff.shell import operations as ops
from leftoff.shell.commands import Invocation
from leftoff.shell.embedded.patches import marked_patch_effects, patch_effects
from leftoff.shell.embedded.tool_script import script_steps
from leftoff.shell.programs.interpreters import apply_steps
from leftoff.shell.programs.nested import both_succeed
from leftoff.shell.state import Status, Walk


def _run_sed(walk: Walk, args: Invocation) -> Status:
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
        if _SED_RUNS.search(text):
            walk.effects.unknown("sed")
        for line in text.split(";"):
            line = line.strip()
            if line.startswith("w ") or "/w " in line:
                ops.write(walk, line.rpartition("w ")[2].strip())
    return status


# ``e`` runs a command.
_SED_RUNS = re.compile(r"(?:^|[;\n\d$/!}])\s*[gIpM]*e(?:\s+[\w./]|\s*$)")


def _run_perl(walk: Walk, args: Invocation) -> Status:
    """``perl``: with ``-i`` its operands are changed, else read; code that writes is not
    followed."""
    in_place, backup, code = False, "", None
    words = list(args.words)
    while words and words[0][:1] == "-" and len(words[0]) > 1:
        letters = words.pop(0)[1:]
        if letters == "-":
            break
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter == "i":  # the rest of the word names the backup
                in_place, backup, letters = True, letters, ""
            elif letter in "eEIMm":
                value = letters or (words.pop(0) if words else "")
                code = (code or "") + value + "\n" if letter in "eE" else code
                letters = ""
            elif letter in "0lFxCD":
                letters = letters.lstrip("0123456789xabcdefABCDEF") if letter in "0l" else ""
            elif letter in "vVhc":
                return None
            elif letter not in "anpswtTuUWX":
                walk.effects.unknown("perl")
                return None
    if code is None:
        status = ops.read(walk, words[0]) if words else None
        if status is not False:
            walk.effects.unknown("perl")
        return status
    if not in_place:
        for field in words:
            ops.read(walk, field)
        return apply_steps(walk, "perl", script_steps(code, "perl"))
    if walk.expected_status is False:
        return False
    if script_steps(code, "perl").partial:
        walk.effects.unknown("perl")
    for field in words:
        path = walk.resolved(field)
        if backup and path is not None and walk.state.kind(path) != "absent":
            folder, _, name = path.rpartition("/")
            name = backup.replace("*", name) if "*" in backup else name + backup
            kept = name if "/" in name or not folder else f"{folder}/{name}"
            walk.effects.write(kept, "perl", walk.uncertainty)
        ops.modify(walk, field)
    return None


# What an awk program does beyond reading: a command, or output into a file or a pipe.
_AWK_WRITES = re.compile(r"\bsystem\s*\(|\bprintf?\b[^;}\n]*?(?:>|\|)\s*(?!=)(?!\"/dev/)")


def _run_awk(walk: Walk, args: Invocation) -> Status:
    """``awk``: its operands are read; where it writes is not followed."""
    operands = list(args.operands)
    code = operands.pop(0) if operands and not args.has("-f") else ""
    for value in args.values.get("-f", ()):
        ops.read(walk, value)
    if "inplace" in args.values.get("-i", ()) or _AWK_WRITES.search(code):
        if walk.expected_status is not False:
            walk.effects.unknown("awk")
    status: Status = True
    for field in operands:
        if not ("=" in field and field.partition("=")[0].isidentifier()):
            status = both_succeed(status, ops.read(walk, field))
    return status if operands else None


def _run_patch(walk: Walk, args: Invocation) -> Status:
    """``patch``: the text of the patch says what it changes, if all of it went in place;
    otherwise any file may have changed."""
    source = args.value("-i", "--input") or next(iter(args.operands[1:]), None)
    text = walk.stdin if source is None else walk.known_content(source)
    if source is not None and ops.read(walk, source) is False:
        return False
    if args.has("--dry-run"):
        return None
    shown = "" if walk.captured or walk.stderr_hidden else walk.output or ""
    off = (" FAILED ", " ignored", "****")
    if walk.expected_status is False and not any(mark in shown for mark in off):
        return False
    named: list[str] = []
    saved: set[str] = set()  # where a hunk is off its place, the old file stays as `.orig`
    for line in shown.splitlines():
        if line.startswith("patching file "):
            named.append(line[14:].strip("'"))
        elif named and (" with fuzz " in line or " (offset " in line):
            saved.add(named[-1])
    odd = args.has("-d", "--directory", "-o", "--output", "-b", "--backup")
    if odd or any(mark in shown for mark in off):
        walk.effects.unknown("patch")
    elif text is not None and not args.operands:
        reverse = args.has("-R", "--reverse")
        found = patch_effects(text, args.value("-p", "--strip"), reverse=reverse)
        apply_steps(walk, "patch", found)
    elif not (listed := args.operands[:1] or named):
        walk.effects.unknown("patch")
    else:
        for name in listed:
            if walk.kind(name) == "absent":
                ops.write(walk, name)
            else:
                ops.modify(walk, name)
    for name in sorted(saved) if not args.has("--posix", "--no-backup-if-mismatch") else ():
        ops.write(walk, name + ".orig", "patch")
    return None


def _run_apply_patch(walk: Walk, args: Invocation) -> Status:
    text = walk.stdin
    if args.operands and "*** Begin Patch" in args.operands[0]:
        text = args.operands[0]
    if walk.expected_status is False:
        return False
    if text is None:
        walk.effects.unknown(args.name)
        return None
    return apply_steps(walk, args.name, marked_patch_effects(text))


def _run_formatter(walk: Walk, args: Invocation) -> Status:
    """Formatters: with the option to write, they modify the files that their output names."""
    writes = not args.entry.in_place or args.has(*args.entry.in_place)
    looks = ("--check", "--diff", "--dry-run", "-n", "--list-different", "-l", "-d")
    if args.has(*looks) and not args.has("-w", "--write"):
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


def _run_agent_editor(walk: Walk, args: Invocation) -> Status:
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
