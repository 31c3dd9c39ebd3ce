"""The token patterns of the extractor `spacy`: written from the guideline's wording without
looking at any recording."""

from __future__ import annotations

from leftoff.evaluation.sessions import LabelledSession, Prediction, Predictions
from leftoff.extraction.decision_spacy import matched_type
from leftoff.text.markdown import sentences


def spacy_rules(session: LabelledSession) -> Predictions:
    """Every sentence of the agent that one of the patterns matches, all equally sure."""
    claims: list[Prediction] = []
    for place, text in sorted(session.agent_places.items()):
        for start, end in sentences(text):
            kind = matched_type(text[start:end])
            if kind:
                claims.append(Prediction(place, text[start:end], kind))
    return Predictions(decisions=tuple(claims))
