"""Applies one simple command: by the rule of its program, or by a handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation, ProgramRule, ProgramRules, program_rules
from leftoff.shell.programs import (
    archives,
    builtins,
    coreutils,
    downloads,
    git,
    interpreters,
    readers,
    textual,
    wrappers,
)
from leftoff.shell.programs.nested import run_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.interpreter import Interpreter, Status

__all__ = ["HANDLERS", "execute"]

HANDLERS: dict[str, Callable[[Interpreter, Invocation], Status]] = {
    **builtins.HANDLERS,
    **wrappers.HANDLERS,
    **readers.HANDLERS,
    **coreutils.HANDLERS,
    **textual.HANDLERS,
    **archives.HANDLERS,
    **interpreters.HANDLERS,
    **git.HANDLERS,
    **downloads.HANDLERS,
}


def execute(shell: Interpreter, line: list[str]) -> Status:
    """Apply the effects of one command and return its status.

    A program without a rule may have changed any file: an ``unknown`` effect names it.
    """
    known = program_rules()
    name = shell.tool
    if UNKNOWN in name:
        shell.effects.unknown("shell")
        return None
    arguments = line[1:]
    if name in known.with_subcommands:
        found = _subcommand(name, arguments, known)
        if found is not None:
            entry, rest = found
            return _run_by_rule(shell, Invocation(name, rest, entry))
    rule = known.by_name.get(name)
    if rule is None:
        return _run_unlisted(shell, line[0], arguments)
    return _run_by_rule(shell, Invocation(name, arguments, rule))


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


def _run_unlisted(shell: Interpreter, program: str, arguments: list[str]) -> Status:
    if "/" in program and not shell.is_unresolved(program):
        text = shell.known_content(program)
        if text is not None:
            shell.set_positional(arguments)
            return run_text(shell, text)
        path = shell.path(program)
        if path is not None and shell.state.kind(path) == "absent":
            return False
        if path is not None and shell.state.kind(path) == "file":
            shell.read(program)
    if arguments in (["--version"], ["--help"], ["-V"], ["-h"], ["version"], ["help"]):
        return None
    shell.effects.unknown(shell.tool)
    return None


def _run_by_rule(shell: Interpreter, args: Invocation) -> Status:
    entry = args.entry
    kind = entry.kind
    if "--help" in args.flags or "--version" in args.flags:
        return True
    if kind == "inert":
        return True if entry.reliable else None
    if kind == "handler":
        return HANDLERS[entry.handler](shell, args)
    if kind == "opaque":
        if shell.expected_status is not False:
            shell.effects.unknown(args.name)
        return None
    return _run_by_table(shell, args)


def _nothing(shell: Interpreter, field: str) -> Status:
    """An operand that is no file: no effect."""
    return None


_ROLES: dict[str, Callable[[Interpreter, str], Status]] = {
    "read": lambda shell, field: shell.read(field),
    "tree": lambda shell, field: shell.read_tree(field),
    "write": lambda shell, field: shell.write(field),
    "append": lambda shell, field: shell.write(field, guess_append=True),
    "modify": lambda shell, field: shell.modify(field),
    "none": _nothing,
}


def _run_by_table(shell: Interpreter, args: Invocation) -> Status:
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
    if shell.expected_status is False and normal:
        shell.expected_status = None
    if shell.expected_status is False and role == "modify" and len(operands) == 1:
        return False
    if (
        shell.expected_status is False
        and role != "read"
        and len(operands) == 1
        and not entry.roles
    ):
        target = shell.path(operands[0])
        if target is None or shell.state.kind(target) != "file":
            return False
    status: Status = True
    for i, field in enumerate(operands):
        use = role
        if entry.last and i == len(operands) - 1 and i > 0:
            use = entry.last
        done = _ROLES[use](shell, field)
        if done is False:
            status = False
        elif done is None and status is True:
            status = None
    for option, use in entry.roles.items():
        for value in args.values.get(option, ()):
            if shell.expected_status is False and use in ("write", "append", "modify"):
                continue
            done = _ROLES[use](shell, value)
            if done is False:
                status = False
    if entry.fails == "contents" and status is True:
        return None
    if normal:
        return None if status is not False or not operands else status
    return status
