"""What a system says about one session, as plain values that the scorer compares."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from leftoff.model import Ref
from leftoff.summary import ContextSummary


class Claim(Struct, frozen=True):
    """One thing said about one place.

    Attributes:
        place: line or item.
        text: the words.
        kind: type, kind or "".
        confidence: 0 to 1; 1 where the system gives none.
        evidence: of a milestone.
    """

    place: int
    text: str
    kind: str = ""
    confidence: float = 1.0
    evidence: str = ""


class Predictions(Struct, frozen=True):
    """What a system says about one session.

    None where the system does not speak of the matter at all, so that it is not scored.

    Attributes:
        timeline: (index of the message, stage) change points in order.
        cuts: the current stage by the last place read.
    """

    decisions: tuple[Claim, ...] | None = None
    milestones: tuple[Claim, ...] | None = None
    directives: tuple[Claim, ...] | None = None
    open_items: tuple[Claim, ...] | None = None
    timeline: tuple[tuple[int, str], ...] | None = None
    cuts: dict[int, str] | None = None


def from_summary(
    summary: ContextSummary, places: Mapping[int, int], cuts: Mapping[int, str] | None = None
) -> Predictions:
    """What a summary says about its main thread.

    Args:
        places: index of a message to its place, for refs that name only the message.
        cuts: the current stage of summaries of the recording's beginnings.
    """

    def at(ref: Ref) -> int:
        if ref.source:
            return -1  # in a subagent's file
        place = ref.line if ref.line is not None else ref.item
        return places.get(ref.message, -1) if place is None else place

    return Predictions(
        decisions=tuple(
            Claim(at(d.ref), d.text, d.type, d.confidence) for d in summary.key_decisions
        ),
        milestones=tuple(
            Claim(at(m.ref), m.text, m.kind, 1.0, m.evidence)
            for m in summary.progress.milestones
        ),
        directives=tuple(Claim(at(r.ref), r.text, r.kind) for r in summary.user_requests),
        open_items=tuple(Claim(at(s.ref), s.text) for s in summary.next_steps),
        timeline=tuple((c.ref.message, c.stage) for c in summary.progress.timeline),
        cuts=None if cuts is None else dict(cuts),
    )
