"""What every `leftoff eval` command takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from leftoff.cli.group import tell

Function = TypeVar("Function", bound=Callable[..., Any])

HELD_OUT = "marot__spotter"
"""A labelled source repository that is not looked at while rules are built; on demand only."""

_PRINTED = (
    click.option("--json", "as_json", is_flag=True, help="Print the run: numbers, no text."),
    click.option("-o", "--output", metavar="FILE", help="Write the run here too."),
)
_NOTED = (
    click.option(
        "--resamples",
        type=click.IntRange(min=2),
        default=2000,
        show_default=True,
        help="Of the bootstrap.",
    ),
    click.option("--date", metavar="DAY", default="", help="To note in the run."),
    click.option("--machine", metavar="TEXT", default="", help="To note in the run."),
)


def printed(command: Function) -> Function:
    """Where the run goes: `as_json`, `output`."""
    return _with(_PRINTED, command)


def noted(command: Function) -> Function:
    """How the run is worked out and what it notes: `resamples`, `date`, `machine`."""
    return _with(_NOTED, command)


def progress() -> Callable[[str], None] | None:
    """Names each session on a terminal's stderr; silent elsewhere."""
    if not sys.stderr.isatty():
        return None
    return lambda name: tell(f"  {name}")


def _with(options: tuple[Callable[[Function], Function], ...], command: Function) -> Function:
    for option in reversed(options):
        command = option(command)
    return command
