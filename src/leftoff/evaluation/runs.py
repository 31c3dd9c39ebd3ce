"""Runs `leftoff eval labels`: from label files to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from leftoff.errors import UsageError
from leftoff.evaluation import systems
from leftoff.evaluation.intervals import RESAMPLES, SWAPS
from leftoff.evaluation.labels import Labels, digest, fingerprint, load
from leftoff.evaluation.metrics import SessionScore, score
from leftoff.evaluation.predictions import Predictions
from leftoff.evaluation.reports import SCHEMA, Report, Result, measure
from leftoff.evaluation.sessions import LabelledSession
from leftoff.sources.open import open_lines

Predictor: TypeAlias = Callable[[LabelledSession], Predictions]
"""Predicts for a session: our engine, a baseline, an experiment."""


class Evaluation(Struct, frozen=True):
    """A report with the sessions and predictions that it was computed from.

    Attributes:
        problems: labels whose place or quote is wrong, as sentences.
    """

    report: Report
    sessions: tuple[LabelledSession, ...]
    predictions: tuple[Predictions, ...]
    problems: tuple[str, ...]


def select_labels(
    path: str,
    *,
    only: Sequence[str] = (),
    held_out: str = "",
    reporting: bool = False,
) -> tuple[Labels, ...]:
    """Loads the labels of a directory, without those of the held-out repository.

    Args:
        only: source repositories to select; all if empty.
        held_out: the repository that is reserved for reporting.
        reporting: select that repository and nothing else.
    """
    return tuple(
        label
        for label in load(path)
        if (label.repository == held_out) == reporting
        and (not only or label.repository in only)
    )


def evaluate_labels(
    labels: Sequence[Labels],
    directory: str,
    *,
    others: Mapping[str, Predictor] = MappingProxyType({}),
    predict: Predictor | None = None,
    progress: Callable[[str], None] | None = None,
    resamples: int = RESAMPLES,
    swaps: int = SWAPS,
    date: str = "",
    machine: str = "",
) -> Evaluation:
    """Summarizes labelled recordings and scores the summaries.

    Args:
        directory: where the recordings are.
        others: further systems to score, by name (`baselines.RULES`).
        predict: used as our system instead of our summaries, such as a detector trained for
            each source repository on the others.
        progress: called with the name of each session.

    Raises:
        UsageError: none of the recordings could be read.
    """
    sessions, left_out = systems.sessions(labels, directory)
    if not sessions:
        raise UsageError("no labelled recording could be read: " + "; ".join(left_out[:3]))
    predictions: list[Predictions] = []
    rules = version = ""
    for session in sessions:
        if progress is not None:
            progress(session.labels.file)
        predicted, version, rules = systems.leftoff(session, cuts=predict is None)
        predictions.append(predicted if predict is None else predict(session))
    ours = [score(s, p) for s, p in zip(sessions, predictions, strict=True)]
    results: list[Result] = [measure("leftoff", ours, resamples=resamples)]
    trained = _trained(sessions) if predict is None else frozenset[str]()
    for name, system in others.items():
        scores = [score(s, system(s)) for s in sessions]
        results.append(measure(name, scores, ours, resamples=resamples, swaps=swaps))
    return Evaluation(
        report=Report(
            schema=SCHEMA,
            leftoff=version,
            rules=rules,
            labels=digest(s.labels for s in sessions),
            recordings=_recordings(sessions),
            left_out=tuple(left_out),
            results=tuple(results),
            date=date,
            machine=machine,
            trained=tuple(sorted(trained)),
            apart=_apart(ours, trained, resamples),
        ),
        sessions=tuple(sessions),
        predictions=tuple(predictions),
        problems=tuple(problem for s in sessions for problem in (*_moved(s), *s.problems)),
    )


def _moved(session: LabelledSession) -> Iterator[str]:
    """A sentence about the labels of a session that stand elsewhere by now, if any do."""
    count = sum(move.to is not None for move in session.moves)
    if count:
        yield f"{session.labels.file}: {count} labels moved to where their quotes stand now"


def _trained(sessions: Sequence[LabelledSession]) -> frozenset[str]:
    """Files of the sessions that the shipped decision weights were trained on."""
    from leftoff.extraction.decision_model import MODEL

    known = frozenset(MODEL.learnt_from)
    return frozenset(s.labels.file for s in sessions if fingerprint(s.path) in known)


def _apart(
    ours: Sequence[SessionScore], trained: frozenset[str], resamples: int
) -> tuple[Result, ...]:
    """Our figures over sessions not trained on and over those trained on; () unless there are
    both. Their scores by session are left out; the whole result has them."""
    if not trained or len(trained) == len(ours):
        return ()
    found: list[Result] = []
    for name, wanted in (("not trained on", False), ("trained on", True)):
        part = [score for score in ours if (score.file in trained) == wanted]
        result = measure(f"leftoff, {name} ({len(part)})", part, resamples=resamples)
        found.append(replace(result, scores=()))
    return tuple(found)


def _recordings(sessions: Sequence[LabelledSession]) -> str:
    """16 hex digits of the hash of the recordings' decompressed bytes."""
    state = blake2b(digest_size=8)
    for session in sorted(sessions, key=lambda s: s.labels.file):
        state.update(session.labels.file.encode() + b"\0")
        with open_lines(session.path) as lines:
            for line in lines:
                state.update(line)
    return state.hexdigest()
