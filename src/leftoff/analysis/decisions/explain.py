"""Why a summary says what it says of decisions, milestones and stages, and what it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from leftoff.analysis.activities import activities
from leftoff.analysis.decisions.select import (
    ANSWERED,
    REPORTED,
    Candidate,
    Groups,
    key_decisions,
    scored,
    stated,
)
from leftoff.analysis.milestones import Claims
from leftoff.analysis.stages import LASTS, Stretch, labelled, timeline
from leftoff.extraction.decision_model import MODEL, SCALE
from leftoff.model import Ref
from leftoff.session_view import Story
from leftoff.summary import KeyDecision

NEAR = 0.1
"""How far below the threshold a decision that was left out is still told."""

LOUDEST = 8
"""Features of a sentence that are named; the others are told as one sum."""


class Part(Struct, frozen=True):
    """A summand of the log odds that a sentence states a decision."""

    feature: str
    points: float


class DecisionWhy(Struct, frozen=True):
    """Why a sentence was told as a decision, or was not.

    Attributes:
        reported: whether the summary has it.
        needed: the confidence from which it is reported.
        log_odds: of the sentence: the sum of `parts`, in which "bias" is what every sentence
            begins with and "others" all that is not named. None for the person's own words.
        together: log odds that any of the message's `sentences` is one.
        place: of the message among the messages of the session, the likeliest first, from 1.
        how: where the confidence comes from, in words.
    """

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


class MilestoneWhy(Struct, frozen=True):
    """Why a claim was told as a milestone, or was not.

    Attributes:
        rule: the pattern that fired.
        evidence: verified | claimed | contradicted; "" where it is not reported.
        why: what its evidence rests on, or why it was left out.
        shown: the tool's words that decided, if any did, and `shown_at`, where they stand.
    """

    text: str
    kind: str
    rule: str
    reported: bool
    evidence: str
    why: str
    ref: Ref
    shown: str = ""
    shown_at: Ref | None = None


class StageWhy(Struct, frozen=True):
    """Why the timeline has a stage, or has not.

    Attributes:
        turns: agent turns of the run.
        asked: what the request that it answers was about; "go on" carries the earlier one's.
        did: calls of the run by what they were for.
        declared: an explicit marker set it.
    """

    stage: str
    turns: int
    reported: bool
    why: str
    ref: Ref
    asked: tuple[str, ...] = ()
    did: dict[str, int] = {}
    declared: bool = False


class Explanation(Struct, frozen=True):
    """Everything that was weighed, told and left out, in the order of the recording."""

    threshold: float
    decisions: tuple[DecisionWhy, ...]
    milestones: tuple[MilestoneWhy, ...]
    stages: tuple[StageWhy, ...]


def explain(story: Story, near: float = NEAR) -> Explanation:
    """Why the summary of a story says what it says.

    Args:
        near: how far below the threshold decisions that were left out are told.
    """
    return Explanation(REPORTED, _decisions(story, near), _milestones(story), _stages(story))


# -- decisions ---------------------------------------------------------------------------------


def _decisions(story: Story, near: float) -> tuple[DecisionWhy, ...]:
    told = {_place(d.ref): d for d in key_decisions(story)}
    lowest = max(0.0, min(MODEL.least, MODEL.least_alone) / SCALE - near)
    weighed = {_place(d.ref): d for d in key_decisions(story, lowest)} | told
    groups = Groups(story, story.said("decision"))
    scores = scored(groups, MODEL)
    where = {
        _place(candidate.said.ref): (number, k)
        for number, group in enumerate(groups)
        for k, candidate in enumerate(group)
    }
    found: list[DecisionWhy] = []
    for place in sorted(weighed):
        decision, reported = weighed[place], place in told
        at = where.get(place) if decision.owner == "agent" else None
        if at is None:
            found.append(_persons(decision, reported))
            continue
        number, k = at
        group, logits = groups[number], scores.logits[number]
        top = max(range(len(group)), key=lambda j: (logits[j], -j)) == k
        together = scores.odds[number]
        rank = scores.rank[together]
        alone = not top and MODEL.whole(together, rank) >= REPORTED
        needed = (MODEL.least_alone if alone else MODEL.least) / SCALE
        if not reported and decision.confidence < needed - near:
            continue
        found.append(
            DecisionWhy(
                text=decision.text,
                type=decision.type,
                owner="agent",
                confidence=decision.confidence,
                reported=reported,
                needed=needed,
                rule=decision.rule,
                how=(
                    "the message as a whole, calibrated with its place in the session"
                    if top
                    else "a further sentence of its message: its own, at most the message's"
                ),
                ref=decision.ref,
                log_odds=round(logits[k], 3),
                parts=_parts(group[k]),
                together=round(together, 3),
                sentences=len(group),
                place=rank + 1,
                messages=len(scores.odds),
            )
        )
    return tuple(found)


def _persons(decision: KeyDecision, reported: bool) -> DecisionWhy:
    answer = decision.confidence == ANSWERED
    return DecisionWhy(
        text=decision.text,
        type=decision.type,
        owner=decision.owner,
        confidence=decision.confidence,
        reported=reported,
        needed=0.0,
        rule=decision.rule,
        how="set, not learnt: "
        + ("an answer to a question tool" if answer else "the person's words pick one way"),
        ref=decision.ref,
    )


def _parts(candidate: Candidate) -> tuple[Part, ...]:
    """The log odds of a sentence, taken apart: the loudest features, the rest, the bias."""
    weights = [(name, MODEL.weights.get(name, 0)) for name in candidate.features]
    heard = sorted((w for w in weights if w[1]), key=lambda w: (-abs(w[1]), w[0]))
    parts = [Part("bias", MODEL.bias / SCALE)]
    parts += [Part(name, points) for name, points in stated(candidate).items()]
    parts += [Part(name, weight / SCALE) for name, weight in heard[:LOUDEST]]
    rest = sum(weight for _, weight in heard[LOUDEST:])
    if heard[LOUDEST:]:
        parts.append(Part("others", rest / SCALE))
    return tuple(parts)


def _place(ref: Ref) -> tuple[int, int, int]:
    return ref.message, ref.part or 0, ref.start or 0


# -- milestones --------------------------------------------------------------------------------


def _milestones(story: Story) -> tuple[MilestoneWhy, ...]:
    claims = Claims(story)
    found: list[MilestoneWhy] = []
    for milestone in claims.judge():
        if milestone.speaker == "tool":
            rule, why, shown = "", "a tool shows it, and nobody said it near there", None
        else:
            said = claims.sources[milestone]
            rule = said.rule
            _, why, shown = claims.grounds(said, milestone.kind)
        found.append(
            MilestoneWhy(
                milestone.text,
                milestone.kind,
                rule,
                True,
                milestone.evidence,
                why,
                milestone.ref,
                shown.text if shown is not None else "",
                story.ref(shown.ref) if shown is not None else None,
            )
        )
    found += [
        MilestoneWhy(said.text, said.value, said.rule, False, "", why, story.ref(said.ref))
        for said, why in claims.left_out
    ]
    found.sort(key=lambda m: (*_place(m.ref), not m.reported, m.kind, m.rule))
    return tuple(found)


# -- stages ------------------------------------------------------------------------------------


def _stages(story: Story) -> tuple[StageWhy, ...]:
    """Every run of turns with one stage: those that the timeline has, and the short ones that
    it counts to the run before."""
    begins = {change.ref.message: change.stage for change in timeline(story)}
    done: dict[int, Counter[str]] = {}
    for (message, _), kinds in activities(story).items():
        done.setdefault(story.turns.get(message, -1), Counter()).update(kinds)
    markers = [(s.ref.message, s.value.casefold()) for s in story.said("stage")]
    told: list[tuple[str, list[int], Stretch, bool]] = []
    latest: list[int] = []
    for stage, run, stretch in _runs(labelled(story)):
        reported = begins.get(run[0]) == stage
        if not reported and told and stage == next(t[0] for t in reversed(told) if t[3]):
            latest += run  # after a short run of another stage it goes on
            continue
        told.append((stage, run, stretch, reported))
        latest = run if reported else latest
    found: list[StageWhy] = []
    for stage, run, stretch, reported in told:
        did: Counter[str] = Counter()
        for first in run:
            did.update(done.get(story.turns.get(first, -1), Counter()))
        declared = any(at in range(run[0], run[-1] + 1) and m == stage for at, m in markers)
        found.append(
            StageWhy(
                stage,
                len(run),
                reported,
                _stage_words(reported=reported, declared=declared),
                story.ref(Ref(message=run[0])),
                tuple(sorted(stretch.mood)),
                dict(sorted(did.items(), key=lambda item: (-item[1], item[0]))),
                declared,
            )
        )
    return tuple(found)


def _stage_words(*, reported: bool, declared: bool) -> str:
    if not reported:
        return f"shorter than {LASTS} turns, counted to the run before"
    return "an explicit marker" if declared else "what was asked, and what the calls did"


def _runs(stretches: Sequence[Stretch]) -> list[tuple[str, list[int], Stretch]]:
    """Stage, first messages of the turns, and the stretch in which it began, of each run."""
    found: list[tuple[str, list[int], Stretch]] = []
    for stretch in stretches:
        for turn in stretch.turns:
            if found and found[-1][0] == turn.stage:
                found[-1][1].append(turn.message)
            else:
                found.append((turn.stage, [turn.message], stretch))
    return found
