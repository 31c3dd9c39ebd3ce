"""Programs that change files in place: ``sed -i``, ``patch``, ``ed``, formatters."""

from __future__ import annotations

from leftoff import lazy_re as re
from leftoff.shell import operations as ops
from leftoff.shell.commands import Invocation
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


_PERL_COPIES = re.compile(r"-[0a-hj-z]*i([^*]+|.*\*.*)\Z")


def _run_perl(walk: Walk, args: Invocation) -> Status:
    """``perl``: with ``-i`` its operands are changed, else read; code that writes is not
    followed."""
    code = "\n".join(args.values.get("-e", []) + args.values.get("-E", []))
    if args.has("-v", "-V", "-h", "-c"):
        return None
    if not args.has("-e", "-E"):
        status = ops.read(walk, args.operands[0]) if args.operands else None
        if status is not False:
            walk.effects.unknown("perl")
        return status
    if not args.has("-i"):
        for field in args.operands:
            ops.read(walk, field)
        return apply_steps(walk, "perl", script_steps(code, "perl"))
    if walk.expected_status is False:
        return False
    # The rest of the word that holds the i ends the name of the copy of the old file.
    suffixes = [found[1] for word in args.words if (found := _PERL_COPIES.match(word))]
    if "*" in "".join(suffixes):  # a pattern of names, which is not followed
        suffixes = []
        walk.effects.unknown("perl")
    if script_steps(code, "perl").partial:
        walk.effects.unknown("perl")
    for field in args.operands:
        for suffix in suffixes if walk.kind(field) != "absent" else ():
            ops.write(walk, field + suffix)
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


# What ``patch`` prints where not all of the patch went in place as written.
_UNPATCHED = re.compile(r" FAILED | ignored|\*\*\*\*")
_PATCHED = re.compile(
    r"^patching file '?(.+?)'?\n(Hunk.*(?:with fuzz |\(offset ))?", re.MULTILINE
)


def _run_patch(walk: Walk, args: Invocation) -> Status:
    """``patch``: it prints which files it changes; if it removes some, or parts of the patch
    did not fit, any file may have changed."""
    if args.has("--dry-run"):
        return None
    shown = "" if walk.captured or walk.stderr_hidden else (walk.output or "") + "\n"
    failed = _UNPATCHED.search(shown) is not None
    if walk.expected_status is False and not failed:
        return False
    found = _PATCHED.findall(shown)
    odd = args.has("-d", "--directory", "-o", "--output", "-b", "--backup", "-R", "-E")
    if odd or failed or not found or "/dev/null" in (walk.stdin or "/dev/null"):
        walk.effects.unknown("patch")
    else:
        for name, moved in found:
            (ops.write if walk.kind(name) == "absent" else ops.modify)(walk, name)
            if moved:  # a hunk was off its place
                ops.write(walk, name + ".orig")
    return None


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
