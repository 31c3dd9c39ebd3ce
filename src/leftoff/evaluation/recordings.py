"""The recordings that an evaluation is given, and the messages of their sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from leftoff import api
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError
from leftoff.evaluation.file_truth import SIDECAR
from leftoff.model import Message

T = TypeVar("T")
# Endings of files that stand beside recordings.
_BESIDE = (SIDECAR, ".metadata.json", ".tsv", "README.md")


def recording_paths(paths: Iterable[str]) -> list[str]:
    """The files that were given, and those in the directories that were given, sorted."""
    found: set[str] = set()
    for given in paths:
        if Path(given).is_dir():
            inside = (p for p in Path(given).rglob("*") if p.is_file())
            found |= {str(p) for p in inside if not p.name.endswith(_BESIDE)}
        else:
            found.add(str(given))
    return sorted(found)


def readings(
    paths: Iterable[str],
    read: Callable[[str], T],
    left_out: list[str],
    progress: Callable[[str], None] | None,
) -> Iterator[tuple[str, T]]:
    """Each recording with what `read` makes of it; why one is refused is added to `left_out`.
    `progress` is called with the name of each."""
    for path in recording_paths(paths):
        name = Path(path).name
        if progress is not None:
            progress(name)
        try:
            found = read(path)
        except InputError as error:
            # A run is committed: it names the file, not where it lies on this machine.
            left_out.append(str(error).split(";")[0].replace(path, name))
        else:
            yield path, found


def opened(path: str) -> tuple[Pass, list[list[Message]]]:
    """A pass over a recording, and its messages session by session, with those of subagents."""
    reading = api.open_pass(path)
    found: list[list[Message]] = []
    last = -1
    for message in api.read(path):
        if not message.agent:
            if message.index <= last or not found:
                found.append([])
            last = message.index
        if found:
            found[-1].append(message)
    return reading, found
