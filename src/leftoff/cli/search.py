"""`leftoff search`."""

from __future__ import annotations

import click

from leftoff.cli.memory import answer, asking, current_index, filters
from leftoff.cli.output import columns
from leftoff.handover.entries import KINDS
from leftoff.memory.search import SPEAKERS
from leftoff.memory.search import search as search_in
from leftoff.memory.text import hit_values, hits_text


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--by",
    "speakers",
    type=click.Choice(SPEAKERS),
    multiple=True,
    help="Only words of this speaker.",
)
@click.option(
    "--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only items of this kind."
)
@asking
def search(
    words: tuple[str, ...],
    *,
    speakers: tuple[str, ...],
    kinds: tuple[str, ...],
    project: str | None,
    since: str | None,
    limit: int,
    no_update: bool,
    as_json: bool,
) -> int:
    """Search all recorded sessions of this machine and show the best matches: who said it,
    what came of it, and in which message.

    Example: leftoff search retry webhook --kind decision

    Exit 1: nothing found.
    """
    index = current_index(no_update=no_update)
    wanted = filters(project, since, speakers=speakers, kinds=kinds)
    found = search_in(index, " ".join(words), wanted, limit=limit)
    rows = [hit_values(hit) for hit in found]
    return answer(rows, hits_text(found, columns()), as_json=as_json)
