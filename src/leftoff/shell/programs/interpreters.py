"""Script interpreters and inline scripts: ``python -c``, ``node -e``."""

from __future__ import annotations

from collections.abc import Callable

from leftoff import lazy_re as re
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.embedded.python import python_effects
from leftoff.shell.embedded.steps import ScriptSteps
from leftoff.shell.embedded.tool_script import script_steps
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import run_text
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
        if ops.read(walk, name, named=False) is False:
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


def _run_script(walk: Walk, args: Invocation) -> Status:
    """``node``, ``ruby``, ``php`` and their like: options, then a script with arguments of its
    own; ``deno`` and ``bun`` have subcommands."""
    words, code = list(args.words), None
    while words and words[0][:1] == "-" and len(words[0]) > 1 and code is None:
        option = words.pop(0)
        name, _, value = option.partition("=")
        if name in ("-v", "-V", "-h") and not words or name in _SHOWS.get(args.name, ()):
            for field in words[:1] if name in ("-c", "--check", "-l") else ():
                ops.read(walk, field)
            return None
        if args.name == "ruby" and re.match("-[aFlnpsUw]*i", name):
            walk.effects.unknown("ruby")  # it changes its operands
            return None
        if name in ("-e", "--eval", "-p", "--print", "-pe", "-ne") or (
            name == "-r" and args.name == "php"
        ):
            code = value or (words.pop(0) if words else "")
        elif name in args.entry.takes and not value:
            words[:1] = []
    if words[:1] == ["eval"] and args.name == "deno":
        code = words[1] if len(words) > 1 else ""
    if code is None and (not words or words[0] == "-"):
        code = walk.stdin
    elif code is None and args.name in ("deno", "bun") and "." not in words[0]:
        if words[0] == "run" and len(words) > 1 and "." in words[-1]:
            ops.read(walk, words[-1], named=False)
    elif code is None:
        code = walk.known_content(words[0])
        if ops.read(walk, words[0], named=False) is False:
            return False
    if code is not None and args.name in _LANGUAGES:
        return apply_steps(walk, args.name, script_steps(code, args.name))
    if walk.expected_status is not False:
        walk.effects.unknown(args.name)
    return None


# Options with which nothing is run.
_SHOWS = {"node": ("-c", "--check"), "ruby": ("-c",), "php": ("-l", "-S", "-i", "-m")}
_LANGUAGES = frozenset("node nodejs deno bun tsx ruby irb php".split())


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
