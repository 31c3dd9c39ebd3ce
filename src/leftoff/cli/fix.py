"""`leftoff fix`."""

from __future__ import annotations

import sys

import click

from leftoff.cli.memory import answer, asking, current_index, filters
from leftoff.cli.output import columns
from leftoff.memory.fixes import fixes
from leftoff.memory.text import fix_values, fixes_text


@click.command()
@click.argument("error", nargs=-1)
@asking
def fix(
    error: tuple[str, ...],
    *,
    project: str | None,
    since: str | None,
    limit: int,
    no_update: bool,
    as_json: bool,
) -> int:
    """Find earlier errors like ERROR, how they were fixed, and what was edited in between.

    Example: make 2>&1 | leftoff fix

    Without ERROR, standard input is read. Exit 1: no similar error was recorded.
    """
    text = " ".join(error) if error or sys.stdin is None else sys.stdin.read()
    index = current_index(no_update=no_update)
    found = fixes(index, text, filters(project, since), limit=limit)
    rows = [fix_values(one) for one in found]
    return answer(rows, fixes_text(found, columns()), as_json=as_json)
