"""Carries out one simple command on what is known: the table, or a handler for its program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Entry, Invocation, Knowledge, knowledge
from leftoff.shell.programs import (
    archives,
    builtins,
    coreutils,
    downloads,
    interpreters,
    readers,
    textual,
    wrappers,
)
from leftoff.shell.programs.nested import run_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS", "execute"]

HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    **builtins.HANDLERS,
    **wrappers.HANDLERS,
    **readers.HANDLERS,
    **coreutils.HANDLERS,
    **textual.HANDLERS,
    **archives.HANDLERS,
    **interpreters.HANDLERS,
    **downloads.HANDLERS,
}


def execute(machine: Machine, line: list[str]) -> Status:
    """Say what one command does to files; the effects go to the machine.

    A program that is not known may have changed any file: an ``unknown`` effect names it.
    """
    known = knowledge()
    name = machine.tool
    if UNKNOWN in name:
        machine.effects.unknown("shell")
        return None
    arguments = line[1:]
    if name in known.families:
        found = _subcommand(name, arguments, known)
        if found is not None:
            entry, rest = found
            return _apply(machine, Invocation(name, rest, entry))
    rule = known.entries.get(name)
    if rule is None:
        return _unlisted(machine, line[0], arguments)
    return _apply(machine, Invocation(name, arguments, rule))


def _subcommand(
    name: str, arguments: list[str], known: Knowledge
) -> tuple[Entry, list[str]] | None:
    rule = known.entries.get(name)
    takes = rule.takes if rule is not None else ()
    i = 0
    while i < len(arguments) and arguments[i][:1] == "-":
        i += 2 if arguments[i] in takes else 1
    if i >= len(arguments):
        return None
    found = known.entries.get(f"{name} {arguments[i]}")
    return None if found is None else (found, arguments[i + 1 :])


def _unlisted(machine: Machine, program: str, arguments: list[str]) -> Status:
    if "/" in program and not machine.special(program):
        text = machine.known_text(program)
        if text is not None:
            machine.positional(arguments)
            return run_text(machine, text)
        path = machine.path(program)
        if path is not None and machine.state.kind(path) == "absent":
            return False
        if path is not None and machine.state.kind(path) == "file":
            machine.read(program)
    if arguments in (["--version"], ["--help"], ["-V"], ["-h"], ["version"], ["help"]):
        return None
    machine.effects.unknown(machine.tool)
    return None


def _apply(machine: Machine, run: Invocation) -> Status:
    entry = run.entry
    kind = entry.kind
    if "--help" in run.flags or "--version" in run.flags:
        return True
    if kind == "inert":
        return True if entry.firm else None
    if kind == "handler":
        return HANDLERS[entry.handler](machine, run)
    if kind == "opaque":
        if machine.want is not False:
            machine.effects.unknown(run.name)
        return None
    return _table(machine, run)


def _nothing(machine: Machine, field: str) -> Status:
    """An operand that is no file."""
    return None


_ROLES: dict[str, Callable[[Machine, str], Status]] = {
    "read": lambda machine, field: machine.read(field),
    "tree": lambda machine, field: machine.read_tree(field),
    "write": lambda machine, field: machine.write(field),
    "append": lambda machine, field: machine.write(field, guess_append=True),
    "modify": lambda machine, field: machine.modify(field),
    "none": _nothing,
}


def _table(machine: Machine, run: Invocation) -> Status:
    entry = run.entry
    operands = run.operands
    if entry.skip and not run.has(*entry.skip_unless):
        operands = operands[entry.skip :]
    role = entry.operands
    if entry.in_place and any(
        option == given
        or (len(option) == 2 and given[:2] == option and given[:2] != "--")
        or given.startswith(option + "=")
        for option in entry.in_place
        for given in run.flags
    ):
        role = "modify"
    if entry.recursive and role == "read" and run.has(*entry.recursive):
        role = "tree"
        operands = operands or ["."]
    normal = entry.fails == "normal"
    if machine.want is False and normal:
        machine.want = None
    if machine.want is False and role == "modify" and len(operands) == 1:
        return False
    if machine.want is False and role != "read" and len(operands) == 1 and not entry.roles:
        target = machine.path(operands[0])
        if target is None or machine.state.kind(target) != "file":
            return False
    status: Status = True
    for i, field in enumerate(operands):
        use = role
        if entry.last and i == len(operands) - 1 and i > 0:
            use = entry.last
        done = _ROLES[use](machine, field)
        if done is False:
            status = False
        elif done is None and status is True:
            status = None
    for option, use in entry.roles.items():
        for value in run.values.get(option, ()):
            if machine.want is False and use in ("write", "append", "modify"):
                continue
            done = _ROLES[use](machine, value)
            if done is False:
                status = False
    if entry.fails == "contents" and status is True:
        return None
    if normal:
        return None if status is not False or not operands else status
    return status
