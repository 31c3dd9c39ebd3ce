"""How useful the memory of projects is, on recorded sessions that followed others of their
project.

    python -m benchmarks.memory FOLDER... [--json FILE] [--index FILE] [--only MEASURE]

rediscovery: of the reads, searches and repeated commands of a session, the share whose answer
    stands in the first three results for a query of the call's own words, in an index of the
    earlier sessions alone. An answer holds at least `MIN_NAMES` names of the call's output that
    the query does not hold. Beside it, with results of the same length: BM25 over the messages
    themselves, and the lines that hold most of the words, the latest first.
blame: lines of files rebuilt from recorded edits whose origin (session and turn) is right.
fix: failures that were mended and look like one of another session: share in which the first
    answer is such a failure.
repeated: constraints and corrections of a person that an earlier session held already: share
    that is given at the beginning of the later session, see `repeated`.

Intervals are bootstrapped over projects (95 %).
"""

from __future__ import annotations

import argparse
import difflib
import heapq
import json
import os
import random
import re
import shutil
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from benchmarks.memory.repeated import given_by_name
from leftoff import api
from leftoff.errors import LeftoffError
from leftoff.formats.vocabulary import READ_ONLY_KINDS, argument, kind_of
from leftoff.handover.recall import terms_of
from leftoff.memory.blame import origins
from leftoff.memory.blocks import PLACES, unpacked
from leftoff.memory.fixes import fixes, normalized_error
from leftoff.memory.index import opened, update
from leftoff.memory.lookup import quoted
from leftoff.memory.memory import Memory
from leftoff.memory.search import Filters, edits, entries
from leftoff.model import Text, ToolCall, ToolResult

SHOWN, LENGTH = 3, 400
"""Results that count, and code points of each."""

MIN_NAMES = 3
"""Names of the output that a result has to hold to answer."""

MAX_CALLS = 40
"""Calls of one session that are asked, evenly spread."""

_NAME = re.compile(r"(?=\w*[_\d]|\w*[a-z][A-Z])[A-Za-z_]\w{4,}|[\w-]+\.[a-z]{1,4}\b")
_TIMED = re.compile(r"__(\d{4}-\d\d-\d\d)_(\d\d)-(\d\d)")
_REPOSITORY = re.compile(r"(?P<repository>.+?__.+?)__")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--index", type=Path, help="an index of these folders")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "memory.sqlite3"
        if given.index:
            shutil.copyfile(given.index, index)
        else:
            update(index, [str(f) for f in given.folders], environ=os.environ)
        projects = _projects(index)
        found: dict[str, Any] = {
            "projects": len(projects),
            "sessions": sum(map(len, projects.values())),
            "bytes": index.stat().st_size,
        }
        measures: dict[str, Callable[[], dict[str, Any]]] = {
            "rediscovery": lambda: _rediscovery(index, projects),
            "blame": lambda: _blame(index),
            "fix": lambda: _fix(index),
            "repeated": lambda: _repeated(index, projects),
        }
        for name in given.only or measures:
            found[name] = measures[name]()
    text = json.dumps(found, indent=2)
    print(text)
    if given.json:
        given.json.write_text(text + "\n")


