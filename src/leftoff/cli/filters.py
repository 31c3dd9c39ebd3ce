"""Which sessions of this machine: the options that `list`, `report` and `browse` share."""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import astuple

from leftoff.cli.params import grouped
from leftoff.sources.discover import SessionInfo


class SessionFilter(Struct, frozen=True):
    """The sessions that the options choose."""

    project: str | None = None
    recorder: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        names = ("--project", "--format", "--since", "--until")
        return [name for name, value in zip(names, astuple(self), strict=True) if value]

    @property
    def sessions(self) -> Callable[..., Iterator[SessionInfo]]:
        """`discover.list_sessions` with these options: the last changed session first."""
        # Only when sessions are asked for: help and errors of options do without.
        from leftoff.sources.discover import list_sessions, parse_time
        from leftoff.sources.place import folder_of

        now = time.time()
        return partial(
            list_sessions,
            os.environ,
            project=folder_of(self.project),
            format=self.recorder or "",
            since=parse_time(self.since, now) if self.since else None,
            until=parse_time(self.until, now) if self.until else None,
        )


filtered = grouped("chosen", SessionFilter)
