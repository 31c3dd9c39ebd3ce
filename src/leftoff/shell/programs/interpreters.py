"""Script interpreters and inline scripts: ``python -c``, ``node -e``."""

from __future__ import annotations

from collections.abc import Callable

from leftoff import lazy_re as re
from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.embedded.python import python_effects
from leftoff.shell.embedded.steps import MAX_SCRIPT, MAX_STEPS, ScriptSteps
from leftoff.shell.parser import parse
from leftoff.shell.paths import parent_of
from leftoff.shell.state import Status, Walk


def _run_python(walk: Walk, args: Invocation) -> Status:
    words = args.words
    code: str | None = None
    i = 0
    while i < len(words):
        word = words[i]
        if word[:1] != "-" or word == "-":
            break
        if word == "-m":
            return _python_module(walk, words[i + 1 :])
        if word == "-c" or (word[:2] != "--" and word.endswith("c") and len(word) < 5):
            code = words[i + 1] if i + 1 < len(words) else ""
            i += 2
            break
        if word in ("-V", "-VV", "--version", "--help", "-h"):
            return None
        i += 2 if word in ("-W", "-X") else 1
    arguments = words[i:]
    if code is None and (not arguments or arguments[0] == "-"):
        code = walk.stdin
        arguments = arguments[1:]
        if code is None:
            walk.effects.unknown(args.name)
            return None
    elif code is None:
        name = arguments[0]
        text = walk.known_content(name)
        if ops.read(walk, name) is False:
            return False
        if text is None:
            if walk.expected_status is not False:
                walk.effects.unknown(args.name)
            return None
        code, arguments = text, arguments[1:]
    if UNKNOWN in code:
        walk.effects.unknown(args.name)
        return None
    found = python_effects(code, tuple(arguments))
    return apply_steps(walk, args.name, found)


_HARMLESS_MODULES = frozenset(
    "json.tool pytest unittest pip mypy flake8 pylint timeit doctest this site platform"
    " pdb tabnanny ruff pyflakes sysconfig ast py_compile compileall".split()
)


def _python_module(walk: Walk, words: list[str]) -> Status:
    if not words:
        return None
    module = words[0]
    if module == "json.tool":
        files = [word for word in words[1:] if word[:1] != "-"]
        status = ops.read(walk, files[0]) if files else True
        if len(files) > 1 and status is not False:
            ops.write(walk, files[1])
        return status
    if module in _HARMLESS_MODULES:
        return None
    if module == "zipfile" or module == "tarfile":
        if len(words) > 3 and words[1] in ("-c", "--create"):
            for field in words[3:]:
                ops.read_tree(walk, field)
            ops.write(walk, words[2])
            return None
        if len(words) > 2 and words[1] in ("-l", "--list", "-t", "--test"):
            return ops.read(walk, words[2])
    if walk.expected_status is not False:
        walk.effects.unknown(module)
    return None


_SCRIPT_NAME = re.compile(r"""\b(\w+)\s*=\s*(["'`])([^"'`$#\n]+)\2(?!\s*[+.])""")
_SCRIPT_CALL = re.compile(
    r"\b(?P<verb>(?:read|write|append|unlink|rm)(?:File)?(?:Sync)?|file_(?:get|put)_contents"
    r"""|File\.(?:read|write))\s*\(\s*(?:(["'`])(?P<path>[^"'`$#\n]+)\2|(?P<name>\w+))\s*(?=[,)])"""
)
_SCRIPT_COMMENT = re.compile(r"/\*[\s\S]*?\*/|(?<![:'\"])//[^\n]*")
_SCRIPT_VERBS = {
    "append": "append",
    "unlink": "delete",
    "rm": "delete_tree",
    "file_get": "read",
}
_SCRIPT_CHANGES = re.compile(
    r"(?<!stdout\.)(?<!stderr\.)\b(?:write|append|unlink|rename|copy|cp|mv|rm|truncate|symlink|remove"
    r"|touch|mkdir_p|exec|spawn|system|file_put|delete|createWrite)\w*\s*[$('\"]"
    r"|\b(?:File\.)?f?open\b(?![^;\n]*['\"](?:<|r['\"]))"
)
"""What a script of another language does beyond reading and printing."""


def apply_script(walk: Walk, tool: str, code: str) -> Status:
    """JavaScript, Ruby, PHP or Perl: the calls that read or write a file of a literal name;
    others may have changed any file."""
    if len(code) > MAX_SCRIPT or UNKNOWN in code:
        walk.effects.unknown(tool)
        return None
    code = _SCRIPT_COMMENT.sub("", code)
    names: dict[str, str] = {}
    for name, _, text in _SCRIPT_NAME.findall(code):
        names[name] = text if names.get(name, text) == text else UNKNOWN
    steps: list[tuple[str, str, str]] = []
    for found in _SCRIPT_CALL.finditer(code):
        path = found["path"] or names.get(found["name"], UNKNOWN)
        verb = next((v for k, v in _SCRIPT_VERBS.items() if found["verb"].startswith(k)), "")
        verb = verb or ("read" if "read" in found["verb"] else "write")
        if path != UNKNOWN or verb != "read":
            steps.append((verb, path, ""))
    partial = _SCRIPT_CHANGES.search(_SCRIPT_CALL.sub("", code)) is not None
    return apply_steps(walk, tool, ScriptSteps(tuple(steps[:MAX_STEPS]), partial))


def _run_script(walk: Walk, args: Invocation) -> Status:
    """``node``, ``ruby``, ``php``, ``deno``, ``bun`` and their like."""
    code = args.value("-e", "--eval", "-p", "--print", "-r", "-pe")
    if args.name == "node" and args.value("-r") is not None and not args.has("-e", "-p"):
        code = None
    if code is None and (not args.operands or args.operands[0] == "-"):
        code = walk.stdin
    if code is None and args.operands:
        code = walk.known_content(args.operands[0])
        if ops.read(walk, args.operands[0]) is False:
            return False
        if args.has("-v", "--check", "-c"):
            return None
    if code is not None and args.name in _LANGUAGES:
        return apply_script(walk, args.name, code)
    if walk.expected_status is not False:
        walk.effects.unknown(args.name)
    return None


_LANGUAGES = frozenset("node nodejs deno bun tsx ruby irb php".split())


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
    "shell": lambda w, a, _b, _tool: interpreter.run(w, parse(a, home=w.home).body),
}
"""What a step does, given the walk, its paths and the program."""


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
    nested = 0
    for verb, first, second in found.steps:
        if verb == "maybe" or verb == "surely":
            nested += 1 if verb == "maybe" else -1
            walk.uncertainty = max(base, 1) if nested else base
        elif verb == "write":
            status = status if ops.write(walk, first, tool) else False
        elif verb == "add":
            path = walk.path(first)
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
            walk.cwd = walk.path(first)
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
