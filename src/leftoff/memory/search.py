"""Search over the memory: places by BM25, with who said it and what became of it."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import product, takewhile
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz import fuzz, process

from leftoff.errors import UsageError
from leftoff.handover.entries import KINDS
from leftoff.handover.recall import terms_of
from leftoff.memory.blocks import PLACES, Stored, StoredEdit, unpacked, unpacked_edits
from leftoff.memory.index import opened
from leftoff.memory.lookup import quoted

# Best entries by BM25 that are ranked again. Chosen by hand.
CANDIDATES = 200
# Rarest terms of a query that are looked for. Chosen by hand.
MAX_TERMS = 24
# Entries with a term from which on it is common: it counts in the ranking, but is only looked
# for where the query has no rarer one. From the time of a query in an index of 10,000 sessions:
# docs/memory.md.
COMMON = 3_000
# What settles something comes before what mentions it; other kinds weigh 1. Chosen by hand; see
# docs/memory.md for the measure.
WEIGHTS = {
    "decision": 1.25,
    "constraint": 1.2,
    "correction": 1.1,
    "error": 1.15,
    "finding": 1.15,
    "check": 0.9,
    "command": 0.9,
    "words": 0.95,
    "seen": 0.8,
}
# How much more an entry counts that is about the very file of the query. Chosen by hand.
SAME_PATH = 2.0
# First code points in which two entries of one session are about the same call: commands are
# cut at different lengths. Chosen by hand.
SAME_CALL = 80
# Per cent of likeness (rapidfuzz `partial_ratio`) from which two texts of one message say the
# same. Chosen by hand.
SAME_WORDS = 90
# Weight of an entry that only says that a file was read. Chosen by hand.
ONLY_READ = 0.3

_PATH = re.compile(r"[^\s'\"`<>|;,(){}=]*(?:[\\/]|\w\.[a-z]\w{0,4}\b)[^\s'\"`<>|;,(){}:]*")

SPEAKERS = ("person", "agent", "tool")
# Per cent of likeness (rapidfuzz `ratio`) from which a known name is taken for a misspelt one.
# Chosen by hand.
MIN_LIKENESS = 75.0


class Hit(Struct, frozen=True):
    """An entry of the memory that fits a query.

    Attributes:
        kind, speaker, text, note, path: see `handover.entries.Entry`.
        message: index of the message from 0, -1 where none is known; `number` counts from 1.
        session: id of the session; `recording` is its file.
        project, branch, title, started, ended: of the session, "" where not recorded.
        score: the higher, the better it fits; comparable within one answer only.
        until: see `handover.entries.Entry`."""

    kind: str
    speaker: str
    text: str
    note: str
    path: str
    message: int
    session: str
    recording: str
    project: str
    branch: str
    title: str
    started: str
    ended: str
    until: int = -1
    score: float = 0.0

    @property
    def number(self) -> int:
        """Number of the message, from 1; 0 where none is known."""
        return self.message + 1


_OF_SESSION = (
    "coalesce(s.session, ''), s.path, coalesce(s.project, ''), coalesce(s.branch, ''),"
    " coalesce(s.title, ''), coalesce(s.started, ''), coalesce(s.ended, '')"
)
_ENTRIES = (
    f"SELECT e.kind, e.speaker, e.data, {_OF_SESSION} FROM blocks e"  # noqa: S608 - our own names
    " JOIN sessions s ON s.id = e.session WHERE"
)


def entries(db: sqlite3.Connection, which: str, values: Sequence[object] = ()) -> Iterator[Hit]:
    """The entries of the blocks `e` of sessions `s` that an SQL condition chooses."""
    for kind, speaker, data, *session in db.execute(f"{_ENTRIES} {which}", values):
        for entry in unpacked(data):
            if entry is not None:
                yield _hit(kind, speaker, entry, session)


def _hit(kind: str, speaker: str, entry: Stored, session: Sequence[Any]) -> Hit:
    text, note, path, message, until = entry
    values = (kind, speaker, text, note, path, message, *session, until)
    return Hit(*values)


def edits(
    db: sqlite3.Connection, which: str, values: Sequence[object] = ()
) -> Iterator[tuple[int, Hit, StoredEdit]]:
    """The edits of the rows `e` of sessions `s` that an SQL condition chooses: number of the
    session, the edit with its first changed lines, and what it replaced."""
    for number, path, data, *session in db.execute(
        f"SELECT e.session, e.path, e.data, {_OF_SESSION} FROM edits e"  # noqa: S608
        f" JOIN sessions s ON s.id = e.session WHERE {which}",
        values,
    ):
        for edit in unpacked_edits(data):
            hit = Hit("edit", "agent", edit[3], "", path, edit[0], *session)
            yield number, hit, edit


class Filters(Struct, frozen=True):
    """Which entries are meant; "" and () for all.

    Attributes:
        project: a folder: sessions that worked in it or below it.
        since, until: of the end of the session, ISO 8601 in UTC.
        speakers, kinds: any of these.
        without: a session's id that is left out."""

    project: str = ""
    since: str = ""
    until: str = ""
    speakers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    without: str = ""

    def check(self) -> None:
        """Checks the names; `UsageError` where there is no such kind or speaker."""
        named = (("kind", self.kinds, KINDS), ("speaker", self.speakers, SPEAKERS))
        for what, given, known in named:
            for name in given:
                if name not in known:
                    raise UsageError(f"{what} is one of {', '.join(known)}, not {name!r}")

    def condition(self) -> tuple[str, list[object]]:
        """SQL over the tables `blocks e` and `sessions s`, and its values."""
        inside = "s.id IN (SELECT id FROM sessions WHERE is_within(coalesce(project, ''), ?))"
        speakers, kinds = (", ".join("?" * len(n)) for n in (self.speakers, self.kinds))
        given: tuple[tuple[object, str, Sequence[object]], ...] = (
            (self.project, inside, (self.project,)),
            (self.since, "s.ended >= ?", (self.since,)),
            (self.until, "s.started < ?", (self.until,)),
            (speakers, f"e.speaker IN ({speakers})", self.speakers),
            (kinds, f"e.kind IN ({kinds})", self.kinds),
            (self.without, "s.session IS NOT ?", (self.without,)),
        )
        found = [(sql, values) for wanted, sql, values in given if wanted]
        where = "".join(f" AND {sql}" for sql, _ in found)
        return where, [v for _, values in found for v in values]


