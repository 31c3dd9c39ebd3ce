"""Sentences in which the agent may commit to one way."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from sys import intern
from typing import ClassVar

from msgspec import Struct

from leftoff.extraction.decision_model import MODEL, Model
from leftoff.extraction.evidence import Evidence, Said
from leftoff.extraction.extractor import TEXT, View
from leftoff.extraction.rules import lowered
from leftoff.extraction.sentences import LONGEST
from leftoff.model import Text
from leftoff.text.markdown import (
    HEADING,
    ITEM,
    PROSE_KINDS,
    Block,
    Span,
    block_before,
    blocks_of,
    sentences_of_block,
)

SHORTEST = 12
"""Code points; what is shorter states nothing that can be understood alone."""

_BLOCKS = {ITEM: "item", HEADING: "heading"}


class Decisions(Struct):
    """Records every sentence of the agent's prose that passes the learned gate.

    Whether it is a decision is judged later: that takes what the person said before and what
    was edited after. `Said.value` tells where the sentence stands: the kind of its block,
    whether it opens the block, and how long the whole text is.
    """

    name: ClassVar[str] = "decisions"
    topic: ClassVar[str] = "decision"
    wants: ClassVar[int] = TEXT
    model: ClassVar[Model] = MODEL

    def see(self, view: View) -> Iterable[Evidence]:
        found: list[Evidence] = []
        for number, part in enumerate(view.message.parts):
            if type(part) is Text:
                for start, end, where in candidates(part.text, self.model):
                    ref = view.text_place(number, start, end)
                    text = part.text[start:end]
                    found.append(Said(self.topic, "sentence", ref, text, where))
        return found


def candidates(text: str, model: Model = MODEL) -> Iterator[tuple[int, int, str]]:
    """The sentences of a text that the gate lets through: start, end and where they stand.

    The gate looks at rough pieces, since dividing a text into sentences with care costs more
    than weighing its words; only what passes is divided with care.
    """
    done = divided = -1
    blocks: tuple[Block, ...] = ()
    spans: Sequence[Span] = ()
    for begin, stop in pieces(text, model):
        blocks = blocks or blocks_of(text)[0]
        at = max(begin, done)
        while at < stop:
            number = block_before(blocks, at)
            if number < 0 or at >= blocks[number][1] or blocks[number][2] not in PROSE_KINDS:
                number += 1  # in a marker, in code or between blocks: on to the next block
                if number >= len(blocks) or blocks[number][0] >= stop:
                    break
                at = blocks[number][0]
                continue
            first, last, kind = blocks[number]
            if number != divided:
                spans, divided = _divided(text, first, last), number
            # A position between two sentences belongs to the one after it.
            which = bisect_right(spans, at, key=itemgetter(1))
            if which == len(spans):
                at = last
                continue
            start, end = spans[which]
            if start >= stop:
                break
            if start >= done and SHORTEST <= end - start <= LONGEST:
                # Few values for many sentences of a text: one copy of each.
                where = intern(
                    f"{_BLOCKS.get(kind, 'paragraph')} {int(first == start)} {len(text)}"
                )
                yield start, end, where
            at = done = end


_STOPS = re.compile(r"[.!?…؟۔।॥](?=\W|\Z)|[。！？｡．\n]")


def _divided(text: str, first: int, last: int) -> Sequence[Span]:
    """The sentences of a block; where nothing in it could end one, it is not divided."""
    if _STOPS.search(text, first, last - 1) is None:
        return ((first, last),)
    return sentences_of_block(text, first, last)


def pieces(text: str, model: Model) -> Iterator[tuple[int, int]]:
    """The rough pieces of a text that pass the gate: lines, cut after full stops."""
    low = lowered(text)
    begin = 0
    worth = model.worth
    for line in low.split("\n"):
        if len(line) >= SHORTEST:
            at = begin
            for piece in line.split(". "):
                if len(piece) >= SHORTEST and worth(piece.split()):
                    yield at, at + len(piece)
                at += len(piece) + 2
        begin += len(line) + 1
