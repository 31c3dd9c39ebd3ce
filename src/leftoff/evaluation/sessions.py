"""What the scorer is given: a labelled session, with places, speakers and turns, and the
predictions of a system for it."""

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import UNSET, Struct

from leftoff.evaluation.labels import Labels, label_problems, relocated
from leftoff.evaluation.matching import beside
from leftoff.live.compactions import place_of
from leftoff.model import Message, Ref
from leftoff.summary import ContextSummary, UserRequest

# Random cuts in each session at which the current stage is scored. Chosen by hand.
CUTS = 10


class LabelledSession:
    """Labels, and the messages of the main thread that the annotator read, in file order.
    `lines`: number of lines of the recording that hold them, None for all. `problems`: labels
    whose place or quote is wrong, as sentences. `moves`: see `labels.relocated`."""

    def __init__(self, labels: Labels, path: str, messages: Sequence[Message]) -> None:
        self.path = path
        until = labels.until
        unread = [] if until is None else [m.line for m in messages if (m.line or 0) > until]
        self.lines = min((line - 1 for line in unread if line), default=None)
        self.messages = tuple(
            m
            for m in messages
            if not m.agent and (self.lines is None or (m.line or 0) <= self.lines)
        )
        self.labels, self.moves = relocated(labels, self.texts, self.user_places)
        self.problems = label_problems(self.labels, self.texts)

    @cached_property
    def texts(self) -> dict[int, str]:
        """Visible text by place."""
        found: dict[int, str] = {}
        for message in self.messages:
            if message.text.strip():
                place = place_of(message)
                before = found.get(place)
                found[place] = message.text if before is None else f"{before}\n\n{message.text}"
        return found

    @cached_property
    def agent_places(self) -> dict[int, str]:
        """Text of the agent by place."""
        return self._texts_of("assistant")

    @cached_property
    def user_places(self) -> dict[int, str]:
        """Text in the role of the user by place, typed or injected."""
        return self._texts_of("user")

    def _texts_of(self, role: str) -> dict[int, str]:
        places = {place_of(m) for m in self.messages if m.role == role and m.text.strip()}
        return {place: text for place, text in self.texts.items() if place in places}

    def beside(self, place: int, quote: str) -> str:
        """The words beside a quote that speak of the same item: a person's message is about one
        thing, an agent's holds many."""
        text = self.texts.get(place, "")
        return text if place in self.user_places else beside(text, quote)

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        """Place and message index of the first message of each agent turn."""
        seen: set[str] = set()
        found: list[tuple[int, int]] = []
        for message in self.messages:
            if message.role != "assistant":
                continue
            if message.response:
                if message.response in seen:
                    continue
                seen.add(message.response)
            found.append((place_of(message), message.index))
        return found

    def stage_at(self, place: int) -> str:
        """The labelled stage at a place; "" before the first label."""
        stages = sorted(self.labels.stages, key=lambda s: s.line)
        number = bisect_right([s.line for s in stages], place)
        return stages[number - 1].stage if number else ""

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The last place before each random cut; the generator is seeded.

        A cut lies at or after the agent's first turn and the first labelled stage."""
        if not self.turns or not self.labels.stages:
            return ()
        first = max(self.turns[0][0], min(s.line for s in self.labels.stages))
        places = sorted({place_of(m) for m in self.messages if place_of(m) >= first})
        rng = random.Random(self.labels.file)  # noqa: S311 - must be repeatable
        return tuple(sorted(rng.sample(places, min(CUTS, len(places)))))


# -- what a system says of a session -----------------------------------------------------------

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
        cuts: the current stage in summaries of the recording up to each cut."""

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
