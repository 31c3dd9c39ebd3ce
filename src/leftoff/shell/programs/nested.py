"""Functions that the handlers of several programs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.parser import parse

if TYPE_CHECKING:
    from leftoff.shell.interpreter import Interpreter, Status

__all__ = ["MAX_ITEMS", "both_succeed", "is_directory", "kind_of", "prompt_answer", "run_text"]

MAX_ITEMS = 512
"""Items (operands, matches, lines) that one program is applied to; chosen by hand, not
measured."""


def both_succeed(left: Status, right: Status) -> Status:
    """The combined status of two steps that must both succeed."""
    if left is False or right is False:
        return False
    return True if left is True and right is True else None


def run_text(shell: Interpreter, text: str, expected_status: Status = None) -> Status:
    """Interpret a script text as a child shell in the same directory."""
    if len(text) > 20_000:
        shell.effects.unknown("shell")
        return None
    script = parse(text, home=shell.home)
    cwd, variables = shell.cwd, dict(shell.variables)
    errexit, shell.errexit = shell.errexit, False
    exit_trap, shell.exit_trap = shell.exit_trap, None
    status = shell.run(script.body, expected_status)
    shell.run_exit_trap()
    shell.exit_trap = exit_trap
    shell.cwd, shell.variables, shell.errexit = cwd, variables, errexit
    shell.resume()
    return status


def is_directory(shell: Interpreter, field: str) -> bool:
    """Whether a field names a known directory."""
    path = shell.path(field) if not shell.is_unresolved(field) else None
    return path is not None and shell.state.kind(path) == "directory"


def kind_of(shell: Interpreter, field: str) -> str:
    """The kind of the path that a field names."""
    path = shell.path(field) if not shell.is_unresolved(field) else None
    return "unknown" if path is None else shell.state.kind(path)


def prompt_answer(shell: Interpreter) -> Status:
    """The answer to the prompts of a program, from its input: True for yes, False for no; None
    where it is not known or differs between prompts."""
    if shell.stdin is None:
        return None
    replies = {line[:1] in ("y", "Y") for line in shell.stdin.splitlines()} or {False}
    return replies.pop() if len(replies) == 1 else None
