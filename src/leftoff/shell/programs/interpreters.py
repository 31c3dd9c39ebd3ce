"""Interpreters, and the scripts given to them inline: ``python -c``, ``node -e``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leftoff.shell import embedded
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.embedded.steps import LAST, PATTERN, STEM, WHOLE
from leftoff.shell.filesystem import parent_of
from leftoff.shell.parser import parse
from leftoff.shell.programs.nested import MANY, is_tree, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.filesystem import Action
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS", "follow"]


def _python(machine: Machine, run: Invocation) -> Status:
    words = run.words
    code: str | None = None
    i = 0
    while i < len(words):
        word = words[i]
        if word[:1] != "-" or word == "-":
            break
        if word == "-m":
            return _python_module(machine, words[i + 1 :])
        if word == "-c" or (word[:2] != "--" and word.endswith("c") and len(word) < 5):
            code = words[i + 1] if i + 1 < len(words) else ""
            i += 2
            break
        if word in ("-V", "-VV", "--version", "--help", "-h"):
            return None
        i += 2 if word in ("-W", "-X") else 1
    arguments = words[i:]
    if code is None and (not arguments or arguments[0] == "-"):
        code = machine.stdin
        arguments = arguments[1:]
        if code is None:
            machine.effects.unknown(run.name)
            return None
    elif code is None:
        name = arguments[0]
        text = machine.known_text(name)
        if machine.read(name) is False:
            return False
        if text is None:
            if machine.want is not False:
                machine.effects.unknown(run.name)
            return None
        code, arguments = text, arguments[1:]
    if UNKNOWN in code:
        machine.effects.unknown(run.name)
        return None
    found = embedded.python_effects(code, tuple(arguments))
    return follow(machine, run.name, found)


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


def _python_module(machine: Machine, words: list[str]) -> Status:
    if not words:
        return None
    module = words[0]
    if module == "json.tool":
        files = [word for word in words[1:] if word[:1] != "-"]
        status = machine.read(files[0]) if files else True
        if len(files) > 1 and status is not False:
            machine.write(files[1])
        return status
    if module in _HARMLESS_MODULES:
        return None
    if module == "zipfile" or module == "tarfile":
        if len(words) > 3 and words[1] in ("-c", "--create"):
            for field in words[3:]:
                machine.read_tree(field)
            machine.write(words[2])
            return None
        if len(words) > 2 and words[1] in ("-l", "--list", "-t", "--test"):
            return machine.read(words[2])
    if machine.want is not False:
        machine.effects.unknown(module)
    return None


def _script_runner(machine: Machine, run: Invocation) -> Status:
    """``node``, ``ruby``, ``php``, ``deno``, ``bun`` and their like."""
    code = run.value("-e", "--eval", "-p", "--print", "-r", "-pe")
    if run.name == "node" and run.value("-r") is not None and not run.has("-e", "-p"):
        code = None
    if code is None and (not run.operands or run.operands[0] == "-"):
        code = machine.stdin
    if code is None:
        if run.has("-v", "--check", "-c") and not run.has("-e"):
            for field in run.operands:
                machine.read(field)
            return None
        if run.operands:
            text = machine.known_text(run.operands[0])
            if machine.read(run.operands[0]) is False:
                return False
            if text is not None:
                return follow(machine, run.name, embedded.other_effects(text, run.name))
        if machine.want is not False:
            machine.effects.unknown(run.name)
        return None
    if machine.want is False or UNKNOWN in code:
        machine.effects.unknown(run.name)
        return None
    return follow(machine, run.name, embedded.other_effects(code, run.name))


_LOST: dict[str, Action] = {"read": "read", "delete": "deleted", "delete_if": "deleted"}


def _expanded(
    machine: Machine, steps: tuple[tuple[str, str, str], ...]
) -> list[tuple[str, str, str]]:
    """The steps, where one on a pattern (``glob.glob``) is one for each file that it names."""
    out: list[tuple[str, str, str]] = []
    nested = 0
    for verb, first, second in steps:
        nested += {"maybe": 1, "surely": -1}.get(verb, 0)
        pattern = _PATTERN.search(first) or _PATTERN.search(second)
        if pattern is None:
            out.append((verb, first, second))
            continue
        base = pattern[1]
        if nested:  # some of the files, and which ones is not known
            machine.effects.unknown(machine.tool, action=_LOST.get(verb, "modified"))
            continue
        found, complete = machine.state.expand(machine.cwd, base)
        out.extend((verb, _named(first, name), _named(second, name)) for name in found[:MANY])
        if not complete:
            machine.lost(base if first == pattern[0] else None, _LOST.get(verb, "modified"))
    return out


_PATTERN = re.compile(f"{PATTERN}([^{WHOLE}{LAST}{STEM}]*)([{WHOLE}{LAST}{STEM}])")


def _named(text: str, name: str) -> str:
    """The text with each pattern replaced by what is meant of a name that it matches."""
    last = name.rpartition("/")[2]
    parts = {WHOLE: name, LAST: last, STEM: last.rpartition(".")[0] or last}
    return _PATTERN.sub(lambda found: parts[found[2]], text)


def follow(machine: Machine, tool: str, found: embedded.Embedded) -> Status:
    """Let the effects of an inline script happen."""
    status: Status = None
    rank = machine.rank
    if machine.want is False:
        # It stopped somewhere: what it read first it has read; the rest cannot be told.
        harmless = all(step[0] in ("read", "mkdir", "cd") for step in found.steps)
        machine.rank = 1 if harmless else 2
        machine.want = None
        status = False
    cwd, base = machine.cwd, machine.rank
    nested = 0
    for verb, first, second in _expanded(machine, found.steps):
        if verb == "maybe" or verb == "surely":
            nested += 1 if verb == "maybe" else -1
            machine.rank = max(base, 1) if nested else base
        elif verb == "read":
            machine.read(first, tool)
        elif verb == "write":
            done = machine.write(first, tool)
            status = False if not done else status
        elif verb == "append":
            machine.write(first, tool, guess_append=True)
        elif verb == "modify":
            machine.modify(first, tool)
        elif verb == "add":
            path = machine.path(first)
            if path is not None and machine.state.kind(parent_of(path)) == "absent":
                machine.state.put_directory(parent_of(path), empty=True)
            machine.write(first, tool)
        elif verb == "touch":
            if kind_of(machine, first) != "file":
                machine.write(first, tool)
        elif verb == "delete":
            machine.delete(first)
        elif verb == "delete_if":
            machine.delete(first, force=True)
        elif verb == "delete_tree":
            machine.delete(first, recursive=True, force=True)
        elif verb == "move":
            machine.transfer(first, second, move=True, recursive=True)
        elif verb == "move_into":
            into = is_tree(machine, second)
            goal = machine.place(first, second, into) or second
            machine.transfer(first, goal, move=True, recursive=True)
        elif verb == "copy":
            into = is_tree(machine, second)
            goal = machine.place(first, second, into) or second
            machine.transfer(first, goal, move=False, recursive=False)
        elif verb == "copy_tree":
            machine.transfer(first, second, move=False, recursive=True)
        elif verb == "mkdir":
            machine.make_directory(first, parents=True)
        elif verb == "cd":
            machine.cwd = machine.path(first)
        elif verb == "shell":
            machine.run(parse(first, home=machine.home).body)
    machine.cwd = cwd
    machine.rank = rank
    if found.partial:
        machine.effects.unknown(tool)
    return status


def _sqlite(machine: Machine, run: Invocation) -> Status:
    if not run.operands:
        return None
    text = (" ".join(run.operands[1:]) + " " + (machine.stdin or "")).lower()
    changes = ("create", "insert", "update", "delete", "drop", "alter", "vacuum", "replace")
    if any(word in text for word in changes):
        machine.write(run.operands[0], guess_append=True)
    elif kind_of(machine, run.operands[0]) == "absent":
        machine.write(run.operands[0])
    elif text.strip():
        machine.read(run.operands[0])
    else:
        machine.effects.unknown("sqlite3", machine.path(run.operands[0]))
    return None


def _powershell(machine: Machine, run: Invocation) -> Status:
    machine.effects.unknown("powershell")
    return None


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    "python": _python,
    "script": _script_runner,
    "sqlite": _sqlite,
    "powershell": _powershell,
}
