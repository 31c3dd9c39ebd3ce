"""Which session wrote a line: the edits that the index holds, replayed over a file of today."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from os import PathLike
from pathlib import Path
from posixpath import join
from typing import TypeAlias

from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.memory.index import opened
from leftoff.memory.search import Hit, edits, entries
from leftoff.sources.open import open_regular
from leftoff.text.line_hashes import Replaced, line_hash, unpacked_hashes

# Letters and digits of a line that says by itself where it comes from: a brace alone belongs to
# the edit that wrote the lines beside it. Chosen by hand.
MIN_LETTERS = 3
# Decisions of the turn that are given with a line. Chosen by hand.
MAX_DECISIONS = 3


# The edits of subagents, whose message is -1, come after those of their session.
_LAST = 1 << 40
# Kinds of entries that a turn begins with.
ASKED = ("request", "constraint", "correction")


class Origin(Struct, frozen=True):
    """Where lines of a file come from.

    Attributes:
        first, last: the lines, from 1.
        edit: the edit that wrote them; None if no recorded session did.
        request: the person's message that it answers.
        decisions: of the turn, the agent's and the person's.
        commit: of the session after the edit."""

    first: int
    last: int
    edit: Hit | None = None
    request: Hit | None = None
    decisions: tuple[Hit, ...] = ()
    commit: Hit | None = None


class _Edit(Struct, frozen=True):
    hit: Hit
    session: int
    whole: bool
    replaced: tuple[Replaced, ...]


def blame(
    index: Path, file: str | PathLike[str], lines: tuple[int, int] | None = None
) -> list[Origin]:
    """The origins of the lines of a file of the working tree as it is now, in order; of those
    from the first to the last of `lines`, from 1, or of all.

    Raises:
        SourceError: there is no index, or the file cannot be read.
        UsageError: the file has no such line."""
    with open_regular(file, any_encoding=True) as opened_file:
        text = opened_file.read().decode("utf-8", "replace")
    return origins(index, str(Path(file).absolute()), text.splitlines(), lines)


def origins(
    index: Path, path: str, text: Sequence[str], lines: tuple[int, int] | None = None
) -> list[Origin]:
    """`blame` of a file whose lines are given."""
    first, last = lines or (1, len(text))
    if not 1 <= first <= last <= max(1, len(text)):
        raise UsageError(f"{path}: has {len(text)} lines, not {last}")
    with opened(index) as db:
        writers = _writers(text, _edits_of(db, path))[first - 1 : last]
        found: list[Origin] = []
        for _, run in groupby(writers, key=id):
            lines_of_one = list(run)
            last = first + len(lines_of_one) - 1
            found.append(_origin(db, lines_of_one[0], first, last))
            first = last + 1
        return found


def _edits_of(db: sqlite3.Connection, path: str) -> list[_Edit]:
    """The edits of a file, through its renames, the oldest first."""
    found: list[_Edit] = []
    renames = db.execute(
        "SELECT coalesce(s.project, ''), r.path, r.before FROM renames r"
        " JOIN sessions s ON s.id = r.session"
    ).fetchall()
    # The paths that the file had before sessions renamed it are added while they are read.
    names = [path]
    for name in names:
        which = (
            "e.path = ? OR e.path = substr(?, length(s.project) + 2)"
            " AND substr(?, 1, length(s.project) + 1) = s.project || '/' ORDER BY e.id"
        )
        written = edits(db, which, (name, name, name))
        found += [_Edit(hit, session, edit[1], edit[2]) for session, hit, edit in written]
        earlier = [join(p, was) for p, now, was in renames if join(p, now) == name]
        names += [one for one in dict.fromkeys(earlier) if one not in names]
    return sorted(found, key=lambda e: (e.hit.ended, e.session, e.hit.message % _LAST))


def _writers(lines: Sequence[str], edits: Sequence[_Edit]) -> list[_Edit | None]:
    """The edit that wrote each line; None for lines that no recorded edit wrote."""
    places = [at for at, line in enumerate(lines) if line.strip()]
    now = [line_hash(lines[at]) for at in places]
    found: list[_Edit | None] = [None] * len(lines)
    for at, edit in zip(places, _aligned(_replayed(edits), now), strict=True):
        found[at] = edit
    # A brace or a blank line belongs to the edit that wrote the lines on both sides of it.
    plain = [sum(map(str.isalnum, line)) >= MIN_LETTERS for line in lines]
    for at, sure in enumerate(plain):
        if not sure:
            before = next((i for i in range(at - 1, -1, -1) if plain[i]), None)
            after = next((i for i in range(at + 1, len(lines)) if plain[i]), None)
            beside = [found[i] for i in (before, after) if i is not None]
            if beside and beside[0] == beside[-1]:
                found[at] = beside[0]
            elif not lines[at].strip():
                found[at] = beside[0] if beside else None
    return found


# A file as far as it is known: the hash of each line that is not blank, and what wrote it.
_Written: TypeAlias = list[tuple[int, "_Edit | None"]]


def _replayed(edits: Sequence[_Edit]) -> _Written:
    """The file after all edits. Where the place of one cannot be found, its lines stand at the
    end: they are recognised by their hashes."""
    file: _Written = []
    for edit in edits:
        for replaced in edit.replaced:
            old, new = unpacked_hashes(replaced.old), unpacked_hashes(replaced.new)
            if edit.whole:
                # A line that stood there before belongs to the edit that wrote it.
                file = list(zip(new, _aligned(file, new, edit), strict=True))
                continue
            written: _Written = [(h, edit) for h in new]
            at = _find(file, old, replaced.before)
            if at is None:
                old_lines = set(old)
                file = [pair for pair in file if pair[0] not in old_lines] if old else file
                file += written
            else:
                same = zip(new, _aligned(file[at : at + len(old)], new, edit), strict=True)
                file[at : at + len(old)] = same
    return file


def _find(file: _Written, old: Sequence[int], before: int) -> int | None:
    """Where the lines `old` stand, after the line `before` if that is known."""
    if not old:
        places = [at + 1 for at, (h, _) in enumerate(file) if h == before] if before else []
        return places[0] if len(places) == 1 else None
    first, size = old[0], len(old)
    wanted = list(old)
    places = [
        at
        for at, (h, _) in enumerate(file)
        if h == first and [x for x, _ in file[at : at + size]] == wanted
    ]
    if len(places) > 1 and before:
        places = [at for at in places if at and file[at - 1][0] == before] or places
    return places[0] if places else None


def _aligned(
    file: _Written, now: Sequence[int], other: _Edit | None = None
) -> list[_Edit | None]:
    """Who wrote each line of `now`, given the file before; `other` for new lines. Lines that
    moved keep their writer."""
    found: list[_Edit | None] = [other] * len(now)
    known = [h for h, _ in file]
    blocks = SequenceMatcher(None, known, list(now), autojunk=False).get_matching_blocks()
    placed = {b.b + step: b.a + step for b in blocks for step in range(b.size)}
    for at, before in placed.items():
        found[at] = file[before][1]
    if other is None:
        spare = defaultdict[int, list[_Edit | None]](list)
        for before in sorted({*range(len(file))} - {*placed.values()}):
            spare[known[before]].append(file[before][1])
        for at, h in enumerate(now):
            if at not in placed and spare[h]:
                found[at] = spare[h].pop()
    return found


def _origin(db: sqlite3.Connection, edit: _Edit | None, first: int, last: int) -> Origin:
    if edit is None:
        return Origin(first, last)
    written = edit.hit
    if written.message < 0:
        return Origin(first, last, written)  # by a subagent, whose messages have other numbers
    kinds = "'request', 'constraint', 'correction', 'decision', 'git'"
    around = list(entries(db, f"e.session = ? AND e.kind IN ({kinds})", (edit.session,)))
    around.sort(key=lambda h: h.message)
    before = [h for h in around if 0 <= h.message <= written.message]
    asked = [h for h in before if h.kind in ASKED and h.speaker == "person"]
    # Of several in one message the first.
    request = next((h for h in asked if h.message == asked[-1].message), None)
    begin = request.message if request is not None else 0
    decided = [h for h in before if h.kind == "decision" and begin <= h.message]
    after = (h for h in around if h.message >= written.message and h.kind == "git")
    commit = next((h for h in after if h.text.startswith("commit ")), None)
    return Origin(first, last, written, request, tuple(decided[-MAX_DECISIONS:]), commit)
