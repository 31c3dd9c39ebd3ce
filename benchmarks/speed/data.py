"""Recorded sessions to measure with, and longer ones made of them.

Nothing that is read here is written into the repository; a committed run names the data by
their size and a hash.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

Sessions: TypeAlias = list[tuple[str, bytes]]
"""Names and bytes, unpacked."""

ENDINGS = (".jsonl", ".jsonl.gz", ".traj", ".traj.gz")

MB = 1_000_000

CHAPTERS: dict[str, tuple[str, ...]] = {
    "claude_code": ("claude_code",),
    "codex": ("codex",),
    "text": ("swe_agent", "pi"),
}
"""Folders of a corpus that are measured together. Sessions of SWE-agent and Pi have little
beside text; those of Claude Code are mostly results of tools."""


def sessions_in(folder: Path, without: str = "") -> Sessions:
    """The line-based sessions and trajectories below a folder, in order of their paths.

    Args:
        without: files whose names begin so are left out, e.g. those held out for evaluation.
    """
    found: Sessions = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name.endswith(ENDINGS) and not (without and path.name.startswith(without)):
            data = path.read_bytes()
            found.append((name, gzip.decompress(data) if path.suffix == ".gz" else data))
    return found


def chapters_of(corpus: Path, shipped: Path, without: str = "") -> dict[str, Sessions]:
    """The sessions to measure with by chapter: those of a corpus, and those that we ship."""
    found = {
        name: [session for part in folders for session in sessions_in(corpus / part, without)]
        for name, folders in CHAPTERS.items()
        if any((corpus / part).is_dir() for part in folders)
    }
    return found | {"shipped": sessions_in(shipped)}


def digest(sessions: Iterable[tuple[str, bytes]]) -> str:
    """16 hex digits that tell which bytes were measured."""
    state = hashlib.blake2b(digest_size=8)
    for name, data in sessions:
        state.update(f"{name} {len(data)}\n".encode())
        state.update(data)
    return state.hexdigest()


def size_of(sessions: Iterable[tuple[str, bytes]]) -> int:
    return sum(len(data) for _, data in sessions)


# -- longer ones -----------------------------------------------------------------------------

_ID = re.compile(rb"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4})[0-9a-f]{8}")
_OWN = re.compile(rb'"sessionId":"[^"]*"')
_API = re.compile(rb'(?<=["/])(msg|toolu|req)_0')
_COMMAND = re.compile(rb'"command":"(?!")')
_FIRST = re.compile(rb'"parentUuid":null')
_LAST = re.compile(rb'"uuid":"([^"]+)"')

OWN = b'"sessionId":"00000000-0000-4000-8000-000000000000"'


def renewed(data: bytes, number: int, after: bytes = b"") -> bytes:
    """A Claude Code session with ids of its own, as the next part of a longer one.

    Each command gets a word of its own in front, so that nothing is analysed faster because it
    has been seen before.

    Args:
        after: the id of the record that it follows.
    """
    salt = b"%08x" % number
    # The random half of an id is what counts: leftoff takes the rest of it for a timestamp.
    data = _OWN.sub(OWN, _ID.sub(rb"\g<1>" + salt, data))
    data = _API.sub(rb"\1_" + salt, data)
    data = _COMMAND.sub(b'"command":": ' + salt + b"; ", data)
    if after:
        data = _FIRST.sub(b'"parentUuid":"' + after + b'"', data, count=1)
    return data if data.endswith(b"\n") else data + b"\n"


def parts(sessions: Sequence[tuple[str, bytes]], size: int) -> Iterator[bytes]:
    """The sessions over and over as parts of one, until `size` bytes; whole lines."""
    if not any(data for _, data in sessions):
        raise ValueError("no session to repeat")
    told, number, last = 0, 0, b""
    while told < size:
        for _, data in sessions:
            number += 1
            part = renewed(data, number, last)
            if told + len(part) > size:
                part = part[: part.find(b"\n", size - told) + 1]
            told += len(part)
            ids = _LAST.findall(part[-100_000:])
            last = ids[-1] if ids else last
            yield part
            if told >= size:
                return


def repeated(sessions: Sequence[tuple[str, bytes]], size: int, target: Path) -> int:
    """Writes one long session of the given ones; returns its bytes."""
    with target.open("wb") as file:
        return sum(file.write(part) for part in parts(sessions, size))


def unit(sessions: Sequence[tuple[str, bytes]], size: int = MB) -> Sessions:
    """A piece of one session that can be repeated to any length with the same mix: the first
    lines of the session whose lines are as long as those of all together."""
    mean = size_of(sessions) / sum(data.count(b"\n") for _, data in sessions)
    known = [s for s in sessions if len(s[1]) >= size] or list(sessions)
    name, data = min(known, key=lambda s: (abs(len(s[1]) / s[1].count(b"\n") - mean), s[0]))
    return [(name, data[: data.rfind(b"\n", 0, size) + 1])]
