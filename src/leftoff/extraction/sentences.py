"""The sentences around the hits of rules."""

from collections.abc import Iterator

from leftoff.extraction.extractor import View
from leftoff.extraction.rules import Hit
from leftoff.text.markdown import Layout

# Code points; a longer span is not taken for a sentence. Chosen by hand; not measured.
MAX_SENTENCE = 600


def sentences_with_hits(
    view: View, extractor: str, *, either_end: bool = False
) -> Iterator[tuple[Hit, Layout, int, int]]:
    """Each hit of an extractor's rules in prose, with the layout of its part and the start and
    end of its sentence.

    Hits in code and block quotes are left out; of a rule's hits in one sentence only the first
    is given.

    Args:
        either_end: a hit may begin or end in code ("`go test` passes"); it is enough if one of
            its ends is in prose, and its sentence is that of the last one that is."""
    given: set[tuple[str, int, int]] = set()
    # By rule, the latest sentence that was looked at: a hit inside it needs no look-up.
    settled: dict[str, tuple[int, int]] = {}
    part, layout = -1, Layout("")
    for hit in view.hits.get(extractor, ()):
        last = max(hit.start, hit.end - 1) if either_end else hit.start
        if hit.part != part:
            part = hit.part
            layout = Layout(getattr(view.message.parts[part], "text", ""))
            settled.clear()
        elif hit.rule.id in settled:
            start, end = settled[hit.rule.id]
            if start <= hit.start and last < end:
                continue
        start = end = 0
        for place in (last, hit.start):
            if start == end and not layout.in_code(place):
                start, end = layout.sentence_at(place)
        if start == end:
            continue
        settled[hit.rule.id] = start, end
        if end - start <= MAX_SENTENCE and (hit.rule.id, hit.part, start) not in given:
            given.add((hit.rule.id, hit.part, start))
            yield hit, layout, start, end
