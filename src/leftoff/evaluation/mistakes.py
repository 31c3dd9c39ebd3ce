"""The worst misses and false alarms of each kind, with the words around them."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from leftoff.evaluation.matching import pairs
from leftoff.evaluation.predictions import Claim, Predictions
from leftoff.evaluation.sessions import Session

AROUND = 240
"""Code points shown on each side of the words."""


class Mistake(Struct, frozen=True):
    """Something missed or invented.

    Attributes:
        weight: importance of a missed label, confidence of a false alarm; worst first.
        kind: labelled or said type.
        words: the quote, or what was said.
        context: the text around it.
    """

    file: str
    place: int
    weight: float
    kind: str
    words: str
    context: str


def mistakes(
    sessions: Sequence[Session], predictions: Sequence[Predictions], most: int = 40
) -> dict[str, tuple[tuple[Mistake, ...], tuple[Mistake, ...]]]:
    """Misses and false alarms at message level by what is labelled, worst first.

    Args:
        most: how many of each are kept.
    """
    found: dict[str, tuple[list[Mistake], list[Mistake]]] = {
        name: ([], []) for name in ("key decisions", "milestones", "directives", "open items")
    }
    for session, said in zip(sessions, predictions, strict=True):
        labels = session.labels
        repeats = {place for d in labels.decisions for place in d.also}
        _compare(
            found["key decisions"],
            session,
            said.decisions,
            [(d.line, d.quote, d.type, float(d.importance)) for d in labels.decisions],
            session.agent_places.keys() - repeats | {d.line for d in labels.decisions},
        )
        _compare(
            found["milestones"],
            session,
            said.milestones,
            [(m.line, m.quote, m.kind, 1.0) for m in labels.milestones],
            session.agent_places.keys() | session.user_places.keys(),
            with_kind=True,
        )
        _compare(
            found["directives"],
            session,
            said.directives,
            [(d.line, d.quote, d.kind, 1.0) for d in labels.directives],
            session.user_places.keys(),
        )
        _compare(
            found["open items"],
            session,
            said.open_items,
            [(o.line, o.quote, "", 1.0) for o in labels.open_items],
            session.texts.keys(),
        )
    return {name: (_worst(a, most), _worst(b, most)) for name, (a, b) in found.items()}


def _worst(found: list[Mistake], most: int) -> tuple[Mistake, ...]:
    return tuple(sorted(found, key=lambda m: (-m.weight, m.file, m.place, m.words))[:most])


def _compare(
    into: tuple[list[Mistake], list[Mistake]],
    session: Session,
    said: Sequence[Claim] | None,
    labelled: Sequence[tuple[int, str, str, float]],
    places: AbstractSet[int],
    *,
    with_kind: bool = False,
) -> None:
    if said is None:
        return
    claims = [c for c in said if c.place in places]
    told = {(c.place, c.kind) if with_kind else c.place for c in claims}
    gold = {(place, kind) if with_kind else place for place, _, kind, _ in labelled}
    misses, alarms = into
    for place, quote, kind, weight in labelled:
        if ((place, kind) if with_kind else place) not in told:
            misses.append(_mistake(session, place, weight, kind, quote))
    alarms += [
        _mistake(session, c.place, c.confidence, c.kind, c.text)
        for c in claims
        if ((c.place, c.kind) if with_kind else c.place) not in gold
    ]


def _mistake(session: Session, place: int, weight: float, kind: str, words: str) -> Mistake:
    text = session.texts.get(place, "")
    start = max(text.find(words), 0)
    before = max(0, start - AROUND)
    after = min(len(text), start + len(words) + AROUND)
    context = text[before:after]
    if before:
        context = "… " + context
    if after < len(text):
        context += " …"
    return Mistake(session.labels.file, place, weight, kind, words, context)


def confused_types(
    sessions: Sequence[Session], predictions: Sequence[Predictions], most: int = 40
) -> tuple[tuple[Mistake, str], ...]:
    """Decisions that were found with another type than labelled, with the type said."""
    found: list[tuple[Mistake, str]] = []
    for session, said in zip(sessions, predictions, strict=True):
        claims = said.decisions or ()
        labels = session.labels.decisions
        matched = pairs(
            [(c.place, c.text) for c in claims], [(d.line, d.quote) for d in labels]
        )
        for i, j in matched:
            label = labels[j]
            if claims[i].kind != label.type:
                mistake = _mistake(
                    session, label.line, float(label.importance), label.type, label.quote
                )
                found.append((mistake, claims[i].kind))
    found.sort(key=lambda pair: (-pair[0].weight, pair[0].file, pair[0].place))
    return tuple(found[:most])
