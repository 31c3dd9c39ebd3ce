"""The recordings that an evaluation is given, and the messages of their sessions."""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from leftoff import api
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError
from leftoff.evaluation.file_truth import SIDECAR
from leftoff.model import Message
from leftoff.session_reading import read_to_end
from leftoff.sources.open import open_lines

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


def passes_at(path: str, places: Collection[int]) -> Iterator[tuple[int, Pass]]:
    """A pass over a recording as it is after each of these lines."""
    reading = Pass(path)
    with open_lines(path) as lines:
        for number, line in enumerate(islice(lines, max(places, default=0)), 1):
            reading.feed_lines((line,))
            if number in places:
                yield number, reading


def opened(path: str) -> tuple[Pass, list[list[Message]]]:
    """A pass over a recording, and its messages session by session, with those of subagents."""
    reading = api.HeardPass(path)
    said: dict[int, list[Message]] = {}
    reading.on_message = lambda _, message: said.setdefault(
        reading.earlier + len(reading.sessions), []
    ).append(message)
    read_to_end(reading, path)
    # The own file of a subagent is measured with the session that it belongs to.
    return reading, [found for found in said.values() if not all(m.agent for m in found)]
