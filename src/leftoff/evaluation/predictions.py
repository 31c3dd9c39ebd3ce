"""The predictions of a system for one session, as plain values for the scorer."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct

from leftoff.model import Ref
from leftoff.summary import ContextSummary, UserRequest

# Kinds of open items that come from a to-do list.
TO_DO = frozenset({"in_progress", "pending"})


class Prediction(Struct, frozen=True):
    """One prediction for one place (line or item). `kind`: type, kind or ""; `confidence`: 1 if
    the system gives none; `evidence`: of a milestone, else ""."""

    place: int
    text: str
    kind: str = ""
    confidence: float = 1.0
    evidence: str = ""


class Predictions(Struct, frozen=True):
    """The predictions of a system for one session; None for a task that it does not perform, so
    that it is not scored. `timeline`: (index of the message, stage) where it changes; `cuts`:
    the current stage at each cut, by the last place before it."""

    decisions: tuple[Prediction, ...] | None = None
    milestones: tuple[Prediction, ...] | None = None
    directives: tuple[Prediction, ...] | None = None
    open_items: tuple[Prediction, ...] | None = None
    timeline: tuple[tuple[int, str], ...] | None = None
    cuts: dict[int, str] | None = None


def from_summary(
    summary: ContextSummary, places: Mapping[int, int], cuts: Mapping[int, str] | None = None
) -> Predictions:
    """The predictions of a summary for its main thread.

    Args:
        places: message index to place, for refs without line and item.
        cuts: the current stage in summaries of the recording up to each cut.
    """

    def at(ref: Ref) -> int:
        if ref.source:
            return -1  # in a subagent's file
        place = ref.line if ref.line is not None else ref.item
        return places.get(ref.message, -1) if place is None else place

    return Predictions(
        decisions=tuple(
            Prediction(at(d.ref), d.text, d.type, d.confidence)
            for d in summary.key_decisions
            if d.owner == "agent"  # the labels mark none in the person's words
            and (summary.second_reader is UNSET or d.judged_by is not UNSET)
        ),
        milestones=tuple(
            Prediction(at(m.ref), m.text, m.kind, 1.0, m.evidence)
            for m in summary.progress.milestones
        ),
        directives=tuple(
            Prediction(at(r.ref), r.text, "task" if r.kind == "plan" else r.kind)
            for r in summary.user_requests
            if _is_directive(r)
        ),
        open_items=tuple(Prediction(at(s.ref), s.text, s.status) for s in summary.next_steps),
        timeline=tuple((c.ref.message, c.stage) for c in summary.progress.timeline),
        cuts=None if cuts is None else dict(cuts),
    )


# Kinds of requests that the labels call directives.
_DIRECTIVES = frozenset({"task", "plan", "constraint", "correction", "choice", "approval"})


def _is_directive(request: UserRequest) -> bool:
    """Whether a request asks for something: no remark, no mere question, no bare command."""
    if request.kind == "command":
        return len(request.text.split()) > 1
    return request.kind in _DIRECTIVES
