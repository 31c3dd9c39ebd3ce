"""`leftoff audit`."""

import click

from leftoff import codec
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import options, path_of
from leftoff.handover.audit_table import as_dict, rework_table
from leftoff.handover.wording import plural
from leftoff.live.compactions import compaction_count, rework_after_compactions
from leftoff.sources.open import session_paths


@click.command(params=options("audit"))
def audit(session: str, *, as_json: bool) -> int:
    """Show what each compaction of SESSION cost: what its summary left out, and which files
    the next 30 calls had to read again.

    Example: leftoff audit latest

    A file counts only if it cannot have changed in between. Exit 1: no compaction with a
    readable summary."""
    path, _ = session_paths(path_of(session))
    audits = list(rework_after_compactions(path))
    # A compaction whose summary cannot be read has still taken place.
    compactions = max(len(audits), compaction_count(path))
    if as_json:
        deliver(codec.dumps(as_dict(path, compactions, audits), indent=2))
    elif audits:
        deliver(rework_table(audits))
    unread = compactions - len(audits)
    if unread:
        complain(f"{plural(unread, 'compaction')} without a summary that can be read")
    if not audits:
        if not as_json and not unread:
            complain("there is no compaction in this session")
        return 1
    return 0
