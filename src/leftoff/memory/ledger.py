"""What holds in a project and what was left open in it, over all its sessions."""

from pathlib import Path
from typing import TypeAlias

from leftoff.handover.ledger import HOLDS, MIN_TERMS, REPEATED, standing
from leftoff.handover.ledger import Standing as StandingOf
from leftoff.handover.recall import terms_of
from leftoff.memory.index import opened
from leftoff.memory.search import ALL, Filters, Hit, entries

# Share of an open item's terms that a later request, commit or decision has to hold. Chosen by
# hand.
TAKEN_UP = 0.5

Standing: TypeAlias = StandingOf[Hit]


def ledger(index: Path, filters: Filters = ALL) -> list[Standing]:
    """The standing constraints and decisions of the person, the latest first; those that ended
    last. `filters`: which sessions; its kinds and speakers are not used. `SourceError` where
    there is no index."""
    kinds = ", ".join(f"'{kind}'" for kind in (*HOLDS, REPEATED))
    which = f"e.speaker = 'person' AND e.kind IN ({kinds})"
    return standing(_entries(index, filters, which))


def never_taken_up(index: Path, filters: Filters = ALL) -> list[Hit]:
    """What sessions left open and no later session of the project took up, the latest first."""
    kinds = "'open', 'request', 'constraint', 'correction', 'decision', 'git'"
    later: list[set[str]] = []
    session, own = "", list[set[str]]()
    open_items = []
    for hit in _entries(index, filters, f"e.kind IN ({kinds})"):
        if hit.recording != session:
            later += own
            session, own = hit.recording, []
        terms = set(terms_of(hit.text))
        if hit.kind != "open":
            own.append(terms)
        elif len(terms) >= MIN_TERMS and not any(
            len(terms & other) >= TAKEN_UP * len(terms) for other in later
        ):
            open_items.append(hit)
    return open_items


def _entries(index: Path, filters: Filters, which: str) -> list[Hit]:
    """The entries that a condition chooses, those of the latest session first, each once."""
    condition, values = filters.condition()
    with opened(index) as db:
        found = sorted(entries(db, f"{which}{condition}", values), key=lambda h: -h.message)
    found.sort(key=lambda h: (h.ended, h.recording), reverse=True)
    # Two recordings with one id are copies of one session.
    once = {(h.session or h.recording, h.kind, h.text): h for h in reversed(found)}
    return [h for h in found if once[h.session or h.recording, h.kind, h.text] is h]
