"""Script interpreters, inline scripts and patches: ``python -c``, ``node -e``, ``patch``."""

import shlex
from collections.abc import Callable
from functools import partial

from leftoff import lazy_re as re
from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation, program_rules
from leftoff.shell.embedded.patches import diff_steps, marked_steps
from leftoff.shell.embedded.python import python_effects
from leftoff.shell.embedded.steps import ScriptSteps
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.wrappers import record_run, run_text
from leftoff.shell.state import Status, Walk

# What `python -m` runs that changes no file, and is no program by itself.
_HARMLESS_MODULES = frozenset(
    "pip timeit doctest this site platform http.server pdb tabnanny sysconfig ast py_compile"
    " compileall".split()
)


def _run_python(walk: Walk, args: Invocation) -> Status:
    if args.has("-V", "-VV", "-h"):
        return None
    module, code = args.value("-m"), args.value("-c")
    if module is not None:
        listed = module in program_rules().by_name
        if module in _HARMLESS_MODULES or walk.expected_status is False and not listed:
            return None
        at = next(i for i, word in enumerate(args.words) if word.endswith(module))
        return interpreter.call(walk, [module, *args.words[at + 1 :]], walk.expected_status)
    arguments = args.operands if code is not None else args.operands[1:]
    if code is None:
        code, missing = _script_text(walk, args.operands)
        if missing:
            return False
    if code is None or UNKNOWN in code:
        if walk.expected_status is not False:
            record_run(walk, arguments, "".join(args.operands[:1]))
        return None
    named = args.has("-c") or not args.operands  # else a script reads, the agent does not
    return _apply_steps(walk, python_effects(code, tuple(arguments)), named=named)


def _script_text(walk: Walk, operands: list[str]) -> tuple[str | None, bool]:
    """The text of the script that operands name, or that stands on standard input; None where
    it is not known. And whether there is no such file."""
    if not operands or operands[0] == "-":
        return walk.stdin, False
    text = walk.known_content(operands[0])
    return text, ops.read(walk, operands[0], named=False) is False


_WORDS = r"(?:write|append|unlink|rename|copy|cp|mv|rm|truncate|symlink|createWrite)"
# What a script of another language does beyond reading and printing, or names to do it.
_CHANGES = re.compile(
    rf"(?<!stdout\.)(?<!stderr\.)(?<!STDOUT\.)(?<!STDERR\.)\b(?:{_WORDS}|remove|touch|mkdir_p"
    r"|exec|eval|spawn|fork|system|file_put|delete|output[FJ])\w*[\]'\"]*\s*[$(`'\"]"
    rf"|\b{_WORDS}\w*(?:File|Sync|Stream)(?!\s*[(,}}])\b|\.{_WORDS}\w*\s*[,}}]"
    r"|\bqx\b|%x|\blink(?:Sync)?\s*\("
    # A file that is opened with no mode for reading beside it.
    r"|\bf?open(?:Sync)?\b(?![^;\n]{0,200}['\"](?:<|r['\"]))"
)


# A program of Perl that only replaces text in what it reads, whatever the text is.
_REPLACES = re.compile(
    r"(?s)(?:\s*s([|/#!,~%])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1[gimsxo]*\s*(?:;|\Z))+"
)


def _run_script(walk: Walk, args: Invocation) -> Status:
    """``node``, ``ruby``, ``perl`` and their like: what a script changes is not followed."""
    entry, operands = args.entry, list(args.operands)
    given = [value for option in entry.code for value in args.values.get(option, ())]
    text: str | None = "\n".join(given)
    script: list[str] = []
    # A script in a file may be one that this session wrote.
    if not given:
        script, operands = operands, []
        text, missing = _script_text(walk, script if "." in "".join(script[:1]) else ["-"])
        if missing:
            return False
    if args.has(*entry.in_place):
        if walk.expected_status is False:
            return False
        for field in operands:
            ops.modify(walk, field, suffix=args.suffix())
    elif args.has("-n", "-p"):
        for field in operands:
            ops.read(walk, field)
    if walk.expected_status is not False:
        if text is None:
            record_run(walk, script[1:], "".join(script[:1]))
        elif args.name == "perl" and _REPLACES.fullmatch(text):
            return None
        elif _CHANGES.search(text) or entry.may_write and re.search(entry.may_write, text):
            walk.effects.unknown(args.name)
    return None


def _look_at_database(walk: Walk, field: str) -> None:
    """A database that is not there is made, though nothing is put into it."""
    (ops.write if walk.kind(field) == "absent" else ops.read)(walk, field)


# What a step does, given the walk and its path.
_STEPS: dict[str, Callable[[Walk, str], object]] = {
    "database": _look_at_database,
    "write": ops.write,
    "append": partial(ops.write, guess_append=True),
    "modify": ops.modify,
    "touch": lambda walk, field: walk.kind(field) == "file" or ops.write(walk, field),
    "delete": ops.delete,
    "delete_if": partial(ops.delete, force=True),
    "delete_tree": partial(ops.delete, recursive=True, force=True),
    "mkdir": partial(ops.make_directory, parents=True),
    "shell": run_text,
    "program": lambda walk, line: interpreter.call(walk, shlex.split(line), None),
}
# Steps from one path to another: whether they move it, take a directory with all in it, and put
# it into a directory that is there.
_TRANSFERS = {
    "move": (True, True, False),
    "move_into": (True, True, True),
    "copy": (False, False, True),
    "copy_tree": (False, True, False),
}


