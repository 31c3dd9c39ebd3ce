"""The sentences around the hits of rules."""

from __future__ import annotations

from collections.abc import Iterator

from leftoff.extraction.extractor import View
from leftoff.extraction.rules import Hit
from leftoff.text.markdown import Layout

# Code points; a longer span is not taken for a sentence. Chosen by hand; not measured.
MAX_SENTENCE = 600


def hits_with_layout(view: View, extractor: str) -> Iterator[tuple[Hit, Layout]]:
    """Each hit of an extractor's rules, with the layout of its part, which is read once."""
    part, layout = -1, Layout("")
    for hit in view.hits.get(extractor, ()):
        if hit.part != part:
            part = hit.part
            layout = Layout(getattr(view.message.parts[part], "text", ""))
        yield hit, layout


def sentences_with_hits(view: View, extractor: str) -> Iterator[tuple[Hit, int, int, str]]:
    """Each hit of an extractor's rules in prose, with its sentence: start, end and text.

    Hits in code and block quotes are left out; of a rule's hits in one sentence only the first
    is given.
    """
    given: set[tuple[str, int, int]] = set()
    # By rule, the end of the latest sentence that was looked at: hits come in order of place,
    # so a further hit before it lies in the same sentence, and need not be looked up.
    settled: dict[str, int] = {}
    part = -1
    for hit, layout in hits_with_layout(view, extractor):
        if hit.part != part:
            part = hit.part
            settled.clear()
        elif hit.start < settled.get(hit.rule.id, 0):
            continue
        if layout.in_code(hit.start):
            continue
        start, end = layout.sentence_at(hit.start)
        if not start <= hit.start < end:
            continue
        settled[hit.rule.id] = end
        if end - start > MAX_SENTENCE or (hit.rule.id, hit.part, start) in given:
            continue
        given.add((hit.rule.id, hit.part, start))
        yield hit, start, end, layout.text[start:end]