def _projects(index: Path) -> dict[str, list[tuple[str, str]]]:
    """Sessions (path, time of the beginning) of projects with several, in order of time. The
    project of a collected recording is its repository, which its name begins with."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    db = sqlite3.connect(index)
    for number, path, project, started in db.execute(
        "SELECT id, path, project, coalesce(started, '') FROM sessions WHERE failure IS NULL"
    ).fetchall():
        named = _REPOSITORY.match(Path(path).name)
        name = f"/{named['repository']}" if named else project
        if name:
            timed = _TIMED.search(Path(path).name)
            if not started and timed:  # not recorded, but the client names its file by it
                started = f"{timed[1]}T{timed[2]}:{timed[3]}:00Z"
            db.execute(
                "UPDATE sessions SET project = ?, started = ? WHERE id = ?",
                (name, started, number),
            )
            found[name].append((path, started))
    db.commit()
    db.close()
    several = {n: sorted(set(s), key=lambda one: one[1]) for n, s in found.items()}
    return {n: s for n, s in sorted(several.items()) if len({p for p, _ in s}) > 1}


# -- rediscovery -----------------------------------------------------------------------------


def _rediscovery(index: Path, projects: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    memory = Memory(index)
    by_project: dict[str, dict[str, list[bool]]] = {}
    for project, sessions in projects.items():
        messages = sqlite3.connect(":memory:")
        messages.execute("CREATE VIRTUAL TABLE said USING fts5(text)")
        lines = _Lines()
        commands: set[str] = set()
        hits: dict[str, list[bool]] = defaultdict(list)
        for number, (path, started) in enumerate(sessions):
            calls, texts = _calls(path)
            if number and started:
                for query, output in _asked(calls, commands):
                    wanted = set(_NAME.findall(output)) - set(_NAME.findall(query))
                    if len(wanted) < MIN_NAMES:
                        continue
                    filters = Filters(project=project, until=started)
                    for name, results in (
                        ("memory", _ours(memory, query, filters)),
                        ("bm25", _by_bm25(messages, query)),
                        ("lines", lines.best(query)),
                    ):
                        hits[name].append(_answers(results, wanted))
            for text in texts:
                messages.execute("INSERT INTO said VALUES (?)", (text[:20_000],))
                lines.add(text)
            commands |= {query for kind, query, _ in calls if kind == "command"}
        messages.close()
        if hits["memory"]:
            by_project[project] = dict(hits)
    found = {}
    for name in ("memory", "bm25", "lines"):
        found[name] = _share([hits[name] for hits in by_project.values()])
    for other in ("bm25", "lines"):
        pairs = [(hits["memory"], hits[other]) for hits in by_project.values()]
        found[f"above {other}"] = _difference(pairs)
    return {"projects": len(by_project), **found}


def _answers(results: Sequence[str], wanted: set[str]) -> bool:
    return any(
        len(wanted & set(_NAME.findall(text[:LENGTH]))) >= MIN_NAMES for text in results[:SHOWN]
    )


def _ours(memory: Memory, query: str, filters: Filters) -> list[str]:
    try:
        hits = memory.search(query, filters, limit=SHOWN)
    except LeftoffError:
        return []
    return [f"{hit.text} {hit.note}" for hit in hits]


def _by_bm25(db: sqlite3.Connection, query: str) -> list[str]:
    words = dict.fromkeys(re.findall(r"\w+", query.casefold()))
    if not words:
        return []
    rows = db.execute(
        "SELECT text FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?",
        (" OR ".join(f'"{w}"' for w in words), SHOWN),
    )
    return [_window(text, list(words)) for (text,) in rows]


def _window(text: str, words: Sequence[str]) -> str:
    """The piece of a text around the first of the words."""
    folded = text.casefold()
    places = [at for word in words if (at := folded.find(word)) >= 0]
    begin = max(0, min(places, default=0) - LENGTH // 8)
    return text[begin : begin + LENGTH]


class _Lines:
    """Lines of recordings, found by the number of words that they share, the latest first."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._places: dict[str, list[int]] = defaultdict(list)

    def add(self, text: str) -> None:
        for line in text.splitlines():
            for word in set(re.findall(r"\w{3,}", line)):
                self._places[word].append(len(self._lines))
            self._lines.append(line)

    def best(self, query: str) -> list[str]:
        counts: Counter[int] = Counter()
        for word in set(re.findall(r"\w{3,}", query)):
            counts.update(self._places.get(word, ())[-20_000:])
        best = heapq.nlargest(SHOWN, counts.items(), key=lambda one: (one[1], one[0]))
        return ["\n".join(self._lines[max(0, at - 2) : at + 6]) for at, _ in best]


