"""`leftoff audit`."""

from __future__ import annotations

import click

from leftoff import api, codec
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import path_of, session_argument
from leftoff.handover.lost import audits_as_dict, audits_table
from leftoff.handover.wording import plural
from leftoff.live.compactions import audit_compactions
from leftoff.sources.open import session_paths


@click.command()
@session_argument()
@click.option("--json", "as_json", is_flag=True, help="Everything, uncut, as one JSON object.")
@click.option(
    "--lost",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="List at most so many lost points of each kind; 0 for the table alone.",
)
def audit(session: str, *, as_json: bool, lost: int) -> int:
    """What each compaction of SESSION lost: decisions, constraints, files, commands and errors
    that stood before it and are not in the summary that the recorder's own model wrote.

    Exit 1: there is no compaction whose summary can be read.
    """
    path, _ = session_paths(path_of(session))
    found = list(audit_compactions(path))
    compactions = max(len(found), len(api.summarize(path).context.compactions))
    if as_json:
        deliver(codec.dumps(audits_as_dict(path, found, compactions), indent=2).decode(), None)
    elif found:
        deliver(audits_table(found, lost=lost), None)
    unread = compactions - len(found)
    if unread:
        complain(f"{plural(unread, 'compaction')} without a summary that can be read")
    if not found:
        if not as_json and not unread:
            complain("there is no compaction in this session")
        return 1
    return 0
