"""Public recordings by reference: where they are published, and labels without their words.

A reference names a repository, a commit, a path and a hash. A stand-off label names a place in
the recording (line or item, as labels count) and the code points from `start` to `end` of the
visible text there, so that nothing of the recording itself has to be copied. With the recording
at hand labels become references and references become labels again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from leftoff.errors import SourceError, StateError
from leftoff.evaluation.labels import Decision, Labels, OpenItem, Quote, Stage, digest
from leftoff.sources.open import read_whole

T = TypeVar("T")

SETS = ("double", "single")
"""How often a session was labelled: by two readers, or by one."""

_URL = re.compile(r"(?:https|file)://[^\s\x00-\x1f]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HASH = re.compile(r"[0-9a-f]{64}")


class Ranges(Struct, frozen=True):
    """The labels of one recording without words: rows of numbers and kinds.

    Attributes:
        decisions: (place, start, end, type, importance, places that only repeat it ...).
        milestones: (place, start, end, kind).
        stages: (place, stage).
        directives: (place, start, end, kind).
        open_items: (place, start, end).
        digest: of the labels with their words, by which a restored file is checked.
    """

    digest: str
    annotator: str = ""
    decisions: tuple[tuple[int | str, ...], ...] = ()
    milestones: tuple[tuple[int, int, int, str], ...] = ()
    stages: tuple[tuple[int, str], ...] = ()
    directives: tuple[tuple[int, int, int, str], ...] = ()
    open_items: tuple[tuple[int, int, int], ...] = ()


class Reference(Struct, frozen=True):
    """One published recording.

    Attributes:
        file: where it belongs below a corpus folder, `<format>/<name>`; a name that ends in
            `.gz` is packed when it is fetched.
        url: of the repository, https or file.
        path: in the repository at `commit`.
        sha256, bytes: of the file as it is published there.
        licence: as the repository states it.
        set: "double" or "single" if it is labelled, else "".
    """

    file: str
    format: str
    url: str
    commit: str
    path: str
    sha256: str
    bytes: int
    licence: str = ""
    set: str = ""
    labels: Ranges | None = None

    @property
    def name(self) -> str:
        """The file's own name, by which labels call it."""
        return PurePosixPath(self.file).name

    @property
    def repository(self) -> str:
        """`owner/name`, or the last two parts of any other address."""
        return "/".join(self.url.removesuffix(".git").rsplit("/", 2)[-2:])


class References(Struct, frozen=True):
    """What a file of references holds."""

    session: tuple[Reference, ...] = field(default_factory=tuple)


def load_references(path: str) -> tuple[Reference, ...]:
    """The references in a TOML file.

    Raises:
        SourceError: it cannot be read.
        StateError: it is no such file, or names a place outside of its folder.
    """
    try:
        data = read_whole(path).decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: it is not UTF-8") from error
    try:
        found = msgspec.convert(tomllib.loads(data), References)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{path}: not a file of references: {error}") from error
    for reference in found.session:
        problem = _problem(reference)
        if problem:
            raise StateError(f"{path}: {reference.file!r}: {problem}")
    return found.session


def _problem(reference: Reference) -> str:
    """What makes a reference unsafe or meaningless; "" if nothing."""
    if not _URL.fullmatch(reference.url):
        return "the url is neither https nor file"
    if not _COMMIT.fullmatch(reference.commit) or not _HASH.fullmatch(reference.sha256):
        return "commit or sha256 is not one"
    for path in (reference.file, reference.path):
        parts = path.split("/")
        if not path.isprintable() or any(p in {"", ".", ".."} or "\\" in p for p in parts):
            return f"{path!r} is no plain path"
    if reference.set not in ("", *SETS):
        return f"{reference.set!r} is no set of labels"
    return ""


