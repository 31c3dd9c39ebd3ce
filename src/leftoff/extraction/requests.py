"""Extractor of the person's own words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from leftoff.extraction.evidence import Asked, Evidence
from leftoff.extraction.extractor import TYPED, View


class Requests(Struct):
    """Records every span that a person typed: prompts, queued prompts, words in a rejected
    call, answers to a question tool, arguments of slash commands."""

    name: ClassVar[str] = "requests"
    wants: ClassVar[int] = TYPED

    def see(self, view: View) -> Iterable[Evidence]:
        for typed in view.message.typed:
            part = view.message.parts[typed.part]
            text: str = getattr(part, "text", "")
            words = text[typed.start : typed.end]
            if words.strip():
                ref = view.text_ref(typed.part, typed.start, typed.end)
                yield Asked(ref, words, typed.via)
