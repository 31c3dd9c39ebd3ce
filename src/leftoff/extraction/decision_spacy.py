"""The decision model as a spaCy pipeline component, for anybody's own pipeline.

    import spacy
    import leftoff.extraction.decision_spacy
    nlp = spacy.blank("en")
    nlp.add_pipe("leftoff_decisions")
    [span.text for span in nlp(text).spans["decisions"]]

The weights are those of the default detector; a text stands alone here, so what the session
around it would tell is unknown. Each span has its type as label; `doc._.decisions` gives the
probability of each span. Importing this module imports spaCy; nothing else in leftoff does.
"""

from __future__ import annotations

from typing import Any

from leftoff.extraction.decision_model import (
    MODEL,
    about,
    is_english,
    message_features,
    place_features,
    probability,
    word_features,
    words,
)
from leftoff.extraction.decisions import candidates

try:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import filter_spans
except ImportError as error:
    raise ImportError("the spaCy component needs spaCy: pip install spacy") from error

NAME = "leftoff_decisions"


class DecisionComponent:
    """Marks the sentences of a document that state a decision.

    Args:
        key: name of the span group, and of the extension attribute.
        least: probability from which a sentence is marked; the model's own if None.
    """

    def __init__(self, key: str = "decisions", least: float | None = None) -> None:
        self.key = key
        self.least = MODEL.least_alone / 1000 if least is None else least
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
    """Start, end, type and probability of each decision in a text that stands alone."""
    spoken = words(text)
    if not is_english(spoken, text):
        return []
    message = message_features(spoken)
    found: list[tuple[int, int, str, float]] = []
    for start, end, where in candidates(text):
        sentence = text[start:end]
        block, first, size = where.split(" ")
        own = words(sentence)
        place = place_features(
            sentence, sentence.count("`") // 2, block, first == "1", start, int(size)
        )
        features = word_features(own) + place + about(own)
        chance = probability(MODEL.score(features), MODEL.alone)
        if chance >= least:
            found.append((start, end, MODEL.kind(features + message), round(chance, 3)))
    return found


@Language.factory(NAME, default_config={"key": "decisions", "least": None})
def create(nlp: Any, name: str, key: str, least: float | None) -> DecisionComponent:
    """The component for a pipeline; `nlp` and `name` are spaCy's, and not needed."""
    return DecisionComponent(key, least)
