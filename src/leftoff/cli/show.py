"""`leftoff show`."""

from __future__ import annotations

import re

import click

from leftoff.api import default_session, read
from leftoff.cli.group import complain
from leftoff.cli.no_redact import gate_of
from leftoff.cli.output import coloured, deliver
from leftoff.cli.params import complete, path_of
from leftoff.errors import UsageError
from leftoff.rendering.messages import message_text
from leftoff.sources.session_choice import split_choice

_RANGE = re.compile(r"^(?P<session>.*?)(?:#(?P<first>\d+)(?:-(?P<last>\d+)?)?)?$", re.DOTALL)


@click.command()
@click.argument("place", metavar="SESSION[@N][#FIRST[-LAST]]", shell_complete=complete)
@click.option("--full", is_flag=True, help="Do not cut long tool results.")
@click.option(
    "--no-redact", "bare", is_flag=True, help="Show secrets as recorded; only on a terminal."
)
def show(place: str, *, full: bool, bare: bool) -> None:
    """Messages of a session by number, as summaries cite them: session.jsonl#12-20, latest#3.

    Numbers count from 1; without a range, all messages. Of a file that holds several sessions
    @N chooses one, by its number, id or date (`leftoff list FILE` shows them): chat.md@3#4.
    """
    match = _RANGE.match(place)
    session = match["session"] if match else place
    first = int(match["first"]) if match and match["first"] else 1
    if match and match["last"]:
        last = int(match["last"])
    else:
        last = first if match and match["first"] and not place.endswith("-") else 1 << 60
    if last < first or first < 1:
        raise UsageError(f"{place}: a range counts up from 1, as in {session}#12-20")
    gate = gate_of(bare=bare, output=None)
    shown = False
    for message in read(_one_session(path_of(session))):
        if message.agent or message.index + 1 < first:
            continue
        if message.index + 1 > last:
            break
        shown = True
        text = message_text(message, gate, full=full, colour=coloured())
        deliver(text, None)
    if not shown:
        raise UsageError(f"{session}: has no message #{first}")


def _one_session(path: str) -> str:
    """The path, with the session that summaries are of where the file holds several and none
    is chosen: message numbers count in one session."""
    if split_choice(path)[1] is not None:
        return path
    number, count = default_session(path)
    if count == 1:
        return path
    complain(f"{count} sessions in {path}; this is number {number} (choose with @N)")
    return f"{path}@{number}"
