"""Extractor of progress: stage markers, claims of results, and results shown by tools."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.extraction.evidence import Evidence, Said, Shown
from leftoff.extraction.extractor import HIT, MAX_SENTENCE, OUTPUT, STAGE, TYPED, View
from leftoff.extraction.rule_sets import GROUPS
from leftoff.extraction.rules import Hit, lowered
from leftoff.redaction.scanner import safe_quote_end
from leftoff.text.markdown import HEADING, Layout

_MARKERS = tuple(rule for rule in GROUPS["progress"] if rule.topic == "stage")


class Progress(Struct):
    """Records stage markers, claims, and the results shown by tools."""

    name: ClassVar[str] = "progress"
    wants: ClassVar[int] = HIT | OUTPUT | STAGE | TYPED

    def see(self, view: View) -> Iterable[Evidence]:
        message = view.message
        if view.hits:
            for hit, layout, start, end in view.sentences(self.name, either_end=True):
                if hit.rule.topic == "milestone":
                    if _is_plan(layout, start):
                        continue
                    if hit.rule.value in {"done", "did"}:
                        end = _whole_statement(layout, start, end)
                yield _said(view, hit, start, end, layout.text[start:end])
        if message.typed:
            yield from _typed_markers(view)
        if message.role == "system":
            yield from _system_markers(view)
        for hit, text, call in view.output_hits("output"):
            end = safe_quote_end(text, hit.start, min(hit.end, hit.start + 200))
            ref, rule = view.text_ref(hit.part, hit.start, end), hit.rule
            line = text[hit.start : end].strip()
            yield Shown(ref, *call.call, rule.value, rule.good, line, rule.id)


_WORDS = re.compile(r"[^\W\d_]+")


def _whole_statement(layout: Layout, start: int, end: int) -> int:
    """The end of a statement: "Done." alone says nothing, so the next sentence of the paragraph
    belongs to it."""
    text = layout.text
    if len(_WORDS.findall(text, start, end)) > 2:
        return end
    following = end
    while following < len(text) and text[following].isspace():
        following += 1
    block = layout.block_at(start)
    if following >= len(text) or block < 0 or layout.block_at(following) != block:
        return end
    first, last = layout.sentence_at(following)
    return last if first < last <= start + MAX_SENTENCE else end


def _is_plan(layout: Layout, start: int) -> bool:
    """Whether a sentence is a heading, or an item of a list that is not ticked off."""
    block = layout.block_at(start)
    if block >= 0 and layout.blocks[block][2] == HEADING:
        return True
    return layout.text[max(0, start - 4) : start + 4].find("[ ]") >= 0


def _said(view: View, hit: Hit, start: int, end: int, text: str) -> Said:
    ref = view.text_ref(hit.part, start, end)
    return Said(hit.rule.topic, hit.rule.id, ref, text, hit.value, max(0, hit.start - start))


def _typed_markers(view: View) -> Iterator[Said]:
    """Stage markers in the person's own words."""
    for typed in view.message.typed:
        text: str = getattr(view.message.parts[typed.part], "text", "")
        if "stage" not in text.casefold():
            continue
        for rule in _MARKERS:
            for match in rule.exact.finditer(lowered(text), typed.start, typed.end):
                start, end = match.span()
                hit = Hit(rule, typed.part, start, end, text[match.start(1) : match.end(1)])
                yield _said(view, hit, start, end, text[start:end])


# Code points; a longer system message describes the stages, it does not declare one. Chosen by
# hand; not measured.
MAX_NOTICE = 2000

# Only at the start of a line: a message that lists all stages names them inside of its lines.
_DECLARED = re.compile(
    r"^[\s#*>-]*(?:current )?stage:\W{0,4}"
    r"(planning|architecture|implementation|testing|review|deployment)\b",
    re.IGNORECASE | re.MULTILINE,
)


def _system_markers(view: View) -> Iterator[Said]:
    """The stage that a system message declares: one, at the start of a line."""
    rule = next(r for r in _MARKERS if r.id == "stage-marker")
    for number, text in view.texts:
        matches = list(_DECLARED.finditer(text)) if len(text) <= MAX_NOTICE else []
        if len({m[1].casefold() for m in matches}) == 1:
            start, end = matches[-1].span()
            hit = Hit(rule, number, start, end, matches[-1][1])
            yield _said(view, hit, start, end, text[start:end])
