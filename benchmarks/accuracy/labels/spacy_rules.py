"""A spaCy rule set of the usual kind: token patterns on blank English, written from the
guideline's wording without looking at any recording."""

from __future__ import annotations

from typing import Any

import spacy
from spacy.matcher import Matcher

from leftoff.evaluation.predictions import Claim, Predictions
from leftoff.evaluation.sessions import Session
from leftoff.text.markdown import sentences

_WE = {"LOWER": {"IN": ["i", "we"]}}
_WILL = {"LOWER": {"IN": ["will", "'ll", "’ll"]}}
_AM = {"LOWER": {"IN": ["am", "are", "'m", "’m", "'re", "’re"]}}
_CHOOSE = {
    "LOWER": {
        "IN": [
            "use", "keep", "add", "drop", "skip", "replace", "remove", "switch", "store",
            "split", "move", "leave", "avoid", "reuse", "treat", "default",
        ]
    }
}  # fmt: skip
_CHOOSING = {
    "LOWER": {
        "IN": [
            "using", "keeping", "adding", "dropping", "skipping", "replacing", "removing",
            "switching", "storing", "splitting", "moving", "leaving", "reusing", "going",
        ]
    }
}  # fmt: skip

PATTERNS: dict[str, list[list[dict[str, Any]]]] = {
    "approach": [
        [_WE, _WILL, {"OP": "?"}, _CHOOSE],
        [_WE, _AM, {"OP": "?"}, _CHOOSING],
        [{"LOWER": {"IN": ["decided", "choosing", "opting", "settled"]}}],
        [{"LOWER": "going"}, {"LOWER": {"IN": ["with", "for"]}}],
        [{"LOWER": "let"}, {"LOWER": {"IN": ["'s", "’s", "me"]}}, _CHOOSE],
        [{"LOWER": "rather"}, {"LOWER": "than"}],
        [{"LOWER": "instead"}, {"LOWER": "of"}],
        [{"LOWER": "out"}, {"LOWER": "of"}, {"LOWER": "scope"}],
    ],
    "fix": [
        [{"LOWER": "the"}, {"LOWER": "fix"}, {"LOWER": {"IN": ["is", "was", ":"]}}],
        [{"LOWER": "root"}, {"LOWER": "cause"}],
        [{"LOWER": "so"}, _WE, _WILL],
        [_WE, _WILL, {"OP": "?"}, {"LOWER": "fix"}],
    ],
    "architecture": [
        [{"LOWER": {"IN": ["architecture", "design"]}}, {"LOWER": {"IN": ["is", ":"]}}],
    ],
}


def spacy_rules(session: Session) -> Predictions:
    """Every sentence of the agent that one of the patterns matches, all equally sure."""
    language, matcher = _pipeline()
    claims: list[Claim] = []
    for place, text in sorted(session.agent_places.items()):
        spans = [text[start:end] for start, end in sentences(text)]
        for document in language.pipe(spans):
            if document.text.rstrip().endswith("?"):
                continue
            kinds = sorted({language.vocab.strings[found] for found, _, _ in matcher(document)})
            if kinds:
                claims.append(Claim(place, document.text, kinds[-1]))
    return Predictions(decisions=tuple(claims))


_made: list[tuple[Any, Any]] = []


def _pipeline() -> tuple[Any, Any]:
    if not _made:
        language = spacy.blank("en")
        matcher = Matcher(language.vocab)
        for kind, patterns in PATTERNS.items():
            matcher.add(kind, patterns)
        _made.append((language, matcher))
    return _made[0]