def to_ranges(labels: Labels, texts: Mapping[int, str]) -> tuple[Ranges, list[str]]:
    """Labels without their words, and a sentence for each label that had to be left out.

    Args:
        texts: visible text of the recording by place.
    """
    problems: list[str] = []

    def placed(group: Iterable[T], kind: type[T]) -> list[tuple[T, tuple[int, int, int]]]:
        found: list[tuple[T, tuple[int, int, int]]] = []
        for label in group:
            line, quote = getattr(label, "line"), getattr(label, "quote")  # noqa: B009
            start = texts.get(line, "").find(quote)
            if start < 0:
                problems.append(f"{labels.file}: a {kind.__name__} at {line} has no such words")
            else:
                found.append((label, (line, start, start + len(quote))))
        return found

    decisions = placed(labels.decisions, Decision)
    milestones = placed(labels.milestones, Quote)
    directives = placed(labels.directives, Quote)
    open_items = placed(labels.open_items, OpenItem)
    kept = Labels(
        file=labels.file,
        annotator=labels.annotator,
        decisions=tuple(d for d, _ in decisions),
        milestones=tuple(m for m, _ in milestones),
        stages=labels.stages,
        directives=tuple(d for d, _ in directives),
        open_items=tuple(o for o, _ in open_items),
    )
    ranges = Ranges(
        digest=digest([kept]),
        annotator=labels.annotator,
        decisions=tuple((*at, d.type, d.importance, *d.also) for d, at in decisions),
        milestones=tuple((*at, m.kind) for m, at in milestones),
        stages=tuple((s.line, s.stage) for s in labels.stages),
        directives=tuple((*at, d.kind) for d, at in directives),
        open_items=tuple(at for _, at in open_items),
    )
    return ranges, problems


def to_labels(file: str, ranges: Ranges, texts: Mapping[int, str]) -> Labels:
    """Labels with their words again, cut out of the recording.

    Raises:
        StateError: the text is not the one that was labelled.
    """

    def words(row: tuple[Any, ...]) -> str:
        return texts.get(row[0], "")[row[1] : row[2]]

    try:
        value = {
            "file": file,
            "annotator": ranges.annotator,
            "decisions": [
                {"line": r[0], "quote": words(r), "type": r[3], "importance": r[4],
                 "also": r[5:]}
                for r in ranges.decisions
            ],
            "milestones": [
                {"line": r[0], "quote": words(r), "kind": r[3]} for r in ranges.milestones
            ],
            "directives": [
                {"line": r[0], "quote": words(r), "kind": r[3]} for r in ranges.directives
            ],
            "open_items": [{"line": r[0], "quote": words(r)} for r in ranges.open_items],
        }  # fmt: skip
        labels = msgspec.convert(value, Labels)
    except (ValueError, TypeError, IndexError) as error:
        raise StateError(f"{file}: rows of labels that are none: {error}") from error
    stages = tuple(Stage(line, stage) for line, stage in ranges.stages)
    labels = msgspec.structs.replace(labels, stages=stages)
    if digest([labels]) != ranges.digest:
        raise StateError(f"{file}: the text there is not the one that was labelled")
    return labels


def to_toml(references: Iterable[Reference], head: str = "") -> str:
    """References as the text of a TOML file, in the order given."""
    blocks = [f"# {line}".rstrip() for line in head.splitlines()]
    for reference in references:
        blocks += ["", "[[session]]"]
        value = msgspec.structs.asdict(reference)
        value.pop("labels")
        blocks += [f"{key} = {_toml(each)}" for key, each in value.items() if each != ""]
        if reference.labels is None:
            continue
        blocks.append("[session.labels]")
        for key, each in msgspec.structs.asdict(reference.labels).items():
            if isinstance(each, tuple):
                rows = "\n".join(f"  {_toml(row)}," for row in each)
                blocks.append(f"{key} = [\n{rows}\n]" if each else f"{key} = []")
            else:
                blocks.append(f"{key} = {_toml(each)}")
    return "\n".join(blocks) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, int):
        return str(value)
    # A TOML basic string takes every escape that JSON writes, but not a bare DEL.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
