"""The position up to which each session was last summarized, for `summarize --since last`."""

from pathlib import Path

from msgspec import Struct

from leftoff.stores.locked_file import LockedFile
from leftoff.summary import ContextSummary

# Maximum number of sessions in the file; the least recently summarized are dropped first.
MAX_SESSIONS = 1000


class Position(Struct, frozen=True):
    """The position in a session: number of lines and number of messages."""

    line: int
    messages: int


def exchange_position(path: Path, summary: ContextSummary) -> Position | None:
    """Saves a session's present position in a JSON file, and returns the one saved before, None
    if there is none; concurrent calls lose no update. `StateError` where the file is damaged or
    cannot be read or written, or is locked."""
    file: LockedFile[dict[str, Position]] = LockedFile(path, dict[str, Position], planted=True)
    with file.locked() as held:
        known = held.load() or {}
        name = summary.session.id or summary.session.path
        before = known.pop(name, None)
        stats = summary.stats
        known[name] = Position(stats.lines.total, stats.message_count)
        while len(known) > MAX_SESSIONS:
            del known[next(iter(known))]
        held.save(known)
    return before
