"""The baselines: plain patterns, and everything a decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from leftoff.evaluation.predictions import Prediction, Predictions
from leftoff.evaluation.sessions import LabelledSession
from leftoff.live.compactions import place_of
from leftoff.summary import STAGES
from leftoff.tables import table

_SEED001 = table(__file__, "patterns.toml")["seed001"]
DECISION_PATTERNS: tuple[tuple[str, str, float], ...] = tuple(map(tuple, _SEED001["decisions"]))
STAGE_PATTERNS: tuple[str, ...] = tuple(_SEED001["stages"])
MILESTONE_PATTERNS: tuple[tuple[str, str], ...] = tuple(map(tuple, _SEED001["milestones"]))
_FLAGS = re.IGNORECASE | re.ASCII
_DECISIONS = [
    (re.compile(p, _FLAGS), kind, confidence) for p, kind, confidence in DECISION_PATTERNS
]
_STAGES = [re.compile(p, _FLAGS) for p in STAGE_PATTERNS]
_MILESTONES = [(re.compile(p, _FLAGS), kind) for p, kind in MILESTONE_PATTERNS]
# The most frequent stage among the labelled turns.
MOST_COMMON_STAGE = "implementation"


def seed001(session: LabelledSession) -> Predictions:
    """Seed 001's patterns on the agent's words, its stage markers on all messages."""
    decisions: list[Prediction] = []
    milestones: list[Prediction] = []
    for place, text in sorted(session.agent_places.items()):
        for pattern, kind, confidence in _DECISIONS:
            if found := pattern.search(text):
                decisions.append(Prediction(place, found[0], kind, confidence))
        for pattern, kind in _MILESTONES:
            if found := pattern.search(text):
                milestones.append(Prediction(place, found[0], kind))
    timeline: list[tuple[int, str]] = []
    stage_now: list[tuple[int, str]] = []
    for message in session.messages:
        for pattern in (_STAGES[0], _STAGES[2]):
            found = pattern.search(message.text)
            if found and found[1].casefold() in STAGES:
                timeline.append((message.index, found[1].casefold()))
                stage_now.append((place_of(message), found[1].casefold()))
    return Predictions(
        decisions=tuple(decisions),
        milestones=tuple(milestones),
        timeline=tuple(timeline),
        cuts={
            cut: next((s for place, s in reversed(stage_now) if place <= cut), "")
            for cut in session.cuts
        },
    )


def everything(session: LabelledSession) -> Predictions:
    """Every agent message as a decision, every user message a task, one stage throughout."""
    first = session.messages[0].index if session.messages else 0
    return Predictions(
        decisions=tuple(
            Prediction(place, text, "fix")
            for place, text in sorted(session.agent_places.items())
        ),
        directives=tuple(
            Prediction(place, text, "task")
            for place, text in sorted(session.user_places.items())
        ),
        timeline=((first, MOST_COMMON_STAGE),),
        cuts=dict.fromkeys(session.cuts, MOST_COMMON_STAGE),
    )


# The baselines by name. One that is trained is measured by `benchmarks.accuracy.labels`.
RULES: Mapping[str, Callable[[LabelledSession], Predictions]] = MappingProxyType(
    {"plain patterns": seed001, "every message, one stage": everything}
)
