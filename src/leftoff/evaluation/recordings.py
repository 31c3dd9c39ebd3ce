"""The recordings that an evaluation is given, and the messages of their sessions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from leftoff import api
from leftoff.evaluation.file_truth import SIDECAR
from leftoff.model import Message

_BESIDE = (SIDECAR, ".metadata.json", ".tsv", "README.md")
"""Endings of files that stand beside recordings."""


def recording_paths(paths: Iterable[str]) -> list[str]:
    """The files that were given, and those in the directories that were given, sorted."""
    found: set[str] = set()
    for given in paths:
        inside = Path(given).rglob("*") if Path(given).is_dir() else None
        if inside is None:
            found.add(str(given))
        else:
            found |= {str(p) for p in inside if p.is_file() and not p.name.endswith(_BESIDE)}
    return sorted(found)


def reason(error: Exception, path: str) -> str:
    """Why a recording was left out, with the name of its file instead of its path."""
    return str(error).split(";")[0].replace(path, Path(path).name)


def sessions_of(path: str) -> list[list[Message]]:
    """The messages of a recording, session by session, with those of subagents."""
    found: list[list[Message]] = []
    last = -1
    for message in api.read(path):
        if not message.agent:
            if message.index <= last or not found:
                found.append([])
            last = message.index
        if found:
            found[-1].append(message)
    return found
