"""Decisions with spaCy: an extractor that runs when it is named (`--extractor spacy`).

It is a second opinion that no labelled session has trained: sentences of the agent that match
token patterns of spaCy appear among the findings, with the type of decision as their kind. The
key decisions of the summary remain those of the default detector. docs/accuracy.md compares
the two. Importing this module imports spaCy; nothing else in leftoff does."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar

from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.extraction.evidence import Evidence, Said
from leftoff.extraction.extractor import MAX_SENTENCE, TEXT, View
from leftoff.text.markdown import sentences

try:
    import spacy
    from spacy.matcher import Matcher
except ImportError:
    raise UsageError("decisions with spaCy need `pip install 'leftoff[spacy]'`") from None

_WE = {"LOWER": {"IN": ["i", "we"]}}
_WILL = {"LOWER": {"IN": ["will", "'ll", "’ll"]}}
_AM = {"LOWER": {"IN": ["am", "are", "'m", "’m", "'re", "’re"]}}
_CHOOSE = {
    "LOWER": {
        "IN": "use keep add drop skip replace remove switch store split move leave avoid reuse"
        " treat default".split()
    }
}
_CHOOSING = {
    "LOWER": {
        "IN": "using keeping adding dropping skipping replacing removing switching storing"
        " splitting moving leaving reusing going".split()
    }
}

# Token patterns by type of decision, written from the labelling guideline alone.
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
        [{"LOWER": {"IN": ["architecture", "design"]}}, {"LOWER": {"IN": ["is", ":"]}}]
    ],
}


class SpacyDecisions(Struct):
    """Reports the sentences of the agent that match a token pattern as findings."""

    name: ClassVar[str] = "spacy"
    wants: ClassVar[int] = TEXT

    def see(self, view: View) -> Iterable[Evidence]:
        found: list[Evidence] = []
        for number, whole in view.texts:
            for start, end in sentences(whole):
                text = whole[start:end]
                kind = matched_type(text) if len(text) <= MAX_SENTENCE else ""
                if kind:
                    ref = view.text_ref(number, start, end)
                    found.append(Said("finding", f"decision_{kind}", ref, text))
        return found


def matched_type(sentence: str) -> str:
    """The type of decision whose token patterns match a sentence; "" if none does."""
    if sentence.rstrip().endswith("?"):
        return ""
    language, matcher = _pipeline()
    names = language.vocab.strings
    return max((names[found] for found, _, _ in matcher(language(sentence))), default="")


@lru_cache(maxsize=1)
def _pipeline() -> tuple[Any, Any]:
    language = spacy.blank("en")
    matcher = Matcher(language.vocab)
    for kind, patterns in PATTERNS.items():
        matcher.add(kind, patterns)
    return language, matcher
