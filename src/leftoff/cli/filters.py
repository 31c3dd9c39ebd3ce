"""Which sessions of this machine: the options that `list`, `report` and `browse` share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from leftoff.sources.discover import SessionInfo

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


def chosen_sessions(
    project: str | None, recorder: str | None, since: str | None, until: str | None
) -> Iterator[SessionInfo]:
    """The sessions of this machine that the options choose, last changed first."""
    from leftoff.sources.discover import list_sessions, parse_time

    now = time.time()
    return list_sessions(
        os.environ,
        project=os.path.abspath(os.path.expanduser(project)) if project else "",  # noqa: PTH100, PTH111
        format=recorder or "",
        since=parse_time(since, now) if since else None,
        until=parse_time(until, now) if until else None,
    )
