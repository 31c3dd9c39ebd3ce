"""Labelled sessions: what a careful reader marked, and the recording it was marked in.

The files and what is labelled are described in the labelling guideline (docs/accuracy.md).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff.errors import SourceError, StateError
from leftoff.sources.open import lines_of, whole_of
from leftoff.summary import DECISION_TYPES, MILESTONE_KINDS, REQUEST_KINDS, STAGES


class Decision(Struct, frozen=True):
    """A labelled key decision; `also` are places that only say it again."""

    line: int
    quote: str
    type: str
    importance: int = 2
    also: tuple[int, ...] = ()


class Milestone(Struct, frozen=True):
    """A result that a line claims as reached."""

    line: int
    quote: str
    kind: str


class Stage(Struct, frozen=True):
    """From `line` on the session is in `stage`."""

    line: int
    stage: str


class Directive(Struct, frozen=True):
    """What the person asked for."""

    line: int
    quote: str
    kind: str


class OpenItem(Struct, frozen=True):
    """What is left to do at the end of the recording."""

    line: int
    quote: str


class Labels(Struct, frozen=True):
    """The labels of one recording.

    `line` is everywhere the 1-based physical line, or the 0-based index in the list of
    messages where the recording is one JSON document.
    """

    file: str
    annotator: str = ""
    decisions: tuple[Decision, ...] = ()
    milestones: tuple[Milestone, ...] = ()
    stages: tuple[Stage, ...] = ()
    directives: tuple[Directive, ...] = ()
    open_items: tuple[OpenItem, ...] = ()

    @property
    def repository(self) -> str:
        """The source repository, `owner__name`: sessions of one repository are kept on one
        side of every split."""
        return "__".join(self.file.split("__")[:2]) if "__" in self.file else self.file

    def quoted(self) -> Iterator[tuple[int, str]]:
        """Every quote with its place."""
        for group in (self.decisions, self.milestones, self.directives, self.open_items):
            for label in group:
                yield label.line, label.quote


def load(path: str) -> tuple[Labels, ...]:
    """The label files in a directory (or the one file named), by file name.

    Raises:
        SourceError: nothing there, or it cannot be read.
        StateError: a file is no label file; the message names file and field.
    """
    place = Path(path)
    try:
        files = sorted(place.rglob("*.json")) if place.is_dir() else [place]
        loaded = [(file, whole_of(file)) for file in files]
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    labels: list[Labels] = []
    for file, data in loaded:
        if place.is_dir() and (b'"decisions"' not in data or b'"file"' not in data):
            continue  # a recording or a manifest that lies beside the labels
        try:
            label = msgspec.json.decode(data, type=Labels)
        except (ValueError, RecursionError) as error:
            if place.is_dir() and b'"annotator"' not in data:
                continue
            raise StateError(f"{file}: not a label file: {error}") from error
        _check_words(file, label)
        labels.append(label)
    if not labels:
        raise SourceError(f"{path}: holds no label files")
    return tuple(sorted(labels, key=lambda label: label.file))


def _check_words(file: Path, label: Labels) -> None:
    allowed: list[tuple[str, str, tuple[str, ...]]] = [
        *(("type of decision", d.type, DECISION_TYPES) for d in label.decisions),
        *(("kind of milestone", m.kind, MILESTONE_KINDS) for m in label.milestones),
        *(("stage", s.stage, STAGES) for s in label.stages),
        *(("kind of directive", d.kind, REQUEST_KINDS) for d in label.directives),
    ]
    for what, word, words in allowed:
        if word not in words:
            raise StateError(
                f"{file}: {word!r} is no {what}; the guideline knows {', '.join(words)}"
            )


def transcripts(directory: str, names: Iterable[str]) -> dict[str, str]:
    """Where under `directory` the named recordings are; missing ones are left out.

    Raises:
        StateError: two different files have the same name.
    """
    wanted = set(names)
    found: dict[str, str] = {}
    for folder, folders, files in os.walk(directory):
        folders.sort()
        for name in sorted(wanted.intersection(files)):
            path = str(Path(folder, name))
            if name in found:
                raise StateError(f"{path}: {found[name]} has the same name; which is labelled?")
            found[name] = path
    return found


def misplaced(label: Labels, texts: Mapping[int, str]) -> list[str]:
    """What is wrong with the places of a session's labels, as sentences; [] if nothing.

    Args:
        texts: visible text by place.
    """
    problems: list[str] = []
    for line, quote in label.quoted():
        if line not in texts:
            problems.append(f"{label.file}: no message with words at {line}")
        elif quote not in texts[line]:
            problems.append(f"{label.file}: {line} does not say {quote[:60]!r}")
    doubled = [line for line, n in Counter(s.line for s in label.stages).items() if n > 1]
    problems += [f"{label.file}: two stages begin at {line}" for line in sorted(doubled)]
    return problems


def fingerprint(path: str) -> str:
    """16 hex digits of a recording's bytes, unpacked: the same recording under any name."""
    state = blake2b(digest_size=8)
    with lines_of(path) as lines:
        for line in lines:
            state.update(line)
    return state.hexdigest()


def digest(labels: Iterable[Labels]) -> str:
    """16 hex digits that change whenever a label changes."""
    state = blake2b(digest_size=8)
    for label in sorted(labels, key=lambda label: label.file):
        state.update(msgspec.json.encode(label, order="sorted"))
    return state.hexdigest()
