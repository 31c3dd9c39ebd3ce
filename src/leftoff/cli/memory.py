"""`leftoff memory`, and what the commands that ask the memory share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from leftoff import codec
from leftoff.batch.pool import Engine, InProcess, Pool
from leftoff.batch.run import Report
from leftoff.cli.batch import BatchProgress, summary_line
from leftoff.cli.group import tell
from leftoff.cli.output import deliver
from leftoff.errors import StateError
from leftoff.handover.wording import plural
from leftoff.memory.index import LOCK_TIMEOUT, forget, statistics, update
from leftoff.memory.lookup import memory_path
from leftoff.memory.search import Filters
from leftoff.sources.discover import parse_time

Function = TypeVar("Function", bound=Callable[..., Any])

WAIT = 30.0
"""Seconds to wait for another process that updates the index: an agent's commands have two
minutes. Chosen by hand; not measured."""

_OPTIONS = (
    click.option(
        "--project", metavar="DIR", help="Only sessions of this directory or below it."
    ),
    click.option("--since", metavar="WHEN", help="Only sessions since then: 2d, 2026-11-01."),
    click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True),
    click.option(
        "--no-update", is_flag=True, help="Do not add new recordings to the index first."
    ),
    click.option("--json", "as_json", is_flag=True, help="One JSON object on each line."),
)


def asking(command: Function) -> Function:
    """Gives a command `project`, `since`, `limit`, `no_update` and `as_json`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def filters(project: str | None, since: str | None, **more: Any) -> Filters:
    """The filters that the options name."""
    folder = os.path.abspath(os.path.expanduser(project)) if project else ""  # noqa: PTH100, PTH111
    begin = ""
    if since:
        begin = datetime.fromtimestamp(parse_time(since, time.time()), UTC).isoformat()
    return Filters(project=folder, since=begin, **more)


def current_index(*, no_update: bool) -> Path:
    """The path of this user's index, brought up to date unless that is not wanted.

    Raises:
        StateError: another process has been updating it for `WAIT` seconds: without what it is
            going to add, "nothing found" would not be true.
    """
    path = memory_path(os.environ)
    if not no_update:
        new = not path.exists()
        if new:
            tell("building the index of all recordings on this machine ...")
        begin = Pool if new else InProcess
        if _update(path, (), begin()) is None:
            tell("another process updates the index; waiting for it (--no-update: do not)")
            if _update(path, (), begin(), WAIT) is None:
                raise StateError(
                    f"{path}: another process is still updating it; try again later, or search"
                    " what it holds so far with --no-update"
                )
    return path


def answer(rows: list[dict[str, Any]], text: str, *, as_json: bool) -> int:
    """Writes an answer; 1 if it is empty."""
    if not rows:
        tell("leftoff: nothing found")
        return 1
    deliver(b"".join(codec.dumps(row) for row in rows) if as_json else text, None)
    return 0


def _update(
    path: Path, paths: tuple[str, ...], engine: Engine, timeout: float = LOCK_TIMEOUT
) -> Report | None:
    shown = BatchProgress() if sys.stderr.isatty() else None
    try:
        return update(
            path, paths, environ=os.environ, engine=engine, watcher=shown, timeout=timeout
        )
    finally:
        engine.close()
        if shown is not None:
            shown.end()


@click.group()
def memory() -> None:
    """Manage the index over all recorded sessions that `search`, `blame`, `fix` and `ledger`
    use.

    Example: leftoff memory status

    It contains redacted text only and is stored where LEFTOFF_MEMORY says.
    """


@memory.command("update")
@click.argument("paths", nargs=-1)
@click.option("-w", "--workers", type=click.IntRange(min=1), help="Number of worker processes.")
def update_command(paths: tuple[str, ...], workers: int | None) -> int:
    """Add new recordings from PATHS, or from the default places of all clients.

    Example: leftoff memory update
    """
    path = memory_path(os.environ)
    report = _update(path, paths, Pool(workers or 0))
    done = summary_line(report) if report else "another process is updating the index"
    tell(done.replace("\n", "; "))
    return 0


@memory.command("status")
def status() -> int:
    """Show what the index contains.

    Example: leftoff memory status
    """
    path = memory_path(os.environ)
    for name, value in statistics(path).items():
        deliver(f"{name:<12} {value}\n", None)
    return 0


@memory.command("forget")
@click.option("--all", "everything", is_flag=True, help="Delete the whole index.")
def forget_command(*, everything: bool) -> int:
    """Remove the sessions whose recordings were deleted.

    Example: leftoff memory forget
    """
    count = forget(memory_path(os.environ), missing_only=not everything)
    tell(f"removed {plural(count, 'session')}")
    return 0
