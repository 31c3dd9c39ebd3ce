"""`leftoff audit`."""

from leftoff import codec
from leftoff.api import summarize
from leftoff.cli.group import complain
from leftoff.cli.output import deliver
from leftoff.cli.params import command, path_of
from leftoff.handover.audit_table import as_dict, lost_table, rework_table
from leftoff.handover.wording import plural
from leftoff.live.compactions import audit_compactions, rework_after_compactions
from leftoff.sources.open import session_paths


@command("audit")
def audit(session: str, *, as_json: bool, words: bool, lost: int) -> int:
    """Show what each compaction of SESSION cost: what its summary left out, and what the next
    30 calls had to read, run, search or ask again.

    Example: leftoff audit latest

    A repeated call counts only if nothing that it looks at can have changed in between. Exit
    1: no compaction with a readable summary."""
    path, _ = session_paths(path_of(session))
    # The two audits read the recording in different ways, and each takes a pass of its own.
    by_words = list(audit_compactions(path)) if words else []
    again = [] if words else list(rework_after_compactions(path))
    audited = len(by_words) + len(again)
    # A compaction whose summary cannot be read has still taken place.
    counted = summarize(path, alone=True).context.compactions
    compactions = max(audited, len(counted))
    if as_json:
        value = as_dict(path, compactions, lost=by_words if words else None, rework=again)
        deliver(codec.dumps(value, indent=2))
    elif audited:
        table = lost_table(by_words, listed=lost) if words else rework_table(again, listed=lost)
        deliver(table)
    unread = compactions - audited
    if unread:
        complain(f"{plural(unread, 'compaction')} without a summary that can be read")
    if not audited:
        if not as_json and not unread:
            complain("there is no compaction in this session")
        return 1
    return 0
