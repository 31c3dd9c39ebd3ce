"""Which sessions of a folder or machine: the options that `list` and `report` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--project", metavar="DIR", help="Only sessions of this directory or below it."
    ),
    click.option(
        "--from", "--format", "recorder", metavar="NAME", help="Only sessions of this format."
    ),
    click.option("--since", metavar="WHEN", help="Changed since: 2d, 12h, 2w or 2026-11-01."),
    click.option("--until", metavar="WHEN", help="Changed before; same notation as --since."),
)


def filtered(command: Function) -> Function:
    """Gives a command `project`, `recorder`, `since` and `until`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
