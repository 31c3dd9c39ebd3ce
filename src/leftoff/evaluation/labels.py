"""Label files: what an annotator marked in a recording.

The labelling guideline describes the files and the labels (docs/accuracy.md).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff.errors import SourceError, StateError
from leftoff.sources.open import open_lines, read_whole
from leftoff.summary import DECISION_TYPES, MILESTONE_KINDS, REQUEST_KINDS, STAGES


class Decision(Struct, frozen=True):
    """A labelled key decision; `also`: places that only repeat it."""

    line: int
    quote: str
    type: str
    importance: int = 2
    also: tuple[int, ...] = ()


class Milestone(Struct, frozen=True):
    """A result that a line claims."""

    line: int
    quote: str
    kind: str


class Stage(Struct, frozen=True):
    """The session is in `stage` from `line` on."""

    line: int
    stage: str


class Directive(Struct, frozen=True):
    """A request of the person."""

    line: int
    quote: str
    kind: str


class OpenItem(Struct, frozen=True):
    """Work left to do at the end of the recording."""

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
        """The source repository, `owner__name`: sessions of one repository are on the
        same side of every split."""
        return "__".join(self.file.split("__")[:2]) if "__" in self.file else self.file

    def quoted(self) -> Iterator[tuple[int, str]]:
        """Every quote with its place."""
        for group in (self.decisions, self.milestones, self.directives, self.open_items):
            for label in group:
                yield label.line, label.quote


def load(path: str) -> tuple[Labels, ...]:
    """Loads the label files of a directory, or one label file, sorted by file name.

    Raises:
        SourceError: there are no label files, or one cannot be read.
        StateError: a file is not a label file; the message names file and field.
    """
    place = Path(path)
    try:
        files = sorted(place.rglob("*.json")) if place.is_dir() else [place]
        loaded = [(file, read_whole(file)) for file in files]
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    labels: list[Labels] = []
    for file, data in loaded:
        if place.is_dir() and (b'"decisions"' not in data or b'"file"' not in data):
            continue  # a recording or a manifest beside the labels
        try:
            label = msgspec.json.decode(data, type=Labels)
        except (ValueError, RecursionError) as error:
            if place.is_dir() and b'"annotator"' not in data:
                continue
            raise StateError(f"{file}: not a label file: {error}") from error
        _check_vocabulary(file, label)
        labels.append(label)
    if not labels:
        raise SourceError(f"{path}: holds no label files")
    return tuple(sorted(labels, key=lambda label: label.file))


def _check_vocabulary(file: Path, label: Labels) -> None:
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


def find_recordings(directory: str, names: Iterable[str]) -> dict[str, str]:
    """The paths of the named recordings under `directory`; missing ones are left out.

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


def label_problems(label: Labels, texts: Mapping[int, str]) -> list[str]:
    """Errors in the places of a session's labels, as sentences; [] if there are none.

    Args:
        texts: visible text by place.
    """
    problems: list[str] = []
    for line, quote in label.quoted():
        if line not in texts:
            problems.append(f"{label.file}: no message with words at {line}")
        elif quote not in texts[line] and _as_typed(quote) not in texts[line]:
            problems.append(f"{label.file}: {line} does not say {quote[:60]!r}")
    doubled = [line for line, n in Counter(s.line for s in label.stages).items() if n > 1]
    problems += [f"{label.file}: two stages begin at {line}" for line in sorted(doubled)]
    return problems


def _as_typed(quote: str) -> str:
    """A quoted slash command without the client's markup, as readers show it."""
    return re.sub(r"</?command-name>", "", quote)


def fingerprint(path: str) -> str:
    """16 hex digits of the hash of a recording's decompressed bytes, whatever its name."""
    state = blake2b(digest_size=8)
    with open_lines(path) as lines:
        for line in lines:
            state.update(line)
    return state.hexdigest()


def digest(labels: Iterable[Labels]) -> str:
    """16 hex digits of the hash over all labels."""
    state = blake2b(digest_size=8)
    for label in sorted(labels, key=lambda label: label.file):
        state.update(msgspec.json.encode(label, order="sorted"))
    return state.hexdigest()
