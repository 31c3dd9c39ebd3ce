"""Labelled sessions as the trainer sees them: every sentence, and whether it was labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.accuracy.decisions.settled import Disputes, settled
from msgspec import Struct

from leftoff.api import open_pass, read
from leftoff.evaluation.labels import UNSURE, Labels, find_recordings, fingerprint
from leftoff.evaluation.labels import load as load_labels
from leftoff.evaluation.matching import same_statement, word_bag
from leftoff.evaluation.sessions import LabelledSession
from leftoff.extraction.decision_model import Model
from leftoff.extraction.decisions import Decisions
from leftoff.extraction.evidence import Said
from leftoff.extraction.extractor import extractors
from leftoff.live.compactions import place_of
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
        kind: folder of its labels; those of `single` are trained on only.
        said: every sentence of the agent's prose; `labels` the label that each states, or -1;
            `unsure` those on which readers differ, which are scored neither way.
        kinds: the type of each label; `places` the message of each label.
        agent: messages with visible words of the agent; `also` those that only repeat;
            `repeats` those that repeat a decision, whether or not they state another.
    """

    name: str
    fingerprint: str
    repository: str
    kind: str
    view: SessionView
    said: list[Said]
    labels: list[int]
    kinds: list[str]
    places: list[int]
    agent: list[int]
    also: set[int]
    repeats: set[int]
    unsure: list[Said]

    @property
    def weight(self) -> float:
        """How much its sentences count in training."""
        return KINDS_OF_LABELS[self.kind]


KINDS_OF_LABELS = {"double": 1.0, "single": 1.0, "more": 0.5}
"""Folders of labels, and the weight of a session of each in training. Half for those of one
reader: mean precision on half of the repositories was 0.394, 0.400 and 0.403 with 0.35, 0.5 and
0.7, so that more is chance."""


def load(
    labels: Path,
    transcripts: Sequence[Path],
    *,
    held_out: bool = False,
    disputes: Disputes | None = None,
) -> list[Session]:
    """The sessions of the folders of `KINDS_OF_LABELS` below `labels`, without the held-out
    repository, or of that one alone; with `disputes` only those that they settle, settled."""
    if "everything" not in extractors:
        extractors.register("everything")(Everything)
    found: list[Session] = []
    for kind in KINDS_OF_LABELS:
        if not (labels / kind).is_dir():
            continue
        given = [
            label
            for label in load_labels(str(labels / kind))
            if (label.repository == HELD_OUT) == held_out
            and (disputes is None or label.file in disputes)
        ]
        for folder in transcripts:
            paths = find_recordings(str(folder), (label.file for label in given))
            found += [
                _session(label, paths[label.file], kind, disputes)
                for label in given
                if label.file in paths
            ]
            given = [label for label in given if label.file not in paths]
    return found


def _session(given: Labels, transcript: str, kind: str, disputes: Disputes | None) -> Session:
    reading = open_pass(transcript, extractors=("everything",))
    view = SessionView(reading.sessions[-1][""])
    labelled = LabelledSession(given, transcript, list(read(transcript)))
    at: dict[int, list[int]] = {}
    agent: list[int] = []
    for m in labelled.messages:
        place = place_of(m)
        at.setdefault(place, []).append(m.index)
        if m.origin == "agent" and m.text.strip():
            agent.append(m.index)
    last = max((m.index for m in labelled.messages), default=-1)
    said = [one for one in view.sentences("unfiltered") if one.ref.message <= last]
    marked = settled(labelled.labels, (disputes or {}).get(given.file, ()), labelled.texts)
    doubtful: dict[int, list[tuple[int, Counter[str]]]] = {}
    for near in marked.near_misses:
        for message in at.get(near.line, ()) if near.reason == UNSURE else ():
            doubtful.setdefault(message, []).append((0, word_bag(near.quote)))
    decisions = marked.decisions
    places = [at.get(label.line, [-1])[0] for label in decisions]
    repeats = {m for d in decisions for line in d.also for m in at.get(line, ())}
    wanted: dict[int, list[tuple[int, Counter[str]]]] = {}
    for number, label in enumerate(decisions):
        for message in at.get(label.line, ()):
            wanted.setdefault(message, []).append((number, word_bag(label.quote)))
    return Session(
        given.file,
        fingerprint(transcript),
        given.repository,
        kind,
        view,
        said,
        [_stated(s, wanted.get(s.ref.message, ())) for s in said],
        [label.type for label in decisions],
        places,
        agent,
        repeats - set(places),
        repeats,
        [s for s in said if _stated(s, doubtful.get(s.ref.message, ())) == 0],
    )


def _stated(said: Said, wanted: Iterable[tuple[int, Counter[str]]]) -> int:
    """The label that a sentence states (`same_statement`), or -1."""
    own = word_bag(said.text)
    return next((number for number, quote in wanted if same_statement(own, quote)), -1)
