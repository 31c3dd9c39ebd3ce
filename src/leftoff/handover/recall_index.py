"""The index in which a prompt's hook finds what a session has to say: see `recall`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from leftoff import lazy_re as re
from leftoff.handover.facts import Handover
from leftoff.handover.file_lines import file_notes
from leftoff.handover.lines import DECISION, MIDDLE, words_of
from leftoff.handover.recall import MAX_ENTRIES, PERSON, SCHEMA, Entry, terms_of
from leftoff.handover.wording import brief, inline
from leftoff.tokens import max_tokens

# An announcement of the next step, without a reason: what came of it stands elsewhere.
_MOVE = re.compile(
    r"(?:(?:now|next|first|then|ok(?:ay)?|good|great|alright|perfect),? )*"
    r"(?:let me|let['’]s|i['’]ll|i will|i['’]m going to|i am going to)\b"
    r"(?!.*\b(?:because|since|so that|instead|rather)\b)",
    re.IGNORECASE | re.DOTALL,
)


def index_of(handover: Handover, session: str, *, compacted: int = -1) -> dict[str, Any]:
    """The index of a session's facts, as JSON values.

    Args:
        handover: redacted.
        session: its id.
        compacted: index of the message with which its last compaction ends, -1 for none: what
            stands after it is in the agent's context and is not recalled within the session.
    """
    entries: list[Entry] = []
    postings: dict[str, list[int]] = {}
    known: set[str] = set()
    for line, message, weight in _lines_of(handover):
        if line in known or len(entries) >= MAX_ENTRIES:
            continue
        known.add(line)
        counts = Counter(terms_of(line))
        for term, count in counts.items():
            postings.setdefault(term, []).extend((len(entries), count))
        entries.append((line, max_tokens(line + "\n"), message, weight, counts.total()))
    return {
        "schema": SCHEMA,
        "session": session,
        "compacted": compacted,
        "entries": entries,
        "terms": postings,
    }


def _lines_of(h: Handover) -> Iterable[tuple[str, int, float]]:
    """Line, message and weight of every fact; what matters most first."""
    said = [f for f in (h.last_message, h.goal) if f]
    said += [*h.constraints, *h.said, *h.task]
    for label, facts, limit, weight in (
        (PERSON, said, MIDDLE, 1.0),
        ("- Decided: ", h.decisions, DECISION, 1.2),
        ("- Failed, then fixed: ", h.lessons, DECISION, 1.2),
        ("- Left open: ", (*h.to_dos, *h.open_items), DECISION, 1.1),
        ("- Check: ", h.checks, DECISION, 1.0),
    ):
        for fact in facts:
            yield label + words_of(fact, limit), fact.message, weight
    for file in h.files[: MAX_ENTRIES // 4]:
        symbols = ", ".join(brief(s, 60) for s in file.symbols[:5])
        notes = file_notes(file)
        line = f"- Changed: {inline(file.path)} ({notes}){f': {symbols}' if symbols else ''}"
        yield line, file.last_message, 1.0
    for label, facts, limit, weight in (
        ("- Ran: ", h.commands, DECISION, 1.0),
        ("- Found out: ", h.findings, DECISION, 1.0),
        ("- Said: ", [f for f in h.sentences if not _MOVE.match(f.text)], DECISION, 1.0),
    ):
        for fact in facts:
            yield label + words_of(fact, limit), fact.message, weight
