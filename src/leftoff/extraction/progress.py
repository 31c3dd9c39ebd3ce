"""Extractor of progress: stage markers, claims of results, and results shown by tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec import Struct

from leftoff.extraction.evidence import Evidence, Said, Shown
from leftoff.extraction.extractor import HIT, OUTPUT, TYPED, View
from leftoff.extraction.rule_sets import GROUPS
from leftoff.extraction.rules import Hit, lowered
from leftoff.extraction.sentences import MAX_SENTENCE, hits_with_layout
from leftoff.redaction.redactor import safe_quote_end

_MARKERS = tuple(rule for rule in GROUPS["progress"] if rule.topic == "stage")


class Progress(Struct):
    """Records stage markers, claims, and the results shown by tools."""

    name: ClassVar[str] = "progress"
    wants: ClassVar[int] = HIT | OUTPUT | TYPED

    def see(self, view: View) -> Iterable[Evidence]:
        message = view.message
        if view.hits:
            for hit, start, end, words in _claims(view, self.name):
                yield _said(view, hit, start, end, words)
        if message.typed:
            yield from _typed_markers(view)
        for number, hits in view.outputs.items():
            call = view.calls[number]
            for hit in hits:
                text: str = getattr(message.parts[number], "text", "")
                end = safe_quote_end(text, hit.start, min(hit.end, hit.start + 200))
                yield Shown(
                    view.text_ref(number, hit.start, end),
                    call.message,
                    call.part,
                    hit.rule.value,
                    hit.rule.good,
                    text[hit.start : end].strip(),
                    hit.rule.id,
                )


def _claims(view: View, extractor: str) -> Iterator[tuple[Hit, int, int, str]]:
    """Each hit with its sentence, hits in code left out. A claim may begin or end in code
    ("`go test` passes"); it is enough if one of its ends is in prose."""
    given: set[tuple[str, int, int]] = set()
    # By rule, the latest sentence that was looked at: a hit inside it needs no look-up.
    settled: dict[str, tuple[int, int]] = {}
    part = -1
    for hit, layout in hits_with_layout(view, extractor):
        if hit.part != part:
            part = hit.part
            settled.clear()
        elif hit.rule.id in settled:
            start, end = settled[hit.rule.id]
            if start <= hit.start and max(hit.start, hit.end - 1) < end:
                continue
        start = end = 0
        for place in (max(hit.start, hit.end - 1), hit.start):
            if not layout.in_code(place):
                start, end = layout.sentence_at(place)
                if start < end:
                    break
        if start == end:
            continue
        settled[hit.rule.id] = start, end
        if end - start > MAX_SENTENCE or (hit.rule.id, hit.part, start) in given:
            continue
        given.add((hit.rule.id, hit.part, start))
        yield hit, start, end, layout.text[start:end]


def _said(view: View, hit: Hit, start: int, end: int, text: str) -> Said:
    ref = view.text_ref(hit.part, start, end)
    return Said(hit.rule.topic, hit.rule.id, ref, text, hit.value, max(0, hit.start - start))


def _typed_markers(view: View) -> list[Evidence]:
    """Stage markers in the person's own words."""
    found: list[Evidence] = []
    for typed in view.message.typed:
        text: str = getattr(view.message.parts[typed.part], "text", "")
        if "stage" not in text.casefold():
            continue
        for rule in _MARKERS:
            for match in rule.exact.finditer(lowered(text), typed.start, typed.end):
                start, end = match.span()
                hit = Hit(rule, typed.part, start, end, text[match.start(1) : match.end(1)])
                found.append(_said(view, hit, start, end, text[start:end]))
    return found
