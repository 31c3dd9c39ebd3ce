"""Label files: what an annotator marked in a recording.

The labelling guideline describes the files and the labels (docs/how-to/label-and-evaluate.md).
"""

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leftoff.codec import JsonObject
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
    source_line: int | None = None


# Why a statement that looks like a key decision is none: a next step, what happened or is so,
# weighing without a commitment, what was settled before, a suggestion that is not taken up.
NEAR_MISSES = ("move", "report", "analysis", "repeat", "offer")
# Readers differ on whether it is a key decision: it is scored neither way.
UNSURE = "unsure"


class NearMiss(Struct, frozen=True):
    """A statement that is no key decision; `reason` is one of `NEAR_MISSES`, or `UNSURE`."""

    line: int
    quote: str
    reason: str
    source_line: int | None = None


class Quote(Struct, frozen=True):
    """Labelled words of a kind: a request of the person, or a result that a line claims."""

    line: int
    quote: str
    kind: str
    source_line: int | None = None


class Stage(Struct, frozen=True):
    """The session is in `stage` from `line` on."""

    line: int
    stage: str


class SwallowedTurn(Struct, frozen=True):
    """A request whose turn an earlier reader did not separate from the one before it."""

    source_line: int
    quote: str
    kind: str


class OpenItem(Struct, frozen=True):
    """Work left to do at the end of the recording."""

    line: int
    quote: str
    source_line: int | None = None


class Labels(Struct, frozen=True):
    """The labels of one recording.

    `line` is everywhere the 1-based physical line, or the 0-based index in the list of
    messages where the recording is one JSON document. Where a label has a `source_line`, that
    is the line of the recording, and `line` what a reader made of it when it was labelled.
    `until` is the last line that the annotator read, None where the whole recording was read.
    """

    file: str
    annotator: str = ""
    decisions: tuple[Decision, ...] = ()
    milestones: tuple[Quote, ...] = ()
    stages: tuple[Stage, ...] = ()
    directives: tuple[Quote, ...] = ()
    open_items: tuple[OpenItem, ...] = ()
    swallowed_user_turns: tuple[SwallowedTurn, ...] = ()
    until: int | None = None
    near_misses: tuple[NearMiss, ...] = ()

    @property
    def repository(self) -> str:
        """The source repository, `owner__name`: sessions of one repository are on the
        same side of every split."""
        return "__".join(self.file.split("__")[:2]) if "__" in self.file else self.file

    def quoted(self) -> Iterator[tuple[int, str]]:
        """Every quote with its place."""
        groups = (self.decisions, self.milestones, self.directives, self.open_items)
        for group in (*groups, self.near_misses):
            for label in group:
                yield label.line, label.quote


def load(path: str) -> tuple[Labels, ...]:
    """Loads the label files of a directory, or one label file, sorted by file name.

    Raises:
        SourceError: there are no label files, or one cannot be read.
        StateError: a file is not a label file, or labels the recording of another one."""
    place = Path(path)
    try:
        files = sorted(place.rglob("*.json")) if place.is_dir() else [place]
        loaded = [(file, read_whole(file)) for file in files]
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    labels: list[Labels] = []
    known: dict[str, Path] = {}
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
        if label.file in known:
            raise StateError(f"{file}: {known[label.file]} labels {label.file}, too")
        known[label.file] = file
        labels.append(label)
    if not labels:
        raise SourceError(f"{path}: holds no label files")
    return tuple(sorted(labels, key=lambda label: label.file))


def _check_vocabulary(file: Path, label: Labels) -> None:
    allowed: list[tuple[str, str, tuple[str, ...]]] = [
        *(("type of decision", d.type, DECISION_TYPES) for d in label.decisions),
        *(("kind of milestone", m.kind, MILESTONE_KINDS) for m in label.milestones),
        *(("stage", s.stage, STAGES) for s in label.stages),
        *(("reason", n.reason, (*NEAR_MISSES, UNSURE)) for n in label.near_misses),
        *(("kind of directive", d.kind, REQUEST_KINDS) for d in label.directives),
    ]
    for what, word, words in allowed:
        if word not in words:
            raise StateError(
                f"{file}: {word!r} is no {what}; the guideline knows {', '.join(words)}"
            )


