"""Script interpreters, inline scripts and patches: ``python -c``, ``node -e``, ``patch``."""

from collections.abc import Callable

from leftoff import lazy_re as re
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.embedded.patches import diff_steps, marked_steps
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
    "write": lambda w, a, _b, tool: ops.write(w, a, tool),
    "append": lambda w, a, _b, tool: ops.write(w, a, tool, guess_append=True),
    "modify": lambda w, a, _b, tool: ops.modify(w, a, tool),
    "touch": lambda w, a, _b, tool: w.kind(a) == "file" or ops.write(w, a, tool),
    "delete": lambda w, a, _b, _tool: ops.delete(w, a),
    "delete_if": lambda w, a, _b, _tool: ops.delete(w, a, force=True),
    "delete_tree": lambda w, a, _b, _tool: ops.delete(w, a, recursive=True, force=True),
    "move": lambda w, a, b, _tool: ops.transfer(w, a, b, move=True, recursive=True),
    "move_into": lambda w, a, b, _tool: ops.transfer(
        w, a, _inside(w, a, b), move=True, recursive=True
    ),
    "copy": lambda w, a, b, _tool: ops.transfer(
        w, a, _inside(w, a, b), move=False, recursive=False
    ),
    "copy_tree": lambda w, a, b, _tool: ops.transfer(w, a, b, move=False, recursive=True),
    "mkdir": lambda w, a, _b, _tool: ops.make_directory(w, a, parents=True),
    "shell": lambda w, a, _b, _tool: run_text(w, a),
}


def _inside(walk: Walk, source: str, target: str) -> str:
    return ops.destination(source, target, walk.kind(target) == "directory")


def apply_steps(walk: Walk, tool: str, found: ScriptSteps) -> Status:
    """Apply the steps of an inline script."""
    status: Status = None
    uncertainty = walk.uncertainty
    if walk.expected_status is False:
        # The script failed somewhere: how many of its steps were done is not known.
        harmless = all(step[0] in ("read", "mkdir") for step in found.steps)
        walk.uncertainty = 1 if harmless else 2
        walk.expected_status = None
        status = False
    base, ran = walk.uncertainty, [True]
    for verb, first, second in found.steps:
        if verb in _STEPS:
            if _STEPS[verb](walk, first, second, tool) is False and verb == "write":
                status = False
        else:
            if verb == "maybe":  # what this part prints may show that it ran
                ran.append(bool(first) and not walk.captured and first in (walk.output or ""))
            else:
                ran.pop()
            walk.uncertainty = base if all(ran) else 2
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
    elif text.strip():
        ops.read(walk, args.operands[0])
    return None


# Hunks that did not fit where the patch says: patch keeps the old file beside the new one.
_OFF_PLACE = re.compile(
    r"^patching file (\S+)\n(?:Hunk #\d+ succeeded [^\n]*(?:\n|\Z))+", re.MULTILINE
)
_OPTIONS = {"-p", "-p0", "-p1", "--strip", "-i", "--input", "-N", "--forward", "-s", "--silent"}


def _run_patch(walk: Walk, args: Invocation) -> Status:
    """``patch -p1``, or ``-p0`` for names without ``a/``: the text of the patch says what it
    changes, if all of it went in place; otherwise any file may have changed."""
    source = args.value("-i", "--input")
    text = walk.stdin if source is None else walk.known_content(source)
    shown = "" if walk.captured else walk.output or ""
    # `1 out of 2 hunks FAILED`, `hunk ignored`, `**** malformed patch`.
    whole = not any(mark in shown for mark in (" FAILED ", " ignored", "****"))
    level = "1" if "--- a/" in (text or "") else "0"
    usual = args.flags <= _OPTIONS and args.value("-p", "--strip") == level
    if walk.expected_status is False and whole:
        return False
    if text is None or args.operands or not whole or not usual:
        walk.effects.unknown("patch")
        return None
    _patch(walk, diff_steps(text))
    for found in _OFF_PLACE.finditer(shown):
        ops.write(walk, found[1] + ".orig")
    return None


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