ALL = Filters()


def search(index: Path, query: str, filters: Filters = ALL, *, limit: int = 10) -> list[Hit]:
    """The entries that fit the words of a query best, best first; names that occur nowhere are
    replaced by those spelt almost like them.

    Raises:
        SourceError: there is no index.
        StateError: it is damaged.
        UsageError: no word to look for; unknown kind or speaker."""
    filters.check()
    terms = list(dict.fromkeys(terms_of(query)))
    if not terms:
        raise UsageError(f"no word to look for in {query!r}")
    with opened(index) as db:
        counts = occurrences(db, terms)
        unknown = [term for term in terms if not counts[term]]
        if 2 * len(unknown) >= len(terms):  # misspelt, or never mentioned
            terms = [t for t in terms if counts[t]] + nearest_terms(db, unknown)
        return ranked(db, terms, filters, limit, _paths(query))


def ranked(
    db: sqlite3.Connection,
    terms: Sequence[str],
    filters: Filters,
    limit: int,
    paths: Sequence[tuple[str, ...]] = (),
) -> list[Hit]:
    """The best entries for any of the terms, each text once; what is about one of the paths
    first."""
    condition, values = filters.condition()
    best: dict[str, Hit] = {}
    blocks: dict[int, list[Stored | None]] = {}
    for query in _queries(db, terms):
        rows = db.execute(
            f"SELECT terms.rowid, e.kind, e.speaker, {_OF_SESSION}, -bm25(terms) FROM terms"  # noqa: S608
            " JOIN blocks e ON e.id = terms.rowid / ? JOIN sessions s ON s.id = e.session"
            f" WHERE terms MATCH ?{condition} ORDER BY rank LIMIT ?",
            (PLACES, query, *values, CANDIDATES),
        ).fetchall()
        for number, kind, speaker, *session, score in rows:
            entry = _entry(db, blocks, number)
            hit = _hit(kind, speaker, entry, session)
            own = f"{hit.text} {hit.note} {hit.path}".casefold()
            # BM25 adds up: a text with most of the words comes before one that repeats one.
            share = sum(term in own for term in terms) / len(terms)
            score *= WEIGHTS.get(hit.kind, 1.0) * (0.5 + share) * _about(hit, paths)
            hit = replace(hit, score=score)
            known = best.get(hit.text, hit)
            # Of hits with the same text: the failure that was mended, the best, the latest.
            chosen = max(
                (hit, known),
                key=lambda h: (h.kind == "error" and bool(h.note), h.score, h.ended),
            )
            best[hit.text] = replace(chosen, score=max(score, known.score))
        if best:
            break
    ordered = sorted(best.values(), key=lambda hit: hit.text)
    ordered.sort(key=lambda hit: (hit.score, hit.ended), reverse=True)
    return _merged(ordered)[:limit]


