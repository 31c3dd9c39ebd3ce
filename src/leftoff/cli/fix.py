"""`leftoff fix`."""

from __future__ import annotations

import sys

import click

from leftoff.cli.group import tell
from leftoff.cli.memory import answer, asking, current_index, filters
from leftoff.cli.output import columns
from leftoff.handover.wording import brief
from leftoff.memory.fixes import fixes, last_failure
from leftoff.memory.text import fix_values, fixes_text, short_id


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

    Without ERROR, standard input is read; if that is a terminal or empty, the last failure
    recorded in this directory is taken. Exit 1: no similar error was recorded.
    """
    piped = sys.stdin is not None and not sys.stdin.isatty()
    text = " ".join(error) or (sys.stdin.read() if piped and not error else "")
    index = current_index(no_update=no_update)
    last = None if text.strip() else last_failure(index, filters(project or ".", None))
    if last is not None:
        text = last.text.partition(": ")[2]
        tell(f"the last failure here ({short_id(last)}#{last.number}): {brief(text, 200)}")
    found = fixes(index, text, filters(project, since), limit=limit, but=last)
    rows = [fix_values(one) for one in found]
    return answer(rows, fixes_text(found, columns()), as_json=as_json)
