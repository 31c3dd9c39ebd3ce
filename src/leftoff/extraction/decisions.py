"""Sentences by which the agent commits to one way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from leftoff.extraction.evidence import Evidence, Said
from leftoff.extraction.sentences import sentences_hit
from leftoff.extraction.view import HIT, View


class Decisions(Struct):
    """Records the sentences that a decision rule fires on, once for each rule."""

    name: ClassVar[str] = "decisions"
    wants: ClassVar[int] = HIT

    def see(self, view: View) -> Iterable[Evidence]:
        return [
            Said(
                "decision",
                hit.rule.id,
                view.text_ref(hit.part, start, end),
                text,
                hit.rule.value,
                hit.start - start,
            )
            for hit, start, end, text in sentences_hit(view, self.name)
        ]
