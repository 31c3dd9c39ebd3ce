"""The sentence around a hit, found once for all extractors."""

from __future__ import annotations

from collections.abc import Iterator

from leftoff.extraction.extractor import View
from leftoff.extraction.rules import Hit
from leftoff.text.markdown import in_code, sentence_at

LONGEST = 600
"""Code points; what is longer is no sentence."""


def sentences_hit(view: View, extractor: str) -> Iterator[tuple[Hit, int, int, str]]:
    """Each hit of an extractor's rules in prose, with its sentence: start, end and text.

    Hits in code, quotations of code and block quotes are left out; a rule that fires twice in
    a sentence is given once.
    """
    given: set[tuple[str, int, int]] = set()
    for hit in view.hits.get(extractor, ()):
        text: str = getattr(view.message.parts[hit.part], "text", "")
        if in_code(text, hit.start):
            continue
        start, end = sentence_at(text, hit.start)
        if not start <= hit.start < end or end - start > LONGEST:
            continue
        if (hit.rule.id, hit.part, start) in given:
            continue
        given.add((hit.rule.id, hit.part, start))
        yield hit, start, end, text[start:end]
