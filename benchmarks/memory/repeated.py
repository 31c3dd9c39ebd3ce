"""What a person had to say again: does the ledger of the sessions before hold it?

`repeated.toml` lists statements that an earlier session of the project held already. Given is,
without a question, what the ledger lists when the later session begins: all of it (`ledger`),
and the lines that fit the block of SessionStart (`block`). Beside it, of the same length: the
messages of the earlier sessions, and those of the person alone, that BM25 finds for the first
prompt of the later session (`bm25`, `bm25, person`). A statement is given if a result shows it;
of each message at most `LENGTH` code points count.

`read` lists a sample of what each gives, to be judged by a reader.
"""

from __future__ import annotations

import random
import re
import sqlite3
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from leftoff import api
from leftoff.hooks.worker import MAX_LEDGER_BYTES
from leftoff.memory.ledger import ledger
from leftoff.memory.search import Filters
from leftoff.memory.text import surest_lines
from leftoff.model import Text

LENGTH = 400

_FRAME = 300
"""Bytes of the block of SessionStart that are no lines, about."""

SAME = 85
"""Per cent of likeness (rapidfuzz `partial_ratio`) from which a text shows a statement."""


def given_by_name(
    index: Path, projects: dict[str, list[tuple[str, str]]]
) -> dict[str, list[list[bool]]]:
    """For each way of giving, by project: whether each repeated statement is given."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    cases = tomllib.loads(Path(__file__).with_name("repeated.toml").read_text())["case"]
    for case in cases:
        name = case["later"]["file"]
        for project, sessions in projects.items():
            place = next((n for n, (p, _) in enumerate(sessions) if Path(p).name == name), None)
            if place is None:
                continue
            texts = {Path(p).name: p for p, _ in sessions}
            wanted = [_statement(texts[one["file"]], one) for one in case["earlier"]]
            for way, results in _given(index, project, sessions, place).items():
                shown = any(_shows(text, said) for text in results for said in wanted)
                found[way][project].append(shown)
    return {way: list(of_project.values()) for way, of_project in found.items()}


def _given(
    index: Path, project: str, sessions: Sequence[tuple[str, str]], place: int
) -> dict[str, list[str]]:
    """What is given, by way, when the session at a place of a project begins."""
    path, started = sessions[place]
    before = [p for p, s in sessions[:place] if s < started and p != path]
    standing = ledger(index, Filters(project=project, until=started))
    texts = [h.text for one in standing for h in (one.last, *one.others)]
    lines = surest_lines(standing)
    block, room = [], MAX_LEDGER_BYTES - _FRAME
    for line in lines:
        if len(line.encode()) < room:
            room -= len(line.encode()) + 1
            block.append(line)
    words = list(dict.fromkeys(re.findall(r"\w+", _first_prompt(path).casefold())))
    room = sum(min(LENGTH, len(text)) for text in texts)
    return {
        "ledger": texts,
        "block": block,
        "bm25": list(_by_bm25(before, words, room, person=False)),
        "bm25, person": list(_by_bm25(before, words, room, person=True)),
    }


def _by_bm25(
    paths: Sequence[str], words: Sequence[str], room: int, *, person: bool
) -> Iterator[str]:
    if not words:
        return
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE said USING fts5(text)")
    for path in paths:
        said = (typed(m) if person else _all_text(m) for m in _messages(path))
        db.executemany("INSERT INTO said VALUES (?)", ((t[:20_000],) for t in said if t))
    query = " OR ".join(f'"{w}"' for w in words[:60])
    rows = db.execute("SELECT text FROM said WHERE said MATCH ? ORDER BY rank", (query,))
    for (text,) in rows:
        if room <= 0:
            break
        room -= min(LENGTH, len(text))
        yield text[:LENGTH]
    db.close()


@cache
def _messages(path: str) -> list[Any]:
    return list(api.read(path))


def typed(message: Any) -> str:
    """What the person typed in a message."""
    if message.role != "user" or message.origin != "prompt":
        return ""
    texts = ((getattr(message.parts[t.part], "text", ""), t) for t in message.typed)
    return "\n".join(text[t.start : t.end] for text, t in texts)


def _all_text(message: Any) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def _first_prompt(path: str) -> str:
    return next((text for m in _messages(path) if (text := typed(m).strip())), "")


def _statement(path: str, at: dict[str, Any]) -> str:
    message = next(m for m in _messages(path) if m.index == at["message"])
    return typed(message)[at["start"] : at["end"]]


def _shows(text: str, statement: str) -> bool:
    return (
        fuzz.partial_ratio(statement.casefold(), text[:LENGTH].casefold()) >= SAME
        and len(text) >= len(statement) * SAME // 100
    )


def sample(
    index: Path, projects: dict[str, list[tuple[str, str]]], way: str, count: int
) -> Iterator[str]:
    """Lines of what is given at the beginning of later sessions, for a reader."""
    picked = random.Random(3)
    lines = []
    for project, sessions in projects.items():
        for place in range(1, len(sessions)):
            if sessions[place][1]:
                lines += [(project, t) for t in _given(index, project, sessions, place)[way]]
    for project, text in picked.sample(sorted(set(lines)), min(count, len(set(lines)))):
        yield f"{project}: {' '.join(text[:LENGTH].split())}"
