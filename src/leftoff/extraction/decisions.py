"""Sentences in which the agent may commit to one way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec import Struct

from leftoff.extraction.decision_model import MODEL, Model, raw_words
from leftoff.extraction.evidence import Evidence, Said
from leftoff.extraction.sentences import LONGEST
from leftoff.extraction.view import TEXT, View
from leftoff.layout import HEADING, ITEM, block_before, blocks_of, sentence_at
from leftoff.model import Text

SHORTEST = 12
"""Code points; what is shorter states nothing that can be understood alone."""

_PIECES = re.compile(r"[^\n]+?(?:[.!?:…。！？](?=\s|[*_)\"”’`]*\s)|(?=\n)|\Z)")
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
                    ref = view.text_ref(number, start, end)
                    text = part.text[start:end]
                    found.append(Said(self.topic, "sentence", ref, text, where))
        return found


def candidates(text: str, model: Model = MODEL) -> Iterator[tuple[int, int, str]]:
    """The sentences of a text that the gate lets through: start, end and where they stand.

    The gate looks at rough pieces, since dividing a text into sentences with care costs more
    than weighing its words; only what passes is divided with care.
    """
    done = -1
    for piece in _PIECES.finditer(text):
        begin, stop = piece.span()
        if stop - begin < SHORTEST or not model.worth(raw_words(piece[0])):
            continue
        at = begin
        while at < stop:
            while at < stop and not text[at].isalnum() and text[at] not in "`*\"'“‘([":
                at += 1
            if at >= stop:
                break
            start, end = sentence_at(text, at)
            if start == end:  # a list marker, or no prose
                at = _after_marker(text, at, stop)
                continue
            if start > done and SHORTEST <= end - start <= LONGEST:
                done = start
                yield start, end, _where(text, start)
            at = end


def _after_marker(text: str, at: int, stop: int) -> int:
    """Where the word after a marker starts; `stop` where there is none."""
    space = text.find(" ", at, stop)
    return stop if space < 0 else space + 1


def _where(text: str, start: int) -> str:
    blocks = blocks_of(text)[0]
    first, _, kind = blocks[block_before(blocks, start)]
    return f"{_BLOCKS.get(kind, 'paragraph')} {int(first == start)} {len(text)}"
