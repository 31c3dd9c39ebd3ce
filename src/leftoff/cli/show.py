"""`leftoff show`."""

from collections.abc import Iterator

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.api import default_session, gather, read
from leftoff.cli.group import complain
from leftoff.cli.output import coloured, deliver, gate_of
from leftoff.cli.params import CHOOSE, command, path_of
from leftoff.errors import UsageError
from leftoff.model import Message
from leftoff.rendering.messages import between, message_text
from leftoff.sources.forerunners import forerunners
from leftoff.sources.session_choice import split_choice

_RANGE = re.compile(r"(.*?)(?:#(\d+)(?:(-)(\d+)?)?)?", re.DOTALL)


@command("show")
def show(place: str, *, alone: bool, full: bool, which: str | None, bare: bool) -> None:
    """Print messages of a session by their numbers in summaries.

    Example: leftoff show session.jsonl#12-20

    The results of the calls in these messages are printed, too. Numbers start at 1; without a
    range, all messages are printed. Numbers of a forked session continue those of the
    recordings that it continues, unless --alone is given. In a file that contains several
    sessions, @N or --session N selects one by its number, id or date (`leftoff list FILE` lists
    them): chat.md@3#4."""
    match = _RANGE.fullmatch(place)
    assert match is not None  # it fits any text
    session, begin, more, end = match.groups()
    first = int(begin or 1)
    # `#12` is one message, `#12-` all from there on.
    last = int(end or (first if begin and not more else 1 << 60))
    if last < first or first < 1:
        raise UsageError(f"{place}: a range counts up from 1, as in {session}#12-20")
    gate = gate_of(bare=bare, output=None)
    shown = False
    numbered = _numbered(_one_session(path_of(session, which)), alone=alone)
    for number, message in between(numbered, first, last):
        shown = True
        numbered_so = replace(message, index=number - 1)
        deliver(message_text(numbered_so, gate, full=full, colour=coloured()))
    if not shown:
        raise UsageError(f"{session}: has no message #{first}")


def _numbered(path: str, *, alone: bool) -> Iterator[tuple[int, Message]]:
    """The messages of the main thread with the numbers that summaries of this path cite: those
    of a fork count on from the recordings that it goes on from."""
    parts = [path]
    # To gather reads the whole of every file: only a fork needs it.
    if not alone and forerunners(path):
        gathered = gather([path])
        parts = [gathered.sources[source].path for _, source in gathered.mains]
    seen: set[str] = set()
    number = 0
    for part in parts:
        for message in read(part):
            # A fork repeats the records of what it goes on from.
            if message.agent or message.key in seen:
                continue
            number += 1
            if len(parts) > 1 and message.key:
                seen.add(message.key)
            yield number if len(parts) > 1 else message.index + 1, message


def _one_session(path: str) -> str:
    """The path, with the session that summaries are of where it names none and the file holds
    several: message numbers count in one session."""
    if split_choice(path)[1] is not None:
        return path
    number, count = default_session(path)
    if count == 1:
        return path
    complain(f"{count} sessions in {path}; this is number {number} ({CHOOSE})")
    return f"{path}@{number}"
