"""The sentences around the hits of rules."""

from __future__ import annotations

from collections.abc import Iterator

from leftoff.extraction.extractor import View
from leftoff.extraction.rules import Hit
from leftoff.text.markdown import in_code, sentence_at

MAX_SENTENCE = 600
"""Code points; a longer span is not taken for a sentence. Chosen by hand; not measured."""


def sentences_with_hits(view: View, extractor: str) -> Iterator[tuple[Hit, int, int, str]]:
    """Each hit of an extractor's rules in prose, with its sentence: start, end and text.

    Hits in code and block quotes are left out; of a rule's hits in one sentence only the first
    is given.
    """
    given: set[tuple[str, int, int]] = set()
    for hit in view.hits.get(extractor, ()):
        text: str = getattr(view.message.parts[hit.part], "text", "")
        if in_code(text, hit.start):
            continue
        start, end = sentence_at(text, hit.start)
        if not start <= hit.start < end or end - start > MAX_SENTENCE:
            continue
        if (hit.rule.id, hit.part, start) in given:
            continue
        given.add((hit.rule.id, hit.part, start))
        yield hit, start, end, text[start:end]
