"""The recordings below some paths: which files form one, its key, and a copy of it under a
neutral name.

No name of a file may reach a committed table, because recorders make names of prompts. So a
recording is known by the SHA-256 of its bytes, and is read from a copy called `recording`.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

NAME = "recording"
"""How the copy of a recording is called, before its endings."""

_ENDINGS = re.compile(r"(?:\.(?:jsonl?|traj|eval|md|txt|gz|zst))+\Z")
_BESIDE = re.compile(
    r"\.(?:groundtruth|meta(?:data)?)\.json\Z|\.(?:tsv|toml)\Z|\A[A-Z]+\.md\Z|\A\."
)
"""Files beside recordings: metadata, ground truth, manifests, README.md."""

_NO_SESSIONS = {"labels", "dialogues"}
"""Folders beside recordings: labels, and what synthetic sessions are made of."""

_FLAT = re.compile(r"(.+)__subagents__(agent-[^/]+)\Z")
"""A subagent's file that a corpus keeps beside the main one: its session, its own name."""


class Unit(Struct, frozen=True):
    """The files of one session.

    Attributes:
        key: 16 hex digits of the SHA-256 of its files, unpacked.
        size: bytes of its files, unpacked.
        main: the main file.
        sides: files of subagents, as (name below `subagents/`, file).
    """

    key: str
    size: int
    main: str
    sides: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """What a person is shown."""
        return f"{self.main} with subagents" if self.sides else self.main

    def staged(self, folder: Path) -> tuple[str, tuple[str, ...]]:
        """Copies the files into a folder; names of the main file and of the others in it."""
        ending = _ENDINGS.search(self.main)
        main = NAME + (ending[0] if ending else "")
        shutil.copyfile(self.main, folder / main)
        others = []
        for name, file in self.sides:
            other = Path(NAME, "subagents", name)
            (folder / other).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / other)
            others.append(str(other))
        return main, tuple(others)


def units(paths: Iterable[str]) -> list[Unit]:
    """Every recording below the paths, each content once, the largest first.

    A file with subagents is a recording by itself, and once more with them.
    """
    files = sorted({file for path in paths for file in _files(path)})
    flat: dict[str, list[tuple[str, str]]] = {}
    for file in files:
        if found := _FLAT.match(file):
            flat.setdefault(found[1], []).append((found[2], file))
    made: dict[str, Unit] = {}
    for file in files:
        stem = _ENDINGS.sub("", file)
        sides = tuple(flat.get(stem, ())) or _beside(stem)
        for chosen in ((), sides) if sides else ((),):
            unit = _unit(file, chosen)
            made.setdefault(unit.key, unit)
    return sorted(made.values(), key=lambda unit: (-unit.size, unit.key))


def _files(path: str) -> Iterable[str]:
    if Path(path).is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - _NO_SESSIONS)
        yield from (str(Path(folder, name)) for name in names if not _BESIDE.search(name))


def _beside(stem: str) -> tuple[tuple[str, str], ...]:
    """The files of subagents in the folder of a session."""
    found = sorted(Path(stem, "subagents").glob("agent-*.jsonl*"))
    return tuple((file.name, str(file)) for file in found)


def _unit(main: str, sides: tuple[tuple[str, str], ...]) -> Unit:
    state, size = hashlib.sha256(), 0
    for place, file in (("", main), *sides):
        data = _unpacked(Path(file).read_bytes())
        state.update(f"{place} {len(data)}\n".encode() if sides else b"")
        state.update(data)
        size += len(data)
    return Unit(state.hexdigest()[:16], size, main, sides)


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error):
        return data