def find_recordings(directory: str, names: Iterable[str]) -> dict[str, str]:
    """The paths of the named recordings under `directory`; missing ones are left out.
    `StateError` where two different files have the same name."""
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
    """Errors in the places of a session's labels, as sentences, given its texts by place."""
    problems: list[str] = []
    for line, quote in label.quoted():
        if line not in texts:
            problems.append(f"{label.file}: no message with words at {line}")
        elif not _says(texts[line], quote):
            problems.append(f"{label.file}: {line} does not say {quote[:60]!r}")
    doubled = [line for line, n in Counter(s.line for s in label.stages).items() if n > 1]
    problems += [f"{label.file}: two stages begin at {line}" for line in sorted(doubled)]
    return problems


def _says(text: str, quote: str) -> bool:
    shown = re.sub(r"<command-message>[^<]*</command-message>", "", quote)
    words = " ".join(re.sub(r"</?command-(?:name|args|message)>", "", shown).split())
    return quote in text or (words != "" and words in " ".join(text.split()))


# -- labels whose quotes stand at another place by now ---------------------------------------

# Characters; a shorter quote may stand in many places and is not looked for far away.
SHORT_QUOTE = 12
# Messages with words on each side in which a short quote is looked for. Both were chosen by
# hand; not measured.
NEAR = 5


class Move(Struct, frozen=True):
    """A label that was moved: `what` is the name of its list, `to` is None where its quote was
    found nowhere."""

    what: str
    line: int
    to: int | None


def relocated(
    label: Labels, texts: Mapping[int, str], typed: Mapping[int, str] | None = None
) -> tuple[Labels, list[Move]]:
    """The labels with each at the place where its quote stands, and what was moved.

    A quote that its place does not hold is looked for in the message of its line, then in the
    others, the nearest first; for directives first in `typed`, the person's own text. A label
    whose quote is not found keeps its place. Turns that an earlier reader swallowed become
    directives."""
    moves: list[Move] = []

    def place_for(what: str, line: int, quote: str, source: int | None) -> int:
        anchor = line if source is None else source
        if source is None and _says(texts.get(line, ""), quote):
            return line
        several = (typed or {}, texts) if what == "directives" else (texts,)
        nearest = (_nearest(some, anchor, quote) for some in several)
        found = next((place for place in nearest if place is not None), None)
        if found != line:
            moves.append(Move(what, line, found))
        return line if found is None else found

    def moved(what: str, items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            replace(i, line=place_for(what, i.line, i.quote, i.source_line), source_line=None)
            for i in items
        )

    swallowed = tuple(
        Quote(turn.source_line, turn.quote, turn.kind, turn.source_line)
        for turn in label.swallowed_user_turns
        if turn.kind in REQUEST_KINDS
    )
    found = replace(
        label,
        decisions=moved("decisions", label.decisions),
        milestones=moved("milestones", label.milestones),
        directives=moved("directives", (*label.directives, *swallowed)),
        open_items=moved("open_items", label.open_items),
        swallowed_user_turns=(),
        near_misses=moved("near_misses", label.near_misses),
    )
    return found, moves


def _nearest(texts: Mapping[int, str], anchor: int, quote: str) -> int | None:
    """The place nearest to a line that says a quote; of two, the message in which the line
    lies comes first."""
    places = sorted(texts)
    here = bisect_right(places, anchor) - 1
    far = NEAR if len(quote) < SHORT_QUOTE else len(places)
    for distance in range(far + 1):
        for number in dict.fromkeys((here - distance, here + distance)):
            if 0 <= number < len(places) and _says(texts[places[number]], quote):
                return places[number]
    return None


def fingerprint(*paths: str, names: Iterable[str] = ("",)) -> str:
    """16 hex digits of the hash of recordings' decompressed bytes, each behind its name if that
    counts."""
    state = blake2b(digest_size=8)
    for path, name in zip(paths, names, strict=True):
        state.update(f"{name}\0".encode() if name else b"")
        with open_lines(path) as lines:
            for line in lines:
                state.update(line)
    return state.hexdigest()


def digest(labels: Iterable[Labels]) -> str:
    """16 hex digits of the hash over all labels."""
    state = blake2b(digest_size=8)
    for label in sorted(labels, key=lambda label: label.file):
        state.update(msgspec.json.encode(_plain(label), order="sorted"))
    return state.hexdigest()


def _plain(label: Labels) -> JsonObject:
    """The labels without the fields that few files have, where they are unused: the digests of
    the others were published without them."""
    plain: JsonObject = msgspec.to_builtins(label)
    for name in ("swallowed_user_turns", "near_misses", "until"):
        if not plain[name]:
            del plain[name]
    for item in chain.from_iterable(v for v in plain.values() if isinstance(v, tuple)):
        if item.get("source_line", 0) is None:
            del item["source_line"]
    return plain
