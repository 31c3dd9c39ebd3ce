"""Sentences in which the agent may commit to one way."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.extraction.decision_model import (
    MODEL,
    Model,
    block_features,
    is_foreign,
    sentence_features,
)
from leftoff.extraction.evidence import Evidence, Said
from leftoff.extraction.extractor import MAX_SENTENCE, TEXT, View
from leftoff.extraction.rules import lowered
from leftoff.text.markdown import (
    HEADING,
    ITEM,
    PROSE_KINDS,
    Span,
    blocks_of,
    sentences_of_block,
)

# Code points; a shorter sentence cannot be understood alone. Chosen by hand; not measured.
MIN_SENTENCE = 12

_BLOCKS = {ITEM: "item", HEADING: "heading"}


class Decisions(Struct):
    """Records every sentence of the agent's prose that passes the model's first filter.

    `analysis.decisions` decides later whether it is a decision: that takes the person's prompts
    before it and the edits after it. `Said.value` is the place of the sentence, separated by
    blanks: the kind of its block, whether it opens the block (0 or 1), the length of the whole
    text, and the features of its surroundings that have a weight."""

    name: ClassVar[str] = "decisions"
    topic: ClassVar[str] = "decision"
    wants: ClassVar[int] = TEXT
    model: ClassVar[Model] = MODEL

    def see(self, view: View) -> Iterable[Evidence]:
        for number, text in view.texts:
            if is_foreign(text):
                yield Said("language", "foreign", view.text_place(number, 0, 0), "")
            for start, end, where in candidates(text, self.model):
                ref = view.text_place(number, start, end)
                yield Said(self.topic, "sentence", ref, text[start:end], where)


def candidates(text: str, model: Model = MODEL) -> Iterator[tuple[int, int, str]]:
    """The sentences of a text that pass the first filter: start, end and place (`Said.value`).

    The filter works on rough pieces, since exact sentence splitting costs more than summing
    weights of words; only blocks with a piece that passes are split exactly."""
    passing = pieces(text, model)
    begin, stop = next(passing, _NO_PIECE)
    if begin > len(text):
        return
    blocks = blocks_of(text)[0]
    for number, (first, last, kind) in enumerate(blocks):
        while stop <= first:  # of the pieces before this block, none is looked at again
            begin, stop = next(passing, _NO_PIECE)
        if begin >= last or kind not in PROSE_KINDS:
            continue
        # A block without a possible end of a sentence is not divided.
        spans: Sequence[Span] = ((first, last),)
        if _STOP.search(text, first, last - 1) is not None:
            spans = sentences_of_block(text, first, last)
        around: tuple[Sequence[str], ...] = ()
        for start, end in spans:
            while stop <= start:
                begin, stop = next(passing, _NO_PIECE)
            if end > begin and MIN_SENTENCE <= end - start <= MAX_SENTENCE:
                around = around or tuple(map(model.known, block_features(text, blocks, number)))
                every, opening, closing = around
                found = [
                    f"{_BLOCKS.get(kind, 'paragraph')} {int(first == start)} {len(text)}",
                    *every,
                    *model.known(sentence_features(text, start, end)),
                    *(opening if start <= first + 2 else ()),
                    *(closing if end >= last - 2 else ()),
                ]
                yield start, end, " ".join(found)


# What follows the last piece that passes the first filter.
_NO_PIECE = (1 << 62, 1 << 62)

# The signs that end sentences in the scripts of recordings; a full-width one needs no blank
# behind it.
_STOP = re.compile(r"[.!?…؟۔।॥。！？｡．\n](?:(?=\W|\Z)|(?<=[。！？｡．\n]))")


def pieces(text: str, model: Model) -> Iterator[tuple[int, int]]:
    """The rough pieces of a text that pass the first filter: lines, cut after full stops."""
    low = lowered(text)
    begin = 0
    passes_gate = model.passes_gate
    for line in low.split("\n"):
        if len(line) >= MIN_SENTENCE:
            at = begin
            for piece in line.split(". "):
                if len(piece) >= MIN_SENTENCE and passes_gate(piece.split()):
                    yield at, at + len(piece)
                at += len(piece) + 2
        begin += len(line) + 1
