"""TextRank and LexRank on the agent's sentences: general summarisers as decision finders."""

from __future__ import annotations

import re
from typing import Any

from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.summarizers.lex_rank import LexRankSummarizer
from sumy.summarizers.text_rank import TextRankSummarizer

from leftoff.evaluation.sessions import LabelledSession, Prediction, Predictions
from leftoff.text.markdown import sentences

TAKEN = 10
"""Sentences that a summariser picks in each session: about as many as are labelled."""

MOST = 600
"""Sentences ranked at most; the matrix of a longer session would take minutes."""

_WORD = re.compile(r"\w+")


class Tokenizer:
    """What sumy asks of a tokenizer; its own one downloads a model."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        return tuple(text[start:end] for start, end in sentences(text))

    def to_words(self, text: str) -> tuple[str, ...]:
        return tuple(_WORD.findall(text.casefold()))


def text_rank(session: LabelledSession) -> Predictions:
    """The sentences that share most words with the others."""
    summarizer = TextRankSummarizer()

    def rank(document: Any) -> list[float]:
        return list(summarizer.power_method(summarizer._create_matrix(document), 1e-4))

    return _ranked(session, rank)


def lex_rank(session: LabelledSession) -> Predictions:
    """The sentences nearest in tf-idf to the others."""
    summarizer = LexRankSummarizer()

    def rank(document: Any) -> list[float]:
        words = [summarizer._to_words_set(s) for s in document.sentences]
        tf = summarizer._compute_tf(words)
        idf = summarizer._compute_idf(words)
        matrix = summarizer._create_matrix(words, summarizer.threshold, tf, idf)
        return list(summarizer.power_method(matrix, summarizer.epsilon))

    return _ranked(session, rank)


def _ranked(session: LabelledSession, rank: Any) -> Predictions:
    tokenizer = Tokenizer()
    said = [
        (place, text[start:end])
        for place, text in sorted(session.agent_places.items())
        for start, end in sentences(text)
        if len(_WORD.findall(text[start:end])) > 3
    ][:MOST]
    if not said:
        return Predictions(decisions=())
    document = ObjectDocumentModel([Paragraph([Sentence(t, tokenizer) for _, t in said])])
    ranks = rank(document)
    best = sorted(range(len(said)), key=lambda i: (-ranks[i], i))[:TAKEN]
    top = max(ranks) or 1.0
    # A rank is no probability, so calibration says nothing here; the order is what counts.
    return Predictions(
        decisions=tuple(
            Prediction(*said[i], "fix", round(float(ranks[i] / top), 6)) for i in sorted(best)
        )
    )
