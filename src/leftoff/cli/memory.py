"""`leftoff memory`, and what the commands that ask the memory share."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click
from msgspec import Struct

from leftoff import codec
from leftoff.batch.pool import Engine, InProcess, Pool
from leftoff.batch.run import Report
from leftoff.cli.batch import progress, summary_line
from leftoff.cli.group import tell
from leftoff.cli.output import columns, deliver
from leftoff.cli.params import command
from leftoff.errors import StateError
from leftoff.handover.wording import plural
from leftoff.memory.index import LOCK_TIMEOUT, forget, statistics, update
from leftoff.memory.lookup import memory_path
from leftoff.memory.search import Filters
from leftoff.sources.discover import folder_of, parse_time

T = TypeVar("T")

# Seconds to wait for another process that updates the index: an agent's commands have two
# minutes. Chosen by hand; not measured.
WAIT = 30.0


class Question(Struct, frozen=True):
    """What a command asks the memory, and how it answers."""

    no_update: bool
    as_json: bool
    limit: int = 0
    project: str | None = None
    since: str | None = None

    def filters(
        self,
        project: str | None = None,
        *,
        speakers: tuple[str, ...] = (),
        kinds: tuple[str, ...] = (),
    ) -> Filters:
        """The filters that the options name; `project` where they name none."""
        begin = ""
        if self.since:
            begin = datetime.fromtimestamp(parse_time(self.since, time.time()), UTC).isoformat()
        folder = folder_of(self.project or project)
        return Filters(project=folder, since=begin, speakers=speakers, kinds=kinds)

    def index(self) -> Path:
        """The path of this user's index, brought up to date unless that is not wanted.
        `StateError` where another process has been updating it for `WAIT` seconds: without what
        it is going to add, "nothing found" would not be true."""
        path = memory_path(os.environ)
        if not self.no_update:
            new = not path.exists()
            if new:
                tell("building the index of all recordings on this machine ...")
            # Later updates read a few new turns, faster than a process starts.
            begin = Pool if new else InProcess
            if _update(path, (), begin()) is None:
                tell("another process updates the index; waiting for it (--no-update: do not)")
                if _update(path, (), begin(), WAIT) is None:
                    raise StateError(
                        f"{path}: another process is still updating it; try again later, or"
                        " search what it holds so far with --no-update"
                    )
        return path

    def answer(
        self,
        found: Sequence[T],
        values: Callable[[T], codec.JsonObject],
        text: Callable[[Sequence[T], int], str],
    ) -> int:
        """Writes what was found, as JSON lines by `values`, or as `text` in the columns of the
        screen; 1 if it is nothing."""
        if not found:
            tell("leftoff: nothing found")
            return 1
        rows = b"".join(codec.dumps(values(one)) for one in found) if self.as_json else b""
        deliver(rows or text(found, columns()))
        return 0


def _update(
    path: Path, paths: tuple[str, ...], engine: Engine, timeout: float = LOCK_TIMEOUT
) -> Report | None:
    with progress() as shown, closing(engine):
        return update(
            path, paths, environ=os.environ, engine=engine, watcher=shown, timeout=timeout
        )


@click.group()
def memory() -> None:
    """Manage the index over all recorded sessions that `search`, `blame`, `fix` and `ledger`
    use.

    Example: leftoff memory status

    It contains redacted text only and is stored where LEFTOFF_MEMORY says."""


@command("memory update", memory)
def update_command(paths: tuple[str, ...], workers: int | None) -> int:
    """Add new recordings from PATHS, or from the default places of all clients.

    Example: leftoff memory update

    Exit 1: nothing could be read. Exit 130: interrupted."""
    report = _update(memory_path(os.environ), paths, Pool(workers or 0))
    if report is None:
        tell("another process is updating the index")
        return 0
    for line in summary_line(report).splitlines():
        tell(line)
    if report.interrupted:
        return 130
    return 0 if report.sessions else 1


@command("memory status", memory)
def status() -> None:
    """Show what the index contains.

    Example: leftoff memory status"""
    for name, value in statistics(memory_path(os.environ)).items():
        deliver(f"{name:<12} {value}\n")


@command("memory forget", memory)
def forget_command(*, everything: bool) -> None:
    """Remove the sessions whose recordings were deleted.

    Example: leftoff memory forget"""
    count = forget(memory_path(os.environ), missing_only=not everything)
    tell(f"removed {plural(count, 'session')}")
