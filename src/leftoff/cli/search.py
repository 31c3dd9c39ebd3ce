"""`leftoff search`."""

from __future__ import annotations

import click

from leftoff.cli.memory import Question, asking
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
    asked: Question,
) -> int:
    """Search all recorded sessions of this machine and show the best matches: who said it,
    what came of it, and in which message.

    Example: leftoff search retry webhook --kind decision

    Exit 1: nothing found.
    """
    wanted = asked.filters(speakers=speakers, kinds=kinds)
    found = search_in(asked.index(), " ".join(words), wanted, limit=asked.limit)
    return asked.answer(found, hit_values, hits_text)
