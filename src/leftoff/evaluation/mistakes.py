"""The worst misses and false alarms of each kind, with the surrounding text."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from leftoff.evaluation.matching import match_spans
from leftoff.evaluation.predictions import Prediction, Predictions
from leftoff.evaluation.sessions import LabelledSession

CONTEXT_CHARACTERS = 240
"""Code points of context on each side of the words. Chosen by hand."""


class Mistake(Struct, frozen=True):
    """A miss or a false alarm.

    Attributes:
        weight: importance of a missed label, or confidence of a false alarm.
        kind: labelled or predicted type.
        words: the labelled quote, or the predicted text.
        context: the text around it.
    """

    file: str
    place: int
    weight: float
    kind: str
    words: str
    context: str


def mistakes(
    sessions: Sequence[LabelledSession], predictions: Sequence[Predictions], limit: int = 40
) -> dict[str, tuple[tuple[Mistake, ...], tuple[Mistake, ...]]]:
    """Misses and false alarms at message level, by kind of label, worst first.

    Args:
        limit: maximum number of each.
    """
    found: dict[str, tuple[list[Mistake], list[Mistake]]] = {
        name: ([], []) for name in ("key decisions", "milestones", "directives", "open items")
    }
    for session, predicted in zip(sessions, predictions, strict=True):
        labels = session.labels
        repeats = {place for d in labels.decisions for place in d.also}
        _compare(
            found["key decisions"],
            session,
            predicted.decisions,
            [(d.line, d.quote, d.type, float(d.importance)) for d in labels.decisions],
            session.agent_places.keys() - repeats | {d.line for d in labels.decisions},
        )
        _compare(
            found["milestones"],
            session,
            predicted.milestones,
            [(m.line, m.quote, m.kind, 1.0) for m in labels.milestones],
            session.agent_places.keys() | session.user_places.keys(),
            with_kind=True,
        )
        _compare(
            found["directives"],
            session,
            predicted.directives,
            [(d.line, d.quote, d.kind, 1.0) for d in labels.directives],
            session.user_places.keys(),
        )
        _compare(
            found["open items"],
            session,
            predicted.open_items,
            [(o.line, o.quote, "", 1.0) for o in labels.open_items],
            session.texts.keys(),
        )
    return {name: (_worst(a, limit), _worst(b, limit)) for name, (a, b) in found.items()}


def _worst(found: list[Mistake], limit: int) -> tuple[Mistake, ...]:
    return tuple(sorted(found, key=lambda m: (-m.weight, m.file, m.place, m.words))[:limit])


def _compare(
    into: tuple[list[Mistake], list[Mistake]],
    session: LabelledSession,
    predicted: Sequence[Prediction] | None,
    labelled: Sequence[tuple[int, str, str, float]],
    places: AbstractSet[int],
    *,
    with_kind: bool = False,
) -> None:
    if predicted is None:
        return
    candidates = [c for c in predicted if c.place in places]
    predicted_keys = {(c.place, c.kind) if with_kind else c.place for c in candidates}
    labelled_keys = {(place, kind) if with_kind else place for place, _, kind, _ in labelled}
    misses, false_alarms = into
    for place, quote, kind, weight in labelled:
        if ((place, kind) if with_kind else place) not in predicted_keys:
            misses.append(_mistake(session, place, weight, kind, quote))
    false_alarms += [
        _mistake(session, c.place, c.confidence, c.kind, c.text)
        for c in candidates
        if ((c.place, c.kind) if with_kind else c.place) not in labelled_keys
    ]


def _mistake(
    session: LabelledSession, place: int, weight: float, kind: str, words: str
) -> Mistake:
    text = session.texts.get(place, "")
    start = max(text.find(words), 0)
    before = max(0, start - CONTEXT_CHARACTERS)
    after = min(len(text), start + len(words) + CONTEXT_CHARACTERS)
    context = text[before:after]
    if before:
        context = "… " + context
    if after < len(text):
        context += " …"
    return Mistake(session.labels.file, place, weight, kind, words, context)


def confused_types(
    sessions: Sequence[LabelledSession], predictions: Sequence[Predictions], limit: int = 40
) -> tuple[tuple[Mistake, str], ...]:
    """Decisions that were found with another type than labelled, with the predicted type."""
    found: list[tuple[Mistake, str]] = []
    for session, predicted in zip(sessions, predictions, strict=True):
        candidates = predicted.decisions or ()
        labels = session.labels.decisions
        matched = match_spans(
            [(c.place, c.text) for c in candidates], [(d.line, d.quote) for d in labels]
        )
        for i, j in matched:
            label = labels[j]
            if candidates[i].kind != label.type:
                mistake = _mistake(
                    session, label.line, float(label.importance), label.type, label.quote
                )
                found.append((mistake, candidates[i].kind))
    found.sort(key=lambda pair: (-pair[0].weight, pair[0].file, pair[0].place))
    return tuple(found[:limit])