def _apply_steps(walk: Walk, found: ScriptSteps, *, named: bool) -> Status:
    """Apply the steps of a script. `named`: what it reads is printed, or at hand, like that of
    the command itself."""
    status: Status = None
    uncertainty = walk.uncertainty
    if walk.expected_status is False:
        # The script failed somewhere: how many of its steps were done is not known.
        harmless = all(step[0] in ("read", "database", "mkdir") for step in found.steps)
        walk.uncertainty = 1 if harmless else 2
        walk.expected_status = None
        status = False
    base, ran = walk.uncertainty, [True]
    for verb, first, second in found.steps:
        if verb == "read":
            ops.read(walk, first, named=named)
        elif verb in _STEPS:
            if _STEPS[verb](walk, first) is False and verb == "write":
                status = False
        elif verb in _TRANSFERS:
            move, recursive, into = _TRANSFERS[verb]
            into = into and walk.kind(second) == "directory"
            target = ops.destination(first, second, into)
            ops.transfer(walk, first, target, move=move, recursive=recursive)
        else:
            if verb == "maybe":  # what this part prints may show that it ran
                ran.append(bool(first) and not walk.captured and first in (walk.output or ""))
            else:
                ran.pop()
            walk.uncertainty = base if all(ran) else 2
    walk.uncertainty = uncertainty
    if found.partial:
        walk.effects.unknown(walk.tool)
    return status


def _run_sqlite(walk: Walk, args: Invocation) -> Status:
    if not args.operands:
        return None
    text = (" ".join(args.operands[1:]) + " " + (walk.stdin or "")).lower()
    changes = ("create", "insert", "update", "delete", "drop", "alter", "vacuum", "replace")
    if any(word in text for word in changes):
        ops.write(walk, args.operands[0], guess_append=True)
    elif text.strip():
        _look_at_database(walk, args.operands[0])
    return None


# What ``patch`` prints of a file: its name, the one before, and what became of its hunks.
_PATCHED = re.compile(
    r"^patching (?:file|symbolic link) ('[^'\n]+'|\S+)(?: \((\w+) from ([^)\n]+)\))?\r?$"
    r"((?:\n(?!patching ).*)*)",
    re.MULTILINE,
)
_HUNKS = re.compile(r"(\d+) out of (\d+) hunks? (?:FAILED|ignored)")
_REJECTS = re.compile(r"saving rejects to file (\S+)")
_OPTIONS = {"-p", "-p0", "-p1", "--strip", "-i", "--input", "-N", "--forward", "-s", "--silent"}


def _run_patch(walk: Walk, args: Invocation) -> Status:
    """``patch``: it prints each file that it changes. Where that is not seen, the text of the
    patch says it, with ``-p1``, or ``-p0`` for names without ``a/``; otherwise any file may
    have changed."""
    cwd, folder = walk.cwd, args.value("-d", "--directory")
    walk.cwd = cwd if folder is None else walk.resolved(folder)
    source = args.value("-i", "--input") or "".join(args.operands[1:2])
    text = walk.known_content(source) if source else walk.stdin
    steps = diff_steps(text or "")
    printed = [] if walk.captured else list(_PATCHED.finditer(walk.output or ""))
    level = "1" if "--- a/" in (text or "") else "0"
    usual = args.flags <= _OPTIONS and args.value("-p", "--strip") == level
    status: Status = None
    if printed:
        status, walk.expected_status = walk.expected_status, None
        for found in printed:
            _patch_printed(walk, args, steps, found)
    elif walk.expected_status is False and " FAILED " not in (walk.output or ""):
        status = False
    elif walk.expected_status is False or text is None or args.operands or not usual:
        walk.effects.unknown("patch")
    else:
        _patch(walk, steps)
    walk.cwd = cwd
    return status


def _patch_printed(
    walk: Walk, args: Invocation, steps: list[tuple[str, str, str]], found: re.Match[str]
) -> None:
    """Apply what is printed of one file; the text of the patch says whether it is new or
    removed, if it is known."""
    name, how, former, hunks = found[1].strip("'"), found[2], found[3], found[4]
    alone = len(steps) == 1
    of_file = [s for s in steps if alone or f"/{s[2] or s[1]}".endswith(f"/{name}")]
    new = walk.kind(name) == "absent"
    verb = of_file[0][0] if of_file else "add" if new else "modify"
    if args.has("-R", "--reverse"):
        verb = {"add": "delete", "delete": "add"}.get(verb, verb)
    failed = _HUNKS.search(hunks)
    if "****" not in hunks and (failed is None or failed[1] != failed[2]):
        if how == "renamed":
            ops.transfer(walk, former, name, move=True, recursive=False)
        # Without the text it may have been removed.
        with interpreter.raised(walk, 0 if steps or how else 1):
            _patch(walk, [("add" if how == "read" else "modify" if how else verb, name, "")])
    # Of hunks that did not fit where the patch says it keeps the old file beside the new one.
    moved = any(mark in hunks for mark in (" FAILED ", " (offset ", " with fuzz "))
    if moved and not args.has("--no-backup-if-mismatch") or args.has("-b", "--backup"):
        ops.write(walk, f"{name}.orig")
    for rejects in _REJECTS.finditer(hunks):
        ops.write(walk, rejects[1])


def _patch(walk: Walk, steps: list[tuple[str, str, str]]) -> None:
    for verb, path, target in steps:
        if verb == "modify":
            ops.modify(walk, path)
        elif verb == "delete":
            ops.delete(walk, path)
        elif verb == "move":
            ops.transfer(walk, path, target, move=True, recursive=False)
        else:
            ops.make_directory(walk, parent_of(path), parents=True)
            ops.write(walk, path)


def _run_apply_patch(walk: Walk, args: Invocation) -> Status:
    """``apply_patch``: agents give the patch as an argument or as a here-document."""
    text = next((field for field in args.operands if "*** Begin Patch" in field), walk.stdin)
    if walk.expected_status is False:
        return False
    if text is None:
        walk.effects.unknown(args.name)
    _patch(walk, marked_steps(text or ""))
    return None
