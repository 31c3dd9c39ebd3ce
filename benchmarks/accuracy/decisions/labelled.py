"""Labelled sessions as the trainer sees them: every sentence, and whether it was labelled."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from leftoff.api import open_pass, read
from leftoff.evaluation.labels import fingerprint
from leftoff.extraction.decision_model import Model
from leftoff.extraction.decisions import Decisions
from leftoff.extraction.evidence import Said
from leftoff.extraction.extractor import extractors
from leftoff.model import Text
from leftoff.session_view import SessionView

HELD_OUT = "marot__spotter"
"""The source repository that nothing is tuned or trained on."""


class Everything(Decisions):
    """The decision extractor without its gate."""

    name: ClassVar[str] = "everything"
    topic: ClassVar[str] = "unfiltered"
    model: ClassVar[Model] = Model()


class Session(Struct):
    """One labelled session.

    Attributes:
        fingerprint: of its recording.
        repository: the source repository: folds are made of whole repositories.
        double: labelled by two readers, so that it may be reported on.
        said: every sentence of the agent's prose; `labels` the label that each states, or -1.
        kinds: the type of each label; `places` the message of each label.
        agent: messages with visible words of the agent; `also` those that only repeat.
    """

    name: str
    fingerprint: str
    repository: str
    double: bool
    view: SessionView
    said: list[Said]
    labels: list[int]
    kinds: list[str]
    places: list[int]
    agent: list[int]
    also: set[int]


def repository(name: str) -> str:
    """The source repository that a label file's name begins with."""
    return "__".join(name.split("__")[:2])


def load(labels: Path, transcripts: Path, *, held_out: bool = False) -> list[Session]:
    """The sessions of `double/` and `single/` below `labels`, without the held-out
    repository, or of that one alone."""
    if "everything" not in extractors:
        extractors.register("everything")(Everything)
    where = {p.name: p for p in sorted(transcripts.rglob("*")) if p.is_file()}
    found: list[Session] = []
    for kind in ("double", "single"):
        for path in sorted((labels / kind).glob("*.json")):
            if (repository(path.name) == HELD_OUT) == held_out:
                given = json.loads(path.read_text("utf-8"))
                found.append(_session(given, where[given["file"]], kind == "double"))
    return found


def _session(given: dict, transcript: Path, double: bool) -> Session:  # type: ignore[type-arg]
    reading = open_pass(str(transcript), extractors=("everything",))
    view = SessionView(reading.sessions[-1][""])
    texts: dict[tuple[int, int], str] = {}
    at: dict[int, list[int]] = {}
    agent: list[int] = []
    for m in read(str(transcript)):
        if m.agent or m.origin != "agent":
            continue
        for number, part in enumerate(m.parts):
            if isinstance(part, Text) and part.text.strip():
                texts[m.index, number] = part.text
                if not agent or agent[-1] != m.index:
                    agent.append(m.index)
                    place = m.line if m.line is not None else m.item
                    at.setdefault(-1 if place is None else place, []).append(m.index)
    said = list(view.sentences("unfiltered"))
    decisions = given["decisions"]
    places: list[int] = []
    spans: list[tuple[int, int, int, int]] = []
    for label in decisions:
        for (message, part_number), text in texts.items():
            start = text.find(label["quote"]) if message in at.get(label["line"], ()) else -1
            if start >= 0:
                places.append(message)
                spans.append((message, part_number, start, start + len(label["quote"])))
                break
        else:
            places.append(-1)
            spans.append((-1, -1, 0, 0))
    repeats = {
        m for label in decisions for line in label.get("also", ()) for m in at.get(line, ())
    }
    return Session(
        given["file"],
        fingerprint(str(transcript)),
        repository(given["file"]),
        double,
        view,
        said,
        [_stated(s, spans) for s in said],
        [label["type"] for label in decisions],
        places,
        agent,
        repeats - set(places),
    )


def _stated(said: Said, spans: Iterable[tuple[int, int, int, int]]) -> int:
    """The label that a sentence states: half of the shorter of the two lies in the other."""
    start, end = said.ref.start or 0, said.ref.end or 0
    for number, (message, part, first, last) in enumerate(spans):
        if (message, part) == (said.ref.message, said.ref.part):
            shared = min(end, last) - max(start, first)
            if shared > 0 and 2 * shared >= min(end - start, last - first):
                return number
    return -1
