"""Key decisions with spaCy: an extractor for summaries, a component for other pipelines.

The extractor `spacy` runs when it is named (`leftoff summarize SESSION --extractor spacy`). It
is a second opinion that no labelled session has trained: sentences of the agent that match
token patterns of spaCy appear among the findings, with the type of decision as their kind. The
key decisions of the summary remain those of the default detector. docs/accuracy.md compares
the two.

    import spacy
    import leftoff.extraction.decision_spacy
    nlp = spacy.blank("en")
    nlp.add_pipe("leftoff_decisions")
    [span.text for span in nlp(text).spans["decisions"]]

The weights are those of the default detector; features of the session around a text are missing
here. Each span has its type as label; `doc._.decisions` gives the probability of each span.
Importing this module imports spaCy; nothing else in leftoff does."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar

from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.extraction.decision_model import (
    MODEL,
    is_english,
    message_features,
    place_features,
    sentence_subjects,
    word_features,
    words,
)
from leftoff.extraction.decisions import candidates
from leftoff.extraction.evidence import Evidence, Said
from leftoff.extraction.extractor import TEXT, View
from leftoff.extraction.sentences import MAX_SENTENCE
from leftoff.model import Text
from leftoff.text.markdown import sentences

try:
    import spacy
    from spacy.language import Language
    from spacy.matcher import Matcher
    from spacy.tokens import Doc
    from spacy.util import filter_spans
except ImportError:
    raise UsageError("decisions with spaCy need `pip install 'leftoff[spacy]'`") from None

NAME = "leftoff_decisions"

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
        for number, part in enumerate(view.message.parts):
            if type(part) is Text:
                for start, end in sentences(part.text):
                    text = part.text[start:end]
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


class DecisionComponent:
    """Marks the sentences of a document that state a decision.

    Args:
        key: name of the span group, and of the extension attribute.
        least: probability from which a sentence is marked; the model's own if None."""

    def __init__(self, key: str = "decisions", least: float | None = None) -> None:
        self.key = key
        self.least = MODEL.least / 1000 if least is None else least
        if not Doc.has_extension(key):
            Doc.set_extension(key, default=())

    def __call__(self, doc: Any) -> Any:
        """The document with its span group filled."""
        found = decisions_in(doc.text, self.least)
        spans = []
        for start, end, kind, _ in found:
            span = doc.char_span(start, end, label=kind, alignment_mode="expand")
            if span is not None:
                spans.append(span)
        doc.spans[self.key] = filter_spans(spans)
        doc._.set(self.key, tuple(chance for _, _, _, chance in found))
        return doc


def decisions_in(text: str, least: float) -> list[tuple[int, int, str, float]]:
    """Start, end, type and probability of each decision in a text without a session."""
    found_words = words(text)
    if not is_english(found_words, text):
        return []
    message = message_features(found_words)
    found: list[tuple[int, int, str, float]] = []
    for start, end, where in candidates(text):
        sentence = text[start:end]
        own = words(sentence)
        features = word_features(own) + place_features(sentence, start, where)
        features += sentence_subjects(own)
        chance = MODEL.statement_probability(MODEL.score(features), 0)
        if chance >= least:
            found.append((start, end, MODEL.kind(features + message), round(chance, 3)))
    return found


@Language.factory(NAME, default_config={"key": "decisions", "least": None})  # type: ignore[untyped-decorator, unused-ignore] # spaCy may be absent
def create(nlp: object, name: str, key: str, least: float | None) -> DecisionComponent:
    """The component for a pipeline; `nlp` and `name` are spaCy's, and not needed."""
    return DecisionComponent(key, least)