def _merged(hits: Iterable[Hit]) -> list[Hit]:
    """The hits with one for each call, what it showed and what became of it, and without those
    whose words stand in a better one of the same message."""
    found: dict[object, Hit] = {}
    said: dict[tuple[str, int], list[Hit]] = {}
    for hit in hits:
        head = hit.text.partition("\n")[0]
        only_read = hit.kind == "file" and hit.note == "read"
        if not only_read and hit.kind not in {"seen", "command", "check"}:
            better = said.setdefault((hit.recording, hit.message), [])
            if hit.message < 0 or not any(_says(one, hit) for one in better):
                found[id(hit)] = hit
                better.append(hit)
            continue
        call = hit.recording, " ".join(head.split())[:SAME_CALL]
        known = found.setdefault(call, hit)
        if known.kind != "seen" and hit.kind == "seen":
            found[call] = replace(hit, note=known.note, score=known.score)
        elif known is not hit and not known.note:
            found[call] = replace(known, note=hit.note)
    return list(found.values())


def _says(better: Hit, hit: Hit) -> bool:
    """Whether a better hit says what a hit says, and is not just the name of a file in it. Of a
    longer hit that is the message alone, whose sentences are hits of their own."""
    if hit.kind != "file" and better.kind == "file":
        return False
    if len(hit.text) > len(better.text) and hit.kind != "request":
        return False
    return hit.text in better.text or fuzz.partial_ratio(hit.text, better.text) >= SAME_WORDS


def _entry(db: sqlite3.Connection, known: dict[int, list[Stored | None]], at: int) -> Stored:
    block, place = divmod(at, PLACES)
    if block not in known:
        query = "SELECT data FROM blocks WHERE id = ?"
        known[block] = unpacked(db.execute(query, (block,)).fetchone()[0])
    entry = known[block][place]
    if entry is None:
        raise sqlite3.DatabaseError("a word of an entry that does not exist")
    return entry


def _paths(text: str) -> list[tuple[str, ...]]:
    """The paths in a text by component, the last one first."""
    found = []
    for path in _PATH.findall(text.casefold()):
        parts = [part for part in re.split(r"[\\/]+", path) if part not in {"", "."}]
        if parts:
            found.append(tuple(reversed(parts)))
    return found


def _about(hit: Hit, paths: Sequence[tuple[str, ...]]) -> float:
    """How much more an entry counts that is about one of the paths, and less where it only says
    that a file was read."""
    head = hit.text.partition("\n")[0]
    weight = ONLY_READ if hit.kind == "file" and hit.note == "read" else 1.0
    if not paths or hit.kind not in {"file", "seen", "command", "check"}:
        return weight
    best = 0.0
    for subject, path in product(_paths(hit.path or head), paths):
        parts = zip(subject, path, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))
        best = max(best, same / min(len(subject), len(path)))
    return weight * (1 + SAME_PATH * best)


def _queries(db: sqlite3.Connection, terms: Sequence[str]) -> Iterator[str]:
    """FTS5 queries, the next for where those before gave nothing: any of the terms without
    the common ones, all of the common ones together, any of them."""
    counts = occurrences(db, terms)
    occurring = sorted((t for t in terms if counts[t]), key=lambda t: counts[t])
    rare = [quoted(t) for t in occurring if counts[t] < COMMON][:MAX_TERMS]
    common = [quoted(t) for t in occurring if counts[t] >= COMMON]
    if rare:
        yield " OR ".join(rare)
    if len(common) > 1:
        yield " AND ".join(common)
    if common:
        yield " OR ".join(common[:2])


def occurrences(db: sqlite3.Connection, terms: Iterable[str]) -> dict[str, int]:
    """In how many entries each term stands, counted up to `COMMON`."""
    query = "SELECT count(*) FROM (SELECT 1 FROM terms WHERE terms MATCH ? LIMIT ?)"
    return {t: db.execute(query, (quoted(t), COMMON)).fetchone()[0] for t in terms}


def nearest_terms(db: sqlite3.Connection, terms: Iterable[str]) -> list[str]:
    """Known terms that are spelt almost like terms that do not occur."""
    db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'terms', 'row')")
    known = [row[0] for row in db.execute("SELECT term FROM temp.vocabulary")]
    matches = (
        process.extractOne(term, known, scorer=fuzz.ratio, score_cutoff=MIN_LIKENESS)
        for term in terms
        if len(term) >= 4
    )
    return [match[0] for match in matches if match is not None]
