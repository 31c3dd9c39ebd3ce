"""How a failure like this one was mended before."""

import sqlite3
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz import fuzz

from leftoff import lazy_re as re
from leftoff.errors import UsageError
from leftoff.handover.recall import terms_of
from leftoff.memory.index import opened
from leftoff.memory.search import ALL, Filters, Hit, edits, entries, ranked

# Failures by BM25 that are compared word by word. Chosen by hand.
CANDIDATES = 60
# Per cent of likeness (rapidfuzz `token_set_ratio` of the normalised texts) of two failures
# that may have the same cause. Chosen by hand; docs/memory.md has the measure.
MIN_LIKENESS = 55.0
# Per cent by which a failure may be less alike than the best one. Chosen by hand.
SPREAD = 20.0
# Edits that are given with a fix, the first ones. Chosen by hand.
MAX_EDITS = 5
# Code points of an error that are looked at: its end, where most programs say what failed.
MAX_QUERY = 4_000

_VARIABLE = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?(?:[\\/][\w.@+-]+)+[\\/]?)|\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{7,40}\b|\d+"
)


class Fix(Struct, frozen=True):
    """An earlier failure, what mended it, and what was edited in between.

    Attributes:
        likeness: to the failure that was asked for, 0 to 100.
        edits: of the files that were changed between the failure and the clean run."""

    failure: Hit
    likeness: float
    edits: tuple[Hit, ...] = ()


def normalized_error(text: str) -> str:
    """An error without what differs from run to run: folders, numbers, hashes."""
    found = _VARIABLE.sub(
        lambda m: re.split(r"[\\/]", m["path"].rstrip("\\/"))[-1] if m["path"] else "0", text
    )
    return " ".join(found.split())


def last_failure(index: Path, filters: Filters) -> Hit | None:
    """The last failure that is recorded; None if there is none. `SourceError` where there is no
    index."""
    condition, values = filters.condition()
    with opened(index) as db:
        failures = entries(db, f"e.kind = 'error'{condition}", values)
        return max(failures, default=None, key=lambda h: (h.ended, h.recording, h.message))


def fixes(
    index: Path, error: str, filters: Filters = ALL, *, limit: int = 5, but: Hit | None = None
) -> list[Fix]:
    """Earlier failures like `error`, those that were mended first.

    Args:
        error: the message, or the whole output of a command.
        but: the failure itself, where it is recorded.

    Raises:
        SourceError: there is no index.
        UsageError: the error is empty."""
    shown = normalized_error(error[-MAX_QUERY:])
    terms = list(dict.fromkeys(terms_of(shown)))
    if not terms:
        raise UsageError("no error is given: as an argument, or on standard input")
    filters = replace(filters, kinds=("error",))
    with opened(index) as db:
        found: list[Fix] = []
        for hit in ranked(db, terms, filters, CANDIDATES):
            other = normalized_error(hit.text.partition(": ")[2] or hit.text)
            likeness = fuzz.token_set_ratio(shown.casefold(), other.casefold())
            itself = but and (hit.recording, hit.message) == (but.recording, but.message)
            if likeness >= MIN_LIKENESS and not itself:
                found.append(Fix(hit, likeness))
        least = max((f.likeness for f in found), default=0.0) - SPREAD
        found = [f for f in found if f.likeness >= least]
        found.sort(key=lambda f: (not f.failure.note, -f.likeness, -f.failure.score))
        return [replace(f, edits=_edits_between(db, f.failure)) for f in found[:limit]]


def _edits_between(db: sqlite3.Connection, failure: Hit) -> tuple[Hit, ...]:
    made = [
        hit
        for _, hit, _ in edits(db, "s.path = ?", (failure.recording,))
        if failure.message < hit.message < failure.until
    ]
    return tuple(sorted(made, key=lambda h: h.message)[:MAX_EDITS])