def _calls(path: str) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Kind, own words and output of the reading calls, and all texts of a recording."""
    calls: dict[str, tuple[str, str]] = {}
    found: list[tuple[str, str, str]] = []
    texts: list[str] = []
    for message in api.read(path):
        for part in message.parts:
            if isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, ToolCall):
                kind = kind_of(part.name)
                words = " ".join(
                    str(value)
                    for name in ("path", "pattern", "command")
                    if (value := argument(part, name))
                )
                texts.append(words)
                if words and (kind in READ_ONLY_KINDS or kind == "shell"):
                    calls[part.id] = ("command" if kind == "shell" else "read", words)
            elif isinstance(part, ToolResult):
                texts.append(part.text)
                if part.call_id in calls and part.status != "error":
                    found.append((*calls[part.call_id], part.text))
    return found, texts


def _asked(
    calls: Sequence[tuple[str, str, str]], commands: set[str]
) -> Iterator[tuple[str, str]]:
    meant = [c for c in calls if c[0] == "read" or c[1] in commands]
    step = max(1, len(meant) // MAX_CALLS)
    for _, query, output in meant[::step]:
        yield query, output


# -- blame -----------------------------------------------------------------------------------


def _blame(index: Path) -> dict[str, Any]:
    """Files that a session wrote whole and then edited: their lines, rebuilt here version by
    version, and the message that wrote each."""
    by_file: list[list[bool]] = []
    turns: list[list[bool]] = []
    with opened(index) as db:
        made: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for _, hit, edit in edits(db, "1"):
            if hit.message >= 0:
                made[hit.recording, hit.path].append(edit[1])
        owners = dict(
            db.execute(
                "SELECT path, count(DISTINCT session) FROM edits GROUP BY path"
            ).fetchall()
        )
    recorded: dict[str, dict[str, list[tuple[int, str]]]] = {}
    for (path, file), whole in sorted(made.items()):
        if owners[file] > 1 or len(whole) < 2 or not any(whole):
            continue  # another session wrote it too, perhaps beside this one
        if path not in recorded:
            recorded[path] = _versions(path)
        versions = recorded[path].get(file, [])
        if len(versions) < 2:
            continue
        text, writers = _by_difference(versions)
        lines = text.splitlines()
        if not lines:
            continue
        asked = _prompts(path)
        right: list[bool] = []
        same_turn: list[bool] = []
        for origin in origins(index, file, lines):
            for at in range(origin.first - 1, origin.last):
                if not lines[at].strip():
                    continue
                said = -1 if origin.edit is None else origin.edit.message
                right.append(said == writers[at])
                same_turn.append(_turn(asked, said) == _turn(asked, writers[at]))
        by_file.append(right)
        turns.append(same_turn)
    return {"files": len(by_file), "message": _share(by_file), "turn": _share(turns)}


def _turn(prompts: Sequence[int], message: int) -> int:
    return sum(p <= message for p in prompts) if message >= 0 else -1


def _prompts(path: str) -> list[int]:
    return [m.index for m in api.read(path) if m.role == "user" and m.origin == "prompt"]


def _versions(path: str) -> dict[str, list[tuple[int, str]]]:
    """The whole texts that a session gave its files, by path, from calls that succeeded; a file
    whose text is not known all the time is left out."""
    made: list[tuple[int, str, ToolCall]] = []
    waiting: dict[str, tuple[int, str, ToolCall]] = {}  # ids are used again in joined sessions
    for message in api.read(path):
        for part in message.parts:
            if isinstance(part, ToolCall):
                file = argument(part, "path")
                if isinstance(file, str):
                    at = file if file.startswith("/") else f"{message.cwd.rstrip('/')}/{file}"
                    waiting[part.id] = (message.index, at if message.cwd else file, part)
            elif isinstance(part, ToolResult) and part.call_id in waiting:
                answered = waiting.pop(part.call_id)
                if part.status in {"ok", "unknown"}:
                    made.append(answered)
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    lost: set[str] = set()
    for index, file, call in sorted(made, key=lambda m: m[0]):
        content, old, new = (argument(call, name) for name in ("content", "old", "new"))
        if isinstance(content, str):
            found[file].append((index, content))
        elif isinstance(old, str) and isinstance(new, str) and old and found[file]:
            text = found[file][-1][1]
            if text.count(old) == 1:
                found[file].append((index, text.replace(old, new)))
            else:
                lost.add(file)  # edited by something else in between
    return {file: versions for file, versions in found.items() if file not in lost}


def _by_difference(versions: Sequence[tuple[int, str]]) -> tuple[str, list[int]]:
    """The last text and the message that wrote each of its lines, by line differences."""
    message, text = versions[0]
    lines = text.splitlines()
    writers = [message] * len(lines)
    for message, newer in versions[1:]:
        after = newer.splitlines()
        found: list[int] = []
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(
            None, lines, after, autojunk=False
        ).get_opcodes():
            found += writers[i1:i2] if tag == "equal" else [message] * (j2 - j1)
        lines, writers, text = after, found, newer
    return text, writers


# -- fix -------------------------------------------------------------------------------------


def _fix(index: Path) -> dict[str, Any]:
    with opened(index) as db:
        failed = list(entries(db, "e.kind = 'error'"))
    rows = [(h.text, h.session, h.recording, h.note) for h in failed]
    plain = [normalized_error(text.partition(": ")[2]) for text, *_ in rows]
    found: list[list[bool]] = []
    searched: list[list[bool]] = []
    bm25: list[list[bool]] = []
    for number, (text, session, path, _) in enumerate(rows):
        if not session or len(terms_of(plain[number])) < 3:
            continue
        same = {
            rows[n][0]
            for n in range(len(rows))
            if rows[n][2] != path and rows[n][3] and fuzz.ratio(plain[n], plain[number]) >= 90
        }
        if not same:
            continue
        error = text.partition(": ")[2]
        answers = fixes(index, error, Filters(without=session), limit=1)
        found.append([bool(answers) and answers[0].failure.text in same])
        first = Memory(index).search(error, Filters(without=session), limit=1)
        searched.append([bool(first) and first[0].text in same])
        bm25.append([_plain_bm25(index, error, session) in same])
    shares = {"fix": _share(found), "search": _share(searched), "bm25": _share(bm25)}
    return {"failures": len(found), **shares}


def _plain_bm25(index: Path, error: str, session: str) -> str:
    """The entry of another session that BM25 alone puts first."""
    words = " OR ".join(quoted(term) for term in dict.fromkeys(terms_of(error)))
    with opened(index) as db:
        rows = db.execute(
            "SELECT e.data, terms.rowid % ? FROM terms JOIN blocks e ON e.id = terms.rowid / ?"
            " JOIN sessions s ON s.id = e.session WHERE terms MATCH ? AND s.session IS NOT ?"
            " ORDER BY rank LIMIT 1",
            (PLACES, PLACES, words, session),
        )
        entry = next((unpacked(data)[place] for data, place in rows), None)
    return entry[0] if entry is not None else ""


# -- what was said before --------------------------------------------------------------------


def _repeated(index: Path, projects: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    given = given_by_name(index, projects)
    found: dict[str, Any] = {way: _share(groups) for way, groups in given.items()}
    for way in ("bm25", "bm25, person"):
        found[f"ledger above {way}"] = _difference(
            list(zip(given["ledger"], given[way], strict=True))
        )
    return found


# -- figures ---------------------------------------------------------------------------------


def _share(groups: Sequence[Sequence[bool]]) -> dict[str, Any]:
    """Share of hits over all groups, with an interval over groups."""
    groups = [g for g in groups if g]
    total = sum(map(len, groups))
    if not total:
        return {"count": 0}
    picked = random.Random(7)
    draws = []
    for _ in range(1_000):
        drawn = picked.choices(groups, k=len(groups))
        draws.append(sum(map(sum, drawn)) / sum(map(len, drawn)))
    draws.sort()
    return {
        "count": total,
        "share": round(sum(map(sum, groups)) / total, 3),
        "interval": [round(draws[25], 3), round(draws[974], 3)],
    }


def _difference(groups: Sequence[tuple[Sequence[bool], Sequence[bool]]]) -> dict[str, Any]:
    """How far one share is above another over the same calls, with an interval over groups."""
    picked = random.Random(7)
    draws = []
    for number in range(1_001):
        drawn = picked.choices(groups, k=len(groups)) if number else groups
        total = sum(len(one) for one, _ in drawn)
        draws.append(sum(sum(one) - sum(other) for one, other in drawn) / total)
    first, *rest = draws
    rest.sort()
    return {"share": round(first, 3), "interval": [round(rest[25], 3), round(rest[974], 3)]}


if __name__ == "__main__":
    main()
