"""Script interpreters, inline scripts and patches: ``python -c``, ``node -e``, ``patch``."""

from collections.abc import Callable

from leftoff import lazy_re as re
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.embedded.patches import marked_patch_effects, patch_effects
from leftoff.shell.embedded.python import python_effects
from leftoff.shell.embedded.steps import ScriptSteps
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.wrappers import run_text
from leftoff.shell.state import Status, Walk

# What `python -m` runs that changes no file.
_HARMLESS_MODULES = frozenset(
    "pytest unittest pip mypy flake8 pylint timeit doctest this site platform"
    " http.server pdb tabnanny ruff pyflakes sysconfig ast py_compile compileall".split()
)


def _run_python(walk: Walk, args: Invocation) -> Status:
    if args.has("-V", "-VV", "-h"):
        return None
    module, code = args.value("-m"), args.value("-c")
    if module is not None:
        # A second operand of `json.tool` is the file that it writes.
        looks = module == "json.tool" and len(args.operands) < 2
        if not (module in _HARMLESS_MODULES or looks) and walk.expected_status is not False:
            walk.effects.unknown(module)
        return ops.read(walk, args.operands[0]) if looks and args.operands else None
    arguments = args.operands if code is not None else args.operands[1:]
    if code is None:
        code, missing = _script_text(walk, args.operands)
        if missing:
            return False
    if code is None or UNKNOWN in code:
        if walk.expected_status is not False:
            walk.effects.unknown(args.name)
        return None
    return apply_steps(walk, args.name, python_effects(code, tuple(arguments)))


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


def _run_script(walk: Walk, args: Invocation) -> Status:
    """``node``, ``ruby``, ``perl`` and their like: what a script changes is not followed."""
    entry, operands = args.entry, list(args.operands)
    if args.has(*entry.looks):
        return None
    given = [value for option in entry.code for value in args.values.get(option, ())]
    text: str | None = "\n".join(given)
    # A script in a file may be one that this session wrote.
    if not given:
        text, missing = _script_text(walk, operands if "." in "".join(operands[:1]) else ["-"])
        if missing:
            return False
        operands = []
    if args.has(*entry.in_place):
        if walk.expected_status is False:
            return False
        for field in operands:
            ops.modify(walk, field)
    elif args.has("-n", "-p"):
        for field in operands:
            ops.read(walk, field)
    may_write = (
        text is None
        or _CHANGES.search(text)
        or (entry.may_write and re.search(entry.may_write, text))
    )
    if may_write and walk.expected_status is not False:
        walk.effects.unknown(args.name)
    return None


# What a step does, given the walk, its paths and the program.
_STEPS: dict[str, Callable[[Walk, str, str, str], object]] = {
    "read": lambda w, a, _b, tool: ops.read(w, a, tool),
    "append": lambda w, a, _b, tool: ops.write(w, a, tool, guess_append=True),
    "modify": lambda w, a, _b, tool: ops.modify(w, a, tool),
    "touch": lambda w, a, _b, tool: w.kind(a) == "file" or ops.write(w, a, tool),
    "delete": lambda w, a, _b, _tool: ops.delete(w, a),
    "delete_if": lambda w, a, _b, _tool: ops.delete(w, a, force=True),
    "delete_tree": lambda w, a, _b, _tool: ops.delete(w, a, recursive=True, force=True),
    "move": lambda w, a, b, _tool: ops.transfer(w, a, b, move=True, recursive=True),
    "copy_tree": lambda w, a, b, _tool: ops.transfer(w, a, b, move=False, recursive=True),
    "mkdir": lambda w, a, _b, _tool: ops.make_directory(w, a, parents=True),
    "shell": lambda w, a, _b, _tool: run_text(w, a),
}


def apply_steps(walk: Walk, tool: str, found: ScriptSteps) -> Status:
    """Apply the steps of an inline script."""
    status: Status = None
    uncertainty = walk.uncertainty
    if walk.expected_status is False:
        # The script failed somewhere: how many of its steps were done is not known.
        harmless = all(step[0] in ("read", "mkdir", "cd") for step in found.steps)
        walk.uncertainty = 1 if harmless else 2
        walk.expected_status = None
        status = False
    cwd, base = walk.cwd, walk.uncertainty
    ran: list[bool] = []
    for verb, first, second in found.steps:
        if verb == "maybe" or verb == "surely":
            if verb == "maybe":  # what this part prints may show that it ran
                ran.append(bool(first) and not walk.captured and first in (walk.output or ""))
            elif ran:
                ran.pop()
            walk.uncertainty = base if all(ran) else 2
        elif verb == "write":
            status = status if ops.write(walk, first, tool) else False
        elif verb == "add":
            path = walk.path(first)
            # A patch makes the folders of the files that it adds.
            if path is not None and walk.state.kind(parent_of(path)) == "absent":
                walk.state.put_directory(parent_of(path), empty=True)
            ops.write(walk, first, tool)
        elif verb in ("move_into", "copy"):
            goal = ops.destination(first, second, walk.kind(second) == "directory")
            move = verb == "move_into"
            ops.transfer(walk, first, goal, move=move, recursive=move)
        elif verb in _STEPS:
            _STEPS[verb](walk, first, second, tool)
        elif verb == "cd":
            walk.cwd = walk.path(first) if all(ran) else None
    walk.cwd = cwd
    walk.uncertainty = uncertainty
    if found.partial:
        walk.effects.unknown(tool)
    return status


def _run_sqlite(walk: Walk, args: Invocation) -> Status:
    if not args.operands:
        return None
    text = (" ".join(args.operands[1:]) + " " + (walk.stdin or "")).lower()
    changes = ("create", "insert", "update", "delete", "drop", "alter", "vacuum", "replace")
    if any(word in text for word in changes):
        ops.write(walk, args.operands[0], guess_append=True)
    elif walk.kind(args.operands[0]) == "absent":
        ops.write(walk, args.operands[0])
    elif text.strip():
        ops.read(walk, args.operands[0])
    else:
        walk.effects.unknown("sqlite3", walk.path(args.operands[0]))
    return None


# --- patches


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
    # `1 out of 2 hunks FAILED`, `hunk ignored`, `**** malformed patch`.
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
    odd = args.has("-d", "--directory", "-o", "--output", "-b", "--backup", "-R", "--reverse")
    if odd or any(mark in shown for mark in off):
        walk.effects.unknown("patch")
    elif text is not None and not args.operands:
        apply_steps(walk, "patch", patch_effects(text, args.value("-p", "--strip")))
    elif args.operands:
        ops.modify(walk, args.operands[0])
    elif named:
        uncertainty = walk.uncertainty
        for name in named:  # it may also have removed one that was there
            walk.uncertainty = uncertainty if walk.kind(name) == "absent" else 2
            ops.write(walk, name, guess_append=True)
        walk.uncertainty = uncertainty
    else:
        walk.effects.unknown("patch")
    for name in sorted(saved) if not args.has("--posix", "--no-backup-if-mismatch") else ():
        ops.write(walk, name + ".orig", "patch")
    return None


def _run_apply_patch(walk: Walk, args: Invocation) -> Status:
    text = walk.stdin
    # Agents give the patch as an argument or as a here-document.
    if args.operands and "*** Begin Patch" in args.operands[0]:
        text = args.operands[0]
    if walk.expected_status is False:
        return False
    if text is None:
        walk.effects.unknown(args.name)
        return None
    return apply_steps(walk, args.name, marked_patch_effects(text))
