"""Steps that the handlers of several programs share: run a text, ask for a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.parser import parse

if TYPE_CHECKING:
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["MANY", "answers", "both", "is_tree", "kind_of", "run_text"]

MANY = 512


def both(left: Status, right: Status) -> Status:
    """The status of two steps that must both succeed."""
    if left is False or right is False:
        return False
    return True if left is True and right is True else None


def run_text(machine: Machine, text: str, want: Status = None) -> Status:
    """Follow the text of a script in the same directory."""
    if len(text) > 20_000:
        machine.effects.unknown("shell")
        return None
    script = parse(text, home=machine.home)
    cwd, variables = machine.cwd, dict(machine.variables)
    strict, machine.strict = machine.strict, False
    parting, machine.parting = machine.parting, None
    status = machine.run(script.body, want)
    machine.leave()
    machine.parting = parting
    machine.cwd, machine.variables, machine.strict = cwd, variables, strict
    machine.resume()
    return status


def is_tree(machine: Machine, field: str) -> bool:
    """Whether a field names a known directory."""
    path = machine.path(field) if not machine.special(field) else None
    return path is not None and machine.state.kind(path) == "directory"


def kind_of(machine: Machine, field: str) -> str:
    """What is known of the path that a field names."""
    path = machine.path(field) if not machine.special(field) else None
    return "unknown" if path is None else machine.state.kind(path)


def answers(machine: Machine) -> Status:
    """What a program that asks before each step is told: yes, no (or nothing), or None where
    it is not known or not the same each time."""
    if machine.stdin is None:
        return None
    said = {line[:1] in ("y", "Y") for line in machine.stdin.splitlines()} or {False}
    return said.pop() if len(said) == 1 else None
