"""Explains a summary: why decisions, milestones and stages were reported or rejected."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from leftoff.analysis.activities import activities
from leftoff.analysis.claim_checks import Proof
from leftoff.analysis.decisions.person import ARROW
from leftoff.analysis.decisions.select import (
    REPORT_THRESHOLD,
    Candidate,
    key_decisions,
    scored,
    stated,
)
from leftoff.analysis.milestones import Claims
from leftoff.analysis.stages import MIN_RUN, Segment, labelled_segments, stage_runs, timeline
from leftoff.extraction.decision_model import MODEL, PERSON, SCALE
from leftoff.model import Ref
from leftoff.session_view import SessionView

# Margin below the threshold within which rejected candidates are still listed.
NEAR_MARGIN = 0.1

# Features of a sentence listed by name, those with the largest weights; the others are given as
# one sum.
TOP_FEATURES = 8


class Part(Struct, frozen=True):
    """A summand of the log odds that a sentence states a decision."""

    feature: str
    points: float


class DecisionExplanation(Struct, frozen=True):
    """Why a sentence was reported as a decision, or rejected.

    Attributes:
        reported: whether the summary has it.
        needed: the confidence from which it is reported.
        log_odds: of the sentence: the sum of `parts`, in which "bias" is the constant of the
            model and "others" the features that are not named. None for the person's own
            words.
        together: log odds that any of the message's `sentences` is one;
            `message_confidence`: the calibrated probability of it.
        place: of the message among the messages of the session, the likeliest first, from 1.
        how: where the confidence comes from, in words."""

    text: str
    type: str
    owner: str
    confidence: float
    reported: bool
    needed: float
    rule: str
    how: str
    ref: Ref
    log_odds: float | None = None
    parts: tuple[Part, ...] = ()
    together: float | None = None
    sentences: int = 0
    place: int = 0
    messages: int = 0
    message_confidence: float | None = None


class MilestoneExplanation(Struct, frozen=True):
    """Why a claim was reported as a milestone, or rejected.

    Attributes:
        rule: the rule that matched.
        evidence: verified | claimed | contradicted; "" where it is not reported.
        why: what its evidence rests on, or why it was rejected.
        shown: the tool output that decided, if any did; `shown_at`: its place."""

    text: str
    kind: str
    rule: str
    reported: bool
    evidence: str
    why: str
    ref: Ref
    shown: str = ""
    shown_at: Ref | None = None


class StageExplanation(Struct, frozen=True):
    """Why the timeline contains a stage, or does not.

    Attributes:
        turns: number of agent turns of the run.
        asked: intents of the request; "go on" inherits those of the request before.
        did: calls of the run by activity.
        declared: an explicit marker set it."""

    stage: str
    turns: int
    reported: bool
    why: str
    ref: Ref
    asked: tuple[str, ...] = ()
    did: dict[str, int] = {}
    declared: bool = False


class Explanation(Struct, frozen=True):
    """Everything that was reported or rejected, in the order of the recording."""

    threshold: float
    decisions: tuple[DecisionExplanation, ...]
    milestones: tuple[MilestoneExplanation, ...]
    stages: tuple[StageExplanation, ...]


def explain(view: SessionView) -> Explanation:
    """The explanation of the summary of a session."""
    return Explanation(REPORT_THRESHOLD, _decisions(view), _milestones(view), _stages(view))


# -- decisions ---------------------------------------------------------------------------------


def _decisions(view: SessionView) -> tuple[DecisionExplanation, ...]:
    in_summary = {d.ref.place: d for d in key_decisions(view)}
    lowest = max(0.0, REPORT_THRESHOLD - NEAR_MARGIN)
    listed = {d.ref.place: d for d in key_decisions(view, lowest)} | in_summary
    groups, scores = scored(view)
    where = {
        candidate.said.ref.place: (number, k)
        for number, group in enumerate(groups)
        for k, candidate in enumerate(group)
    }
    found: list[DecisionExplanation] = []
    for place in sorted(listed):
        decision, reported = listed[place], place in in_summary
        at = where.get(place) if decision.owner == "agent" else None
        needed = REPORT_THRESHOLD
        how = "the statement's own, calibrated with its rank in the session"
        own: dict[str, Any] = {}
        if at is not None:
            number, k = at
            group, together = groups[number], scores.odds[number]
            own = {
                "log_odds": round(scores.logits[number][k], 3),
                "parts": _parts(group[k]),
                "together": round(together, 3),
                "message_confidence": round(scores.message_chance(number), 3),
                "sentences": len(group),
                "place": scores.rank[together] + 1,
                "messages": len(scores.odds),
            }
        elif not reported and decision.confidence < PERSON.least / SCALE - NEAR_MARGIN:
            continue
        elif ARROW in decision.text:
            needed = 0.0
            how = "the share of answers to a question that are decisions, by reading"
        else:
            needed = PERSON.least / SCALE
            how = "the sentence's own, calibrated; in another language the share that is right"
        found.append(
            DecisionExplanation(
                text=decision.text,
                type=decision.type,
                owner=decision.owner,
                confidence=decision.confidence,
                reported=reported,
                needed=needed,
                rule=decision.rule,
                how=how,
                ref=decision.ref,
                **own,
            )
        )
    return tuple(found)


def _parts(candidate: Candidate) -> tuple[Part, ...]:
    """The summands of a sentence's log odds: bias, top features, sum of the others."""
    weights = [(name, MODEL.weights.get(name, 0)) for name in candidate.features]
    ranked = sorted((w for w in weights if w[1]), key=lambda w: (-abs(w[1]), w[0]))
    parts = [Part("bias", MODEL.bias / SCALE)]
    parts += [Part(name, points) for name, points in stated(candidate).items()]
    parts += [Part(name, weight / SCALE) for name, weight in ranked[:TOP_FEATURES]]
    rest = sum(weight for _, weight in ranked[TOP_FEATURES:])
    if ranked[TOP_FEATURES:]:
        parts.append(Part("others", rest / SCALE))
    return tuple(parts)


