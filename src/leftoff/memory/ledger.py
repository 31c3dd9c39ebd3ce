"""What holds in a project: the person's constraints and decisions over all its sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from leftoff.handover.recall import terms_of
from leftoff.memory.index import opened
from leftoff.memory.search import ENTRIES, Filters, Hit

SAME = 0.6
"""Share of the terms of the shorter of two statements that the other has to hold for them to be
one statement. Chosen by hand; docs/memory.md has the measure."""

MIN_TERMS = 3
"""Terms of a statement that says something by itself. Chosen by hand."""

HOLDS, REPEATED = ("constraint", "decision"), "correction"
"""Kinds of entries that hold beyond their session, and the kind that does only if it was said
in more than one."""

ENDED = ("reversed", "superseded", "withdrawn")
"""Notes of statements that do not hold any more."""

TAKEN_UP = 0.5
"""Share of an open item's terms that a later request, commit or decision has to hold. Chosen by
hand."""


class Standing(Struct):
    """A statement that holds, or held, in a project.

    Attributes:
        hit: where it was said last.
        times: in how many sessions it was said.
        ended: it was reversed, replaced or withdrawn.
        others: where else it was said, the latest first.
    """

    hit: Hit
    times: int = 1
    ended: bool = False
    others: list[Hit] = field(default_factory=list)


def ledger(index: Path, filters: Filters) -> list[Standing]:
    """The standing constraints and decisions of the person, the latest first; those that ended
    last.

    Args:
        filters: which sessions; its kinds and speakers are not used.

    Raises:
        SourceError: there is no index.
    """
    kinds = ", ".join(f"'{kind}'" for kind in (*HOLDS, REPEATED))
    found = _entries(index, filters, f"e.speaker = 'person' AND e.kind IN ({kinds})")
    groups: list[tuple[set[str], Standing]] = []
    by_term: dict[str, list[int]] = {}
    for hit in found:
        terms = set(terms_of(hit.text))
        if len(terms) < MIN_TERMS:
            continue
        same = _same(terms, groups, by_term)
        if same is not None:
            same.others.append(hit)
            continue
        for term in terms:
            by_term.setdefault(term, []).append(len(groups))
        groups.append((terms, Standing(hit, ended=hit.note in ENDED)))
    standing = [one for _, one in groups]
    for one in standing:
        one.times = len({h.recording for h in (one.hit, *one.others)})
    shown = [one for one in standing if one.hit.kind != REPEATED or one.times > 1]
    return sorted(shown, key=lambda one: one.ended)


def never_taken_up(index: Path, filters: Filters) -> list[Hit]:
    """What sessions left open and no later session of the project took up, the latest first."""
    found = _entries(
        index,
        filters,
        "e.kind IN ('open', 'request', 'constraint', 'correction', 'decision', 'git')",
    )
    later: list[set[str]] = []
    session, own = "", list[set[str]]()
    open_items = []
    for hit in found:  # the latest session first
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
    condition, values = filters.condition()
    with opened(index) as db:
        rows = db.execute(
            f"{ENTRIES.format('')} WHERE {which}{condition}"
            " ORDER BY s.ended DESC, s.id DESC, e.message DESC",
            values,
        )
        return [Hit(*row) for row in rows]


def _same(
    terms: set[str], groups: Sequence[tuple[set[str], Standing]], by_term: dict[str, list[int]]
) -> Standing | None:
    """The statement that says the same with about the same words."""
    near: Iterable[int] = sorted({n for term in terms for n in by_term.get(term, ())})
    for number in near:
        others, standing = groups[number]
        if len(terms & others) >= SAME * max(len(terms), len(others)):
            return standing
    return None
