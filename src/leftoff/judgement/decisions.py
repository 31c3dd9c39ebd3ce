"""Which sentences are key decisions, of what type, and how sure that is."""

from __future__ import annotations

import re

from msgspec import Struct, field

from leftoff.extraction.rulebook import GROUPS
from leftoff.findings import KeyDecision
from leftoff.judgement.story import Story
from leftoff.model import Ref

REPORTED = 0.5
"""Decisions below this confidence are left out of a summary."""

_WEIGHTS = {rule.id: rule.weight for rule in GROUPS["decisions"]}
_OPEN = re.compile(
    r"\?\s*$|\b(?:would you like|do you want|should I|shall I|let me know|if you(?:'d| would)?"
    r"|want me to|I could|we could|might|may want|alternatively|one option|options? (?:is|are))\b",
    re.IGNORECASE,
)
_ROUTINE = re.compile(
    r"^\W*(?:now |next |first |then |ok(?:ay)?,? |good,? )*(?:let me|I['’]ll|I will|I['’]m going to"
    r"|let['’]s) (?:now |then |also |just |first |quickly )*(?:check|look|read|run|see|verify"
    r"|search|find|inspect|explore|view|open|examine|review|start|continue|test|try|take|get"
    r"|grep|list|show|confirm|investigate|trace|update the todo)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"^\W*(?:the|this) (?:old|existing|current|previous)\b", re.IGNORECASE)
_WHY = re.compile(
    r"\b(?:because|since|so that|so as to|to avoid|otherwise|which (?:means|keeps|avoids|lets)"
    r"|that way|as (?:it|this|that|the)\b)[^.!?\n]*|[—–-] (?=\w)[^.!?\n]+$",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"\b(?:rather than|instead of)\s+([^.;:!?\n—–]{3,120})", re.I)


class _Candidate(Struct):
    ref: Ref
    text: str
    rules: list[str] = field(default_factory=list)
    types: dict[str, float] = field(default_factory=dict)


def key_decisions(story: Story, least: float = REPORTED) -> tuple[KeyDecision, ...]:
    """The key decisions of a session in the order in which they were made.

    Each sentence counts once with all rules that fired on it; a sentence that says again what
    an earlier one said is left out.

    Args:
        least: the lowest confidence that is reported.
    """
    found: dict[tuple[int, int | None, int | None], _Candidate] = {}
    for said in story.said("decision"):
        place = (said.ref.message, said.ref.part, said.ref.start)
        candidate = found.setdefault(place, _Candidate(said.ref, said.text))
        candidate.rules.append(said.rule)
        weight = _WEIGHTS.get(said.rule, 0.3)
        candidate.types[said.value] = max(candidate.types.get(said.value, 0.0), weight)
    decisions: list[KeyDecision] = []
    told: set[str] = set()
    for candidate in found.values():
        confidence = _confidence(candidate)
        if confidence < least:
            continue
        words = " ".join(re.findall(r"\w+", candidate.text.casefold()))
        if words in told:
            continue
        told.add(words)
        decisions.append(_decision(story, candidate, confidence))
    return tuple(decisions)


def _confidence(candidate: _Candidate) -> float:
    """The rules' weights combined as independent signs, lowered by signs against."""
    text = candidate.text
    missing = 1.0
    for rule in candidate.rules:
        missing *= 1.0 - _WEIGHTS.get(rule, 0.3) * 0.8
    confidence = 1.0 - missing
    if _OPEN.search(text):
        confidence *= 0.3
    if _ROUTINE.match(text):
        confidence *= 0.35
    if _PAST.match(text):
        confidence *= 0.6
    if _WHY.search(text):
        confidence += (1 - confidence) * 0.15
    if len(text) < 25:
        confidence *= 0.7
    return round(confidence, 3)


def _decision(story: Story, candidate: _Candidate, confidence: float) -> KeyDecision:
    text = candidate.text
    kind = max(candidate.types, key=lambda k: (candidate.types[k], k == "fix"))
    why = _WHY.search(text)
    instead = _INSTEAD.search(text)
    return KeyDecision(
        text=text,
        type=kind,
        confidence=confidence,
        message_index=candidate.ref.message,
        ref=story.ref(candidate.ref),
        rationale=why[0].lstrip("—–- ").strip() if why else "",
        alternative=instead[1].strip() if instead else "",
        rule=" ".join(sorted(set(candidate.rules))),
    )


