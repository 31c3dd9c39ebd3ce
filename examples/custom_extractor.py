"""Evidence that leftoff does not look for: what an agent could not check is a finding."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from leftoff import Text, summarize
from leftoff.extraction.evidence import Said
from leftoff.extraction.extractor import TEXT, View, extractors

SESSION = Path(__file__).parents[1] / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"

_UNSURE = re.compile(r"[^.!?\n]*\b(?:may|might|not sure|I left it)\b[^.!?\n]*[.!]")


@extractors.register("unsure")
class Unsure(Struct):
    """Sentences in which the agent is not sure."""

    name: ClassVar[str] = "unsure"
    wants: ClassVar[int] = TEXT

    def see(self, view: View) -> list[Said]:
        """What one message says."""
        return [
            Said("finding", "unsure", view.text_ref(number, *found.span()), found[0])
            for number, part in enumerate(view.message.parts)
            if isinstance(part, Text)
            for found in _UNSURE.finditer(part.text)
        ]


def main(path: Path = SESSION) -> None:
    """The findings of a session, with those of our extractor among them."""
    without = {finding.ref for finding in summarize(path).key_findings}
    for finding in summarize(path, extractors=["unsure"]).key_findings:
        mark = " " if finding.ref in without else "+"
        print(f"{mark} #{finding.ref.message}: {finding.text.strip()}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
