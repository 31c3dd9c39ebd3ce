"""Functions that the handlers of several programs share."""

from __future__ import annotations

from leftoff.shell import interpreter
from leftoff.shell.parser import parse
from leftoff.shell.state import Status, Walk

# Items (operands, matches, lines) that one program is applied to; chosen by hand, not measured.
MAX_ITEMS = 512


def both_succeed(left: Status, right: Status) -> Status:
    """The combined status of two steps that must both succeed."""
    if left is False or right is False:
        return False
    return True if left is True and right is True else None


def run_text(walk: Walk, text: str, expected_status: Status = None) -> Status:
    """Interpret a script text as a child shell in the same directory."""
    if len(text) > 20_000:
        walk.effects.unknown("shell")
        return None
    errexit, walk.errexit = walk.errexit, False
    status = interpreter.subshell(walk, parse(text, home=walk.home).body, expected_status)
    walk.errexit = errexit
    return status
