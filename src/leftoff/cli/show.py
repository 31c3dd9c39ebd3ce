"""`leftoff show`."""

from __future__ import annotations

import re

import click

from leftoff.api import read
from leftoff.cli.no_redact import gate_of
from leftoff.cli.output import coloured, deliver
from leftoff.cli.params import complete, path_of
from leftoff.errors import UsageError
from leftoff.rendering.messages import message_text

_RANGE = re.compile(r"^(?P<session>.*?)(?:#(?P<first>\d+)(?:-(?P<last>\d+)?)?)?$", re.DOTALL)


@click.command()
@click.argument("place", metavar="SESSION[#FIRST[-LAST]]", shell_complete=complete)
@click.option("--full", is_flag=True, help="Do not cut long tool results.")
@click.option(
    "--no-redact", "bare", is_flag=True, help="Show secrets as recorded; only on a terminal."
)
def show(place: str, *, full: bool, bare: bool) -> None:
    """Messages of a session by number, as summaries cite them: session.jsonl#12-20, latest#3.

    Numbers count from 1; without a range, all messages.
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
    for message in read(path_of(session)):
        if message.agent or message.index + 1 < first:
            continue
        if message.index + 1 > last:
            break
        shown = True
        text = message_text(message, gate, full=full, colour=coloured())
        deliver(text, None)
    if not shown:
        raise UsageError(f"{session}: has no message #{first}")
