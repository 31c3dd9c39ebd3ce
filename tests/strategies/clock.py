"""A clock for what takes its time from one that is given to it."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Goes on by a second whenever it is read; `now` may be set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now
