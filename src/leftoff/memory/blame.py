"""Which session wrote a line: the edits that the index holds, replayed over a file of today."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff.errors import SourceError, UsageError
from leftoff.memory.index import opened
from leftoff.memory.search import EDITS, ENTRIES, Hit
from leftoff.text.line_hashes import line_hash, unpacked_hashes

MIN_LETTERS = 3
"""Letters and digits of a line that says by itself where it comes from: a brace alone belongs
to the edit that wrote the lines beside it. Chosen by hand."""

MAX_DECISIONS = 3
"""Decisions of the turn that are given with a line. Chosen by hand."""


ASKED = ("request", "constraint", "correction")
"""Kinds of entries that a turn begins with."""


class Origin(Struct, frozen=True):
    """Where lines of a file come from.

    Attributes:
        first, last: the lines, from 1.
        edit: the edit that wrote them; None if no recorded session did.
        request: the person's message that it answers.
        decisions: of the turn, the agent's and the person's.
        commit: of the session after the edit.
    """

    first: int
    last: int
    edit: Hit | None = None
    request: Hit | None = None
    decisions: tuple[Hit, ...] = ()
    commit: Hit | None = None


class _Edit(Struct, frozen=True):
    id: int
    session: int
    message: int
    whole: bool
    added: array[int]
    removed: array[int]


def blame(index: Path, file: Path, lines: tuple[int, int] | None = None) -> list[Origin]:
    """The origins of the lines of a file as it is now, in order.

    Args:
        index: path of the index.
        file: in the working tree.
        lines: the first and last line that are asked for, from 1; all if None.

    Raises:
        SourceError: there is no index, or the file cannot be read.
        UsageError: the file has no such line.
    """
    try:
        text = file.read_text("utf-8", errors="replace")
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror}") from error
    return origins(index, str(file.absolute()), text.splitlines(), lines)


def origins(
    index: Path, path: str, text: Sequence[str], lines: tuple[int, int] | None = None
) -> list[Origin]:
    """`blame` of a file whose lines are given."""
    first, last = lines or (1, len(text))
    if not 1 <= first <= last <= max(1, len(text)):
        raise UsageError(f"{path}: has {len(text)} lines, not {last}")
    with opened(index) as db:
        writers = _writers(text, _edits_of(db, path))[first - 1 : last]
        return _origins(db, writers, first)


def _edits_of(db: sqlite3.Connection, path: str) -> list[_Edit]:
    """The edits of a file, through its renames, the oldest first."""
    rows: dict[int, tuple[Any, ...]] = {}
    names, done = [path], set[str]()
    while names:
        name = names.pop()
        if name in done:
            continue
        done.add(name)
        for row in db.execute(
            "SELECT coalesce(s.ended, ''), d.session, d.id, d.message, d.whole, d.added,"
            " d.removed"
            " FROM edits d JOIN sessions s ON s.id = d.session WHERE d.path = ?"
            " OR d.path = substr(?, length(s.project) + 2)"
            " AND substr(?, 1, length(s.project) + 1) = s.project || '/'",
            (name, name, name),
        ):
            rows[row[2]] = row
        names += _earlier_names(db, name)
    return [
        _Edit(
            id_, session, message, bool(whole), unpacked_hashes(added), unpacked_hashes(removed)
        )
        for _, session, id_, message, whole, added, removed in sorted(rows.values())
    ]


def _earlier_names(db: sqlite3.Connection, path: str) -> list[str]:
    """The paths that a file had before sessions renamed it."""
    tail = path.rpartition("/")[2]
    found = []
    for project, now, note in db.execute(
        "SELECT coalesce(s.project, ''), e.path, e.note FROM entries e"
        " JOIN sessions s ON s.id = e.session"
        " WHERE e.kind = 'file' AND e.note LIKE '% from %' AND e.path LIKE ?",
        (f"%{tail}",),
    ):
        if _joined(project, now) == path:
            found.append(_joined(project, note.partition(" from ")[2].partition(" +")[0]))
    return found


def _joined(project: str, path: str) -> str:
    return path if path.startswith("/") or not project else f"{project}/{path}"


def _writers(lines: Sequence[str], edits: Sequence[_Edit]) -> list[_Edit | None]:
    """The edit that wrote each line; None for lines that no recorded edit wrote."""
    written: dict[int, _Edit] = {}
    for edit in edits:
        if edit.whole:
            # A line that stood there before belongs to the edit that wrote it first.
            written = {h: written.get(h, edit) for h in edit.added}
            continue
        for h in edit.removed:
            if h not in edit.added:
                written.pop(h, None)
        written.update(dict.fromkeys(edit.added, edit))
    found = [written.get(line_hash(line)) for line in lines]
    plain = [sum(map(str.isalnum, line)) >= MIN_LETTERS for line in lines]
    for at, sure in enumerate(plain):
        if not sure:
            before = next((i for i in range(at - 1, -1, -1) if plain[i]), None)
            after = next((i for i in range(at + 1, len(lines)) if plain[i]), None)
            beside = [found[i] for i in (before, after) if i is not None]
            found[at] = beside[0] if beside and beside[0] == beside[-1] else None
    return found


def _origins(
    db: sqlite3.Connection, writers: Sequence[_Edit | None], first: int
) -> list[Origin]:
    found: list[Origin] = []
    at = 0
    while at < len(writers):
        end = at
        while end + 1 < len(writers) and writers[end + 1] == writers[at]:
            end += 1
        found.append(_origin(db, writers[at], first + at, first + end))
        at = end + 1
    return found


def _origin(db: sqlite3.Connection, edit: _Edit | None, first: int, last: int) -> Origin:
    if edit is None:
        return Origin(first, last)
    row = db.execute(f"{EDITS} WHERE e.id = ?", (edit.id,)).fetchone()
    written = Hit(*row)
    if edit.message < 0:
        return Origin(first, last, written)  # by a subagent, whose messages have other numbers
    rows = db.execute(
        f"{ENTRIES.format('')} WHERE e.session = ?"
        " AND e.kind IN ('request', 'constraint', 'correction', 'decision', 'git')"
        " ORDER BY e.message",
        (edit.session,),
    )
    around = [Hit(*row) for row in rows]
    asked = [h for h in around if h.kind in ASKED and h.speaker == "person"]
    request = max((h for h in asked if 0 <= h.message <= edit.message), default=None, key=_at)
    begin = request.message if request is not None else 0
    decided = [h for h in around if h.kind == "decision" and begin <= h.message <= edit.message]
    commits = [h for h in around if h.kind == "git" and h.text.startswith("commit ")]
    commit = min((h for h in commits if h.message >= edit.message), default=None, key=_at)
    return Origin(first, last, written, request, tuple(decided[-MAX_DECISIONS:]), commit)


def _at(hit: Hit) -> int:
    return hit.message
