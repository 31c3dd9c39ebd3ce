"""Script interpreters and inline scripts: ``python -c``, ``node -e``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leftoff.shell import embedded
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.embedded.steps import LAST, PATTERN, STEM, WHOLE
from leftoff.shell.parser import parse
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import MAX_ITEMS, is_directory, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.filesystem import Action
    from leftoff.shell.interpreter import Interpreter, Status

__all__ = ["HANDLERS", "apply_steps"]


def _python(shell: Interpreter, args: Invocation) -> Status:
    words = args.words
    code: str | None = None
    i = 0
    while i < len(words):
        word = words[i]
        if word[:1] != "-" or word == "-":
            break
        if word == "-m":
            return _python_module(shell, words[i + 1 :])
        if word == "-c" or (word[:2] != "--" and word.endswith("c") and len(word) < 5):
            code = words[i + 1] if i + 1 < len(words) else ""
            i += 2
            break
        if word in ("-V", "-VV", "--version", "--help", "-h"):
            return None
        i += 2 if word in ("-W", "-X") else 1
    arguments = words[i:]
    if code is None and (not arguments or arguments[0] == "-"):
        code = shell.stdin
        arguments = arguments[1:]
        if code is None:
            shell.effects.unknown(args.name)
            return None
    elif code is None:
        name = arguments[0]
        text = shell.known_content(name)
        if shell.read(name) is False:
            return False
        if text is None:
            if shell.expected_status is not False:
                shell.effects.unknown(args.name)
            return None
        code, arguments = text, arguments[1:]
    if UNKNOWN in code:
        shell.effects.unknown(args.name)
        return None
    found = embedded.python_effects(code, tuple(arguments))
    return apply_steps(shell, args.name, found)


_HARMLESS_MODULES = frozenset(
    (
        "json.tool",
        "pytest",
        "unittest",
        "pip",
        "mypy",
        "flake8",
        "pylint",
        "timeit",
        "doctest",
        "this",
        "site",
        "platform",
        "pdb",
        "tabnanny",
        "ruff",
        "pyflakes",
        "sysconfig",
        "ast",
        "py_compile",
        "compileall",
    )
)


def _python_module(shell: Interpreter, words: list[str]) -> Status:
    if not words:
        return None
    module = words[0]
    if module == "json.tool":
        files = [word for word in words[1:] if word[:1] != "-"]
        status = shell.read(files[0]) if files else True
        if len(files) > 1 and status is not False:
            shell.write(files[1])
        return status
    if module in _HARMLESS_MODULES:
        return None
    if module == "zipfile" or module == "tarfile":
        if len(words) > 3 and words[1] in ("-c", "--create"):
            for field in words[3:]:
                shell.read_tree(field)
            shell.write(words[2])
            return None
        if len(words) > 2 and words[1] in ("-l", "--list", "-t", "--test"):
            return shell.read(words[2])
    if shell.expected_status is not False:
        shell.effects.unknown(module)
    return None


def _script_runner(shell: Interpreter, args: Invocation) -> Status:
    """``node``, ``ruby``, ``php``, ``deno``, ``bun`` and their like."""
    code = args.value("-e", "--eval", "-p", "--print", "-r", "-pe")
    if args.name == "node" and args.value("-r") is not None and not args.has("-e", "-p"):
        code = None
    if code is None and (not args.operands or args.operands[0] == "-"):
        code = shell.stdin
    if code is None:
        if args.has("-v", "--check", "-c") and not args.has("-e"):
            for field in args.operands:
                shell.read(field)
            return None
        if args.operands:
            text = shell.known_content(args.operands[0])
            if shell.read(args.operands[0]) is False:
                return False
            if text is not None:
                return apply_steps(shell, args.name, embedded.other_effects(text, args.name))
        if shell.expected_status is not False:
            shell.effects.unknown(args.name)
        return None
    if shell.expected_status is False or UNKNOWN in code:
        shell.effects.unknown(args.name)
        return None
    return apply_steps(shell, args.name, embedded.other_effects(code, args.name))


_UNKNOWN_ACTIONS: dict[str, Action] = {
    "read": "read",
    "delete": "deleted",
    "delete_if": "deleted",
}


def _expand_patterns(
    shell: Interpreter, steps: tuple[tuple[str, str, str], ...]
) -> list[tuple[str, str, str]]:
    """The steps, with one for each matching file in place of a step on a pattern
    (``glob.glob``)."""
    out: list[tuple[str, str, str]] = []
    nested = 0
    for verb, first, second in steps:
        nested += {"maybe": 1, "surely": -1}.get(verb, 0)
        pattern = _PATTERN.search(first) or _PATTERN.search(second)
        if pattern is None:
            out.append((verb, first, second))
            continue
        base = pattern[1]
        if nested:  # it applies to some of the files; which ones is not known
            shell.effects.unknown(shell.tool, action=_UNKNOWN_ACTIONS.get(verb, "modified"))
            continue
        found, complete = shell.state.expand(shell.cwd, base)
        out.extend(
            (verb, _fill_pattern(first, name), _fill_pattern(second, name))
            for name in found[:MAX_ITEMS]
        )
        if not complete:
            shell.record_unknown(
                base if first == pattern[0] else None, _UNKNOWN_ACTIONS.get(verb, "modified")
            )
    return out


_PATTERN = re.compile(f"{PATTERN}([^{WHOLE}{LAST}{STEM}]*)([{WHOLE}{LAST}{STEM}])")


def _fill_pattern(text: str, name: str) -> str:
    """The text with each pattern replaced by the meant part of a name that it matches."""
    last = name.rpartition("/")[2]
    parts = {WHOLE: name, LAST: last, STEM: last.rpartition(".")[0] or last}
    return _PATTERN.sub(lambda found: parts[found[2]], text)


def apply_steps(shell: Interpreter, tool: str, found: embedded.ScriptSteps) -> Status:
    """Apply the steps of an inline script."""
    status: Status = None
    uncertainty = shell.uncertainty
    if shell.expected_status is False:
        # The script failed somewhere: how many of its steps were done is not known.
        harmless = all(step[0] in ("read", "mkdir", "cd") for step in found.steps)
        shell.uncertainty = 1 if harmless else 2
        shell.expected_status = None
        status = False
    cwd, base = shell.cwd, shell.uncertainty
    nested = 0
    for verb, first, second in _expand_patterns(shell, found.steps):
        if verb == "maybe" or verb == "surely":
            nested += 1 if verb == "maybe" else -1
            shell.uncertainty = max(base, 1) if nested else base
        elif verb == "read":
            shell.read(first, tool)
        elif verb == "write":
            done = shell.write(first, tool)
            status = False if not done else status
        elif verb == "append":
            shell.write(first, tool, guess_append=True)
        elif verb == "modify":
            shell.modify(first, tool)
        elif verb == "add":
            path = shell.path(first)
            if path is not None and shell.state.kind(parent_of(path)) == "absent":
                shell.state.put_directory(parent_of(path), empty=True)
            shell.write(first, tool)
        elif verb == "touch":
            if kind_of(shell, first) != "file":
                shell.write(first, tool)
        elif verb == "delete":
            shell.delete(first)
        elif verb == "delete_if":
            shell.delete(first, force=True)
        elif verb == "delete_tree":
            shell.delete(first, recursive=True, force=True)
        elif verb == "move":
            shell.transfer(first, second, move=True, recursive=True)
        elif verb == "move_into":
            into = is_directory(shell, second)
            goal = shell.destination(first, second, into) or second
            shell.transfer(first, goal, move=True, recursive=True)
        elif verb == "copy":
            into = is_directory(shell, second)
            goal = shell.destination(first, second, into) or second
            shell.transfer(first, goal, move=False, recursive=False)
        elif verb == "copy_tree":
            shell.transfer(first, second, move=False, recursive=True)
        elif verb == "mkdir":
            shell.make_directory(first, parents=True)
        elif verb == "cd":
            shell.cwd = shell.path(first)
        elif verb == "shell":
            shell.run(parse(first, home=shell.home).body)
    shell.cwd = cwd
    shell.uncertainty = uncertainty
    if found.partial:
        shell.effects.unknown(tool)
    return status


def _sqlite(shell: Interpreter, args: Invocation) -> Status:
    if not args.operands:
        return None
    text = (" ".join(args.operands[1:]) + " " + (shell.stdin or "")).lower()
    changes = ("create", "insert", "update", "delete", "drop", "alter", "vacuum", "replace")
    if any(word in text for word in changes):
        shell.write(args.operands[0], guess_append=True)
    elif kind_of(shell, args.operands[0]) == "absent":
        shell.write(args.operands[0])
    elif text.strip():
        shell.read(args.operands[0])
    else:
        shell.effects.unknown("sqlite3", shell.path(args.operands[0]))
    return None


def _powershell(shell: Interpreter, args: Invocation) -> Status:
    shell.effects.unknown("powershell")
    return None


HANDLERS: dict[str, Callable[[Interpreter, Invocation], Status]] = {
    "python": _python,
    "script": _script_runner,
    "sqlite": _sqlite,
    "powershell": _powershell,
}
