"""Applies one simple command: by the rule of its program, or by a handler."""

from __future__ import annotations

import re
from collections.abc import Callable

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation, ProgramRule, ProgramRules, program_rules
from leftoff.shell.programs import (
    builtins,
    coreutils,
    git,
    interpreters,
    readers,
    textual,
    wrappers,
)
from leftoff.shell.programs.nested import run_text
from leftoff.shell.state import Status, Walk
from leftoff.shell.statements import RESERVED

_MODULES = (builtins, coreutils, git, interpreters, readers, textual, wrappers)
# The functions ``_run_NAME`` of the modules, by the name that a rule gives as `handler`.
HANDLERS: dict[str, Callable[[Walk, Invocation], Status]] = {
    name.removeprefix("_run_"): handler
    for module in _MODULES
    for name, handler in vars(module).items()
    if name.startswith("_run_") and handler.__module__ == module.__name__
}


def execute(walk: Walk, line: list[str]) -> Status:
    """Apply the effects of one command and return its status.

    A program without a rule may have changed any file: an ``unknown`` effect names it."""
    known = program_rules()
    name = walk.tool
    if UNKNOWN in name:
        walk.effects.unknown("shell")
        return None
    arguments = line[1:]
    if name in known.with_subcommands:
        found = _subcommand(name, arguments, known)
        if found is not None:
            entry, rest = found
            return _run_by_rule(walk, Invocation(name, rest, entry))
    rule = known.by_name.get(name)
    if rule is None:
        return _run_unlisted(walk, line[0], arguments)
    return _run_by_rule(walk, Invocation(name, arguments, rule))


def _subcommand(
    name: str, arguments: list[str], known: ProgramRules
) -> tuple[ProgramRule, list[str]] | None:
    rule = known.by_name.get(name)
    takes = rule.takes if rule is not None else ()
    i = 0
    while i < len(arguments) and arguments[i][:1] == "-":
        i += 2 if arguments[i] in takes else 1
    if i >= len(arguments):
        return None
    found = known.by_name.get(f"{name} {arguments[i]}")
    return None if found is None else (found, arguments[i + 1 :])


def _run_unlisted(walk: Walk, program: str, arguments: list[str]) -> Status:
    if "/" in program and not walk.is_unresolved(program):
        text = walk.known_content(program)
        if text is not None:
            interpreter.set_positional(walk, arguments)
            return run_text(walk, text)
        path = walk.path(program)
        if path is not None and walk.state.kind(path) == "absent":
            return False
        if path is not None and walk.state.kind(path) == "file":
            ops.read(walk, program, named=False)
    if arguments in (["--version"], ["--help"], ["-V"], ["-h"], ["version"], ["help"]):
        return None
    named = _PROGRAM.fullmatch(walk.tool) and walk.tool not in RESERVED
    walk.effects.unknown(walk.tool if named else "shell")
    return None


# What a program may be called; other words are of a text that was taken for commands.
_PROGRAM = re.compile(r"(?=.*[^\W\d_])(?!.*: )[^{}<>()\[\];,|&$\"'`*?\n]+")


def _run_by_rule(walk: Walk, args: Invocation) -> Status:
    entry = args.entry
    kind = entry.kind
    if "--help" in args.flags or "--version" in args.flags:
        return True
    if entry.handler:
        return HANDLERS[entry.handler](walk, args)
    if kind == "inert":
        return True if entry.reliable else None
    if kind == "opaque":
        if walk.expected_status is False or args.has(*entry.looks):
            return None
        shown = "" if walk.captured else walk.output or ""
        named = list(re.finditer(entry.prints, shown, re.MULTILINE)) if entry.prints else []
        for line in named:
            path = line[line.lastgroup or 0].replace("\\", "/")
            (ops.write if line.lastgroup == "made" else ops.modify)(walk, path)
        if not named:
            walk.effects.unknown(args.name)
        return None
    return _run_by_table(walk, args)


def _nothing(walk: Walk, field: str) -> Status:
    return None


_ROLES: dict[str, Callable[[Walk, str], Status]] = {
    "read": ops.read,
    "tree": ops.read_tree,
    "write": ops.write,
    "append": lambda walk, field: ops.write(walk, field, guess_append=True),
    "modify": ops.modify,
    "none": _nothing,
}


def _run_by_table(walk: Walk, args: Invocation) -> Status:
    entry = args.entry
    operands = args.operands
    if entry.skip and not args.has(*entry.skip_unless):
        operands = operands[entry.skip :]
    role = entry.operands
    if entry.in_place and any(
        option == given
        or (len(option) == 2 and given[:2] == option and given[:2] != "--")
        or given.startswith(option + "=")
        for option in entry.in_place
        for given in args.flags
    ):
        role = "modify"
    if entry.recursive and role == "read" and args.has(*entry.recursive):
        role = "tree"
        operands = operands or ["."]
    normal = entry.fails == "normal"
    if walk.expected_status is False and normal:
        walk.expected_status = None
    if walk.expected_status is False and role == "modify" and len(operands) == 1:
        return False
    if (
        walk.expected_status is False
        and role != "read"
        and len(operands) == 1
        and not entry.roles
    ):
        target = walk.path(operands[0])
        if target is None or walk.state.kind(target) != "file":
            return False
    status: Status = True
    for i, field in enumerate(operands):
        use = role
        if entry.last and i == len(operands) - 1 and i > 0:
            use = entry.last
        if use in ("write", "append") and status is False:
            return False  # without its input it writes nothing
        done = _ROLES[use](walk, field)
        if done is False:
            status = False
        elif done is None and status is True:
            status = None
    for option, use in entry.roles.items():
        for value in args.values.get(option, ()):
            failed = walk.expected_status is False or status is False
            if failed and use in ("write", "append", "modify"):
                continue
            done = _ROLES[use](walk, value)
            if done is False:
                status = False
    if entry.fails == "contents" and status is True:
        return None
    if normal:
        return None if status is not False or not operands else status
    return status
