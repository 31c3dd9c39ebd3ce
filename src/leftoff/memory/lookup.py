"""What the sessions of a project may have to say about a prompt, from the index, for the hooks.

A client waits for a hook, so nothing of the engine may be imported here. `handover.recall`
chooses among the lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff import lazy_re as re
from leftoff.handover import recall
from leftoff.handover.ledger import ENDED
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
CANDIDATES = 30
# Code points of a text in a line: `handover.lines.DECISION`, without importing it.
MAX_LINE = 240
# Seconds to wait for a process that writes the index. Chosen by hand.
TIMEOUT = 0.05

_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+"
)
# Labels and weights of lines by kind: what settles something weighs more. What was read or left
# open is not given: a later session may have changed it.
_LABELS = {
    "decision": ("- Likely decided: ", 1.2),
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


def candidates(
    index: Path, prompt: str, project: str, own: str, compacted: int = -1
) -> tuple[list[recall.Line], recall.Frequencies]:
    """The lines of a project's sessions that may fit a prompt, and how rare the prompt's terms
    are; none if it cannot be known.

    Args:
        project: its folder; sessions below it count.
        own: the session of the prompt.
        compacted: the message of that session with which its last compaction ends, -1 for none:
            what stands after it is in the agent's context."""
    terms = sorted(set(recall.terms_of(recall.cut_prompt(prompt))))
    if 0 < len(terms) <= MAX_TERMS and index.is_file():
        import sqlite3

        address = f"{index.absolute().as_uri()}?mode=ro"
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(address, uri=True, timeout=TIMEOUT)) as db,
        ):
            return _candidates(db, terms, project.rstrip("/"), own, compacted)
    return [], recall.Frequencies(0, {})


def _candidates(
    db: sqlite3.Connection, terms: list[str], project: str, own: str, compacted: int
) -> tuple[list[recall.Line], recall.Frequencies]:
    sessions: dict[int, str] = dict(
        db.execute(
            "SELECT id, session FROM sessions"
            " WHERE (project = ? OR project > ? AND project < ?) AND (session != ? OR ?)"
            " ORDER BY ended DESC LIMIT ?",
            (project, f"{project}/", f"{project}0", own, compacted >= 0, MAX_SESSIONS),
        )
    )
    marks = ", ".join("?" * len(sessions))
    query = f"SELECT id, session, kind, speaker, count FROM blocks WHERE session IN ({marks})"  # noqa: S608
    blocks = {row[0]: row[1:] for row in db.execute(query, [*sessions])}
    if not blocks:
        return [], recall.Frequencies(0, {})
    first, last = min(blocks) * PLACES, max(blocks) * PLACES + PLACES
    total, counts = sum(b[-1] for b in blocks.values()), dict[str, int]()
    weights: dict[int, float] = {}
    query = "SELECT rowid FROM terms WHERE terms MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?"
    for term in terms:
        found = db.execute(query, (quoted(term), first, last, MAX_POSTINGS)).fetchall()
        here = [n for (n,) in found if n // PLACES in blocks]
        counts[term] = len(here)
        if len(found) == MAX_POSTINGS:  # there are more: it is common
            counts[term] = max(len(here), int(recall.MAX_SHARE * total) + 4)
        if recall.is_rare(counts[term], total):
            weight = recall.inverse_frequency(len(here), total)
            for number in here:
                weights[number] = weights.get(number, 0) + weight
    lines = []
    for number in sorted(weights, key=lambda n: (-weights[n], -n))[:CANDIDATES]:
        block, place = divmod(number, PLACES)
        query = "SELECT data FROM blocks WHERE id = ?"
        entry = unpacked(db.execute(query, (block,)).fetchone()[0])[place]
        if entry is None:
            continue
        text, note, _, message, _ = entry
        session, kind, speaker, _ = blocks[block]
        line, weight = shown(kind, speaker, text, note, message)
        # The rest stands in the agent's context.
        if line and (sessions[session] != own or message < compacted):
            lines.append(recall.Line(sessions[session], line, message, weight))
    return lines, recall.Frequencies(total, counts)


def shown(kind: str, speaker: str, text: str, note: str, message: int) -> tuple[str, float]:
    """The line of an entry and its weight; "" for what is not given."""
    if speaker == "person" and kind != "open" and note not in ENDED:
        label, weight = recall.PERSON, 1.0
    elif kind in _LABELS and message >= 0 and note not in ENDED:
        label, weight = _LABELS[kind]
    else:
        return "", 0.0
    if (kind == "error" and not note.startswith("fixed")) or note.startswith("read"):
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
