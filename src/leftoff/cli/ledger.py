"""`leftoff ledger`."""

from __future__ import annotations

import click

from leftoff.cli.memory import answer, asking, current_index, filters
from leftoff.cli.output import columns
from leftoff.memory.ledger import ledger as ledger_of
from leftoff.memory.ledger import never_taken_up
from leftoff.memory.text import hit_values, hits_text, ledger_text, standing_values


@click.command()
@click.option(
    "--open",
    "left_open",
    is_flag=True,
    help="Instead: open items that no later session continued.",
)
@asking
def ledger(
    *,
    left_open: bool,
    project: str | None,
    since: str | None,
    limit: int,
    no_update: bool,
    as_json: bool,
) -> int:
    """List the rules and decisions that apply in a project (default: this directory), from all
    its sessions, latest first.

    Example: leftoff ledger --open

    Reversed ones come last. Exit 1: there are none.
    """
    index = current_index(no_update=no_update)
    wanted = filters(project or ".", since)
    if left_open:
        hits = never_taken_up(index, wanted)[:limit]
        return answer(
            [hit_values(h) for h in hits], hits_text(hits, columns()), as_json=as_json
        )
    found = ledger_of(index, wanted)[:limit]
    rows = [standing_values(one) for one in found]
    return answer(rows, ledger_text(found, columns()), as_json=as_json)
