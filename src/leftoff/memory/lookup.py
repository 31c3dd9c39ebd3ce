"""What earlier sessions of a project say about a prompt, from the index, for the hooks.

A client waits for a hook, so nothing of the engine may be imported here. The lines are those of
`handover.recall`, chosen by its rules; only how rare a term is comes from the whole project.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leftoff import lazy_re as re
from leftoff.codec import JsonObject
from leftoff.handover.ledger import ENDED
from leftoff.handover.recall import (
    MAX_SHARE,
    PERSON,
    SCHEMA,
    Frequencies,
    cut_prompt,
    inverse_frequency,
    is_rare,
    loaded_index,
    terms_of,
)
from leftoff.memory.blocks import PLACES, unpacked

if TYPE_CHECKING:
    import sqlite3

NAME = "memory.sqlite3"
# Different terms of a prompt that is looked up: no line holds three tenths of a longer one.
# Chosen by hand.
MAX_TERMS = 60
# Last sessions of the project that are looked at. From the time of a hook: docs/hooks.md.
MAX_SESSIONS = 30
# Entries with a term from which on it is common: about `MAX_SHARE` of so many sessions.
MAX_POSTINGS = 500
# Entries with the most rare terms whose texts are read. Chosen by hand.
CANDIDATES = 15
# Code points of a text in a line: `handover.lines.DECISION`, without importing it.
MAX_LINE = 240
# Seconds to wait for a process that writes the index. Chosen by hand.
TIMEOUT = 0.05

_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+"
)
# Labels and weights of lines by kind, as in `handover.recall_index`. What was read or left open
# is not given: a later session may have changed it.
_LABELS = {
    "decision": ("- Decided: ", 1.2),
    "error": ("- Failed, then fixed: ", 1.2),
    "check": ("- Check: ", 1.0),
    "git": ("- Git: ", 1.0),
    "file": ("- Changed: ", 1.0),
    "command": ("- Ran: ", 1.0),
    "finding": ("- Found out: ", 1.0),
    "words": ("- Said: ", 1.0),
}


def memory_path(environ: Mapping[str, str]) -> Path:
    """Where the index of this user is: `LEFTOFF_MEMORY`, else in the user's state folder."""
    if environ.get("LEFTOFF_MEMORY"):
        return Path(environ["LEFTOFF_MEMORY"]).expanduser()
    if os.name == "nt":
        from leftoff.settings import user_folder

        return user_folder(environ) / NAME
    state = environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "leftoff" / NAME


def project_indexes(
    index: Path, prompt: str, project: str, but: str
) -> tuple[list[Mapping[str, object]], Frequencies | None]:
    """The lines of a project's sessions that may fit a prompt, as small indexes of
    `handover.recall`, and how rare the prompt's terms are; ([], None) if it cannot be known.

    Args:
        project: its folder; sessions below it count.
        but: the session of the prompt itself.
    """
    terms = sorted(set(terms_of(cut_prompt(prompt))))
    if not 0 < len(terms) <= MAX_TERMS:
        return [], None
    import sqlite3

    try:
        db = sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro", uri=True, timeout=TIMEOUT)
        try:
            return _candidates(db, terms, project.rstrip("/"), but)
        finally:
            db.close()
    except sqlite3.Error:
        return [], None


def _candidates(
    db: sqlite3.Connection, terms: list[str], project: str, but: str
) -> tuple[list[Mapping[str, object]], Frequencies | None]:
    sessions: dict[int, str] = dict(
        db.execute(
            "SELECT id, session FROM sessions"
            " WHERE (project = ? OR project > ? AND project < ?) AND session != ?"
            " ORDER BY ended DESC LIMIT ?",
            (project, f"{project}/", f"{project}0", but, MAX_SESSIONS),
        )
    )
    marks = ", ".join("?" * len(sessions))
    query = f"SELECT id, session, kind, speaker, count FROM blocks WHERE session IN ({marks})"  # noqa: S608
    blocks = {row[0]: row[1:] for row in db.execute(query, [*sessions])}
    if not blocks:
        return [], None
    first, last = min(blocks) * PLACES, max(blocks) * PLACES + PLACES
    total, counts = sum(b[-1] for b in blocks.values()), dict[str, int]()
    weights: dict[int, float] = {}
    for term in terms:
        found = {
            n
            for (n,) in db.execute(
                "SELECT rowid FROM terms WHERE terms MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?",
                (quoted(term), first, last, MAX_POSTINGS),
            )
        }
        own = {n for n in found if n // PLACES in blocks}
        counts[term] = len(own)
        if len(found) == MAX_POSTINGS:  # there are more: it is common
            counts[term] = max(len(own), int(MAX_SHARE * total) + 4)
        if is_rare(counts[term], total):
            for number in own:
                weights[number] = weights.get(number, 0) + inverse_frequency(len(own), total)
    best = sorted(weights, key=lambda n: (-weights[n], -n))[:CANDIDATES]
    rows = []
    for number in best:
        block, place = divmod(number, PLACES)
        query = "SELECT data FROM blocks WHERE id = ?"
        entry = unpacked(db.execute(query, (block,)).fetchone()[0])[place]
        if entry is not None:
            text, note, _, message, _ = entry
            rows.append((*blocks[block][:3], text, note, message))
    return _indexes(sessions, rows, set(terms)), Frequencies(total, counts)


def _indexes(
    sessions: Mapping[int, str], rows: list[tuple[Any, ...]], wanted: set[str]
) -> list[Mapping[str, object]]:
    built: dict[int, JsonObject] = {}
    for session, kind, speaker, text, note, message in rows:
        line, weight = _line(kind, speaker, text, note, message)
        if not line:
            continue
        name = sessions[session]
        empty = {"schema": SCHEMA, "session": name, "compacted": -1, "entries": [], "terms": {}}
        one = built.setdefault(session, empty)
        terms = terms_of(line)
        for term, count in Counter(terms).items():
            if term in wanted:
                one["terms"].setdefault(term, []).extend((len(one["entries"]), count))
        cost = len(line.encode()) + 1  # in bytes: a token has at least one
        one["entries"].append((line, cost, message, weight, len(terms)))
    return [index for one in built.values() if (index := loaded_index(one)) is not None]


def _line(kind: str, speaker: str, text: str, note: str, message: int) -> tuple[str, float]:
    """The line of an entry and its weight; "" for what is not given."""
    if speaker == "person" and kind != "open" and note not in ENDED:
        label, weight = PERSON, 1.0
    elif kind in _LABELS and message >= 0 and note not in ENDED:
        label, weight = _LABELS[kind]
    else:
        return "", 0.0
    fixed = note.startswith(("fixed", "mended"))  # the second in indexes of version 0.1
    if (kind == "error" and not fixed) or note.startswith("read"):
        return "", 0.0
    head, _, rest = text.partition("\n")
    if kind == "file":
        symbols = rest.partition("\n")[0]
        text = f"{head} ({note})" + ("" if symbols[:1] in set("+-@ ") else f": {symbols}")
    elif kind in {"check", "error"} and note:
        text = f"{head} ({note}) {rest}"
    place = f" (#{message + 1})" if message >= 0 else ""
    return f"{label}{_inert(text)}{place}", weight


def _inert(text: str) -> str:
    """A redacted text on one short line that cannot close a block."""
    line = " ".join(_UNSAFE.sub(" ", text).split()).replace("`", "'").replace("<", "‹")
    return line if len(line) <= MAX_LINE else line[:MAX_LINE].rpartition(" ")[0] + "…"


def quoted(term: str) -> str:
    """A term as a string of an FTS5 query."""
    return '"' + term.replace('"', '""') + '"'