# -- milestones --------------------------------------------------------------------------------


_UNSAID = Proof("verified", "a tool shows it, and the agent does not say it near there")


def _milestones(view: SessionView) -> tuple[MilestoneExplanation, ...]:
    claims = Claims(view)
    found: list[MilestoneExplanation] = []
    for m in claims.judge():
        said = claims.sources.get(m)
        proof = claims.proof_of(said, m.kind) if said is not None else _UNSAID
        rule = said.rule if said is not None else ""
        found.append(
            MilestoneExplanation(
                m.text, m.kind, rule, True, m.evidence, proof.why, m.ref, proof.text, proof.ref
            )
        )
    found += [
        MilestoneExplanation(
            said.text, said.value, said.rule, False, "", why, view.ref(said.ref)
        )
        for said, why in claims.left_out
    ]
    found.sort(key=lambda m: (*m.ref.place, not m.reported, m.kind, m.rule))
    return tuple(found)


# -- stages ------------------------------------------------------------------------------------


def _stages(view: SessionView) -> tuple[StageExplanation, ...]:
    """Every run of turns with one stage: those of the timeline, and the short ones that it
    merges into the run before."""
    segments = labelled_segments(view)
    starts = [start for _, start in stage_runs(segments)]
    begins = dict(zip(starts, timeline(view), strict=True))
    done: dict[int, Counter[str]] = {}
    for (message, _), kinds in activities(view).items():
        done.setdefault(view.turns[message], Counter()).update(kinds)
    markers = [(s.ref.message, s.value.casefold()) for s in view.sentences("stage")]
    runs: list[tuple[str, list[int], Segment, bool]] = []
    latest: list[int] = []
    for stage, run, segment in _runs(segments):
        reported = run[0] in begins and begins[run[0]].stage == stage
        if not reported and runs and stage == next(t[0] for t in reversed(runs) if t[3]):
            latest += run  # continues after a short run of another stage
            continue
        runs.append((stage, run, segment, reported))
        latest = run if reported else latest
    found: list[StageExplanation] = []
    for stage, run, segment, reported in runs:
        did: Counter[str] = Counter()
        for first in run:
            did.update(done.get(view.turns[first], Counter()))
        declared = any(at in range(run[0], run[-1] + 1) and m == stage for at, m in markers)
        reason = "an explicit marker" if declared else "what was asked, and what the calls did"
        if not reported:
            reason = f"shorter than {MIN_RUN} turns, counted to the run before"
        found.append(
            StageExplanation(
                stage,
                len(run),
                reported,
                reason,
                begins[run[0]].ref if reported else view.ref(Ref(message=run[0])),
                tuple(sorted(segment.intents)),
                dict(sorted(did.items(), key=lambda item: (-item[1], item[0]))),
                declared,
            )
        )
    return tuple(found)


def _runs(segments: Sequence[Segment]) -> list[tuple[str, list[int], Segment]]:
    """Stage, first messages of the turns, and the segment in which it began, of each run."""
    turns = [(turn, segment) for segment in segments for turn in segment.turns]
    runs = (list(run) for _, run in groupby(turns, key=lambda pair: pair[0].stage))
    return [(r[0][0].stage, [turn.message for turn, _ in r], r[0][1]) for r in runs]
