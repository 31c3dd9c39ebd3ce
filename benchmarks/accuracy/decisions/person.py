"""The person's decisions against sentences that a reader labelled, as positions without words.

python -m benchmarks.accuracy.decisions.person TRANSCRIPTS...
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff.analysis.decisions.person import person_decisions
from leftoff.api import open_pass
from leftoff.evaluation.labels import find_recordings
from leftoff.extraction.evidence import Asked
from leftoff.model import slice_hash
from leftoff.session_view import SessionView

LABELS = Path(__file__).with_name("person.json")
DECISIONS = ("way", "order", "rejection", "answer")
"""Kinds of a sentence that is a decision: a way, place, value or limit; scope or order of the
work; a rejection; an answer or approval. `task` (names a thing to be made and no more) and
`unsure` are scored neither way."""


class Labelled(Struct, frozen=True):
    """The labelled sentences of one session of a recording.

    Attributes:
        file: name of the recording, and `session`, which of its sessions.
        half: "tuned" if its hits and misses were read while the rules were written; "unseen" if
            only after the first version of them; "later": read after the second version, and
            "last": after the third.
        rows: message, part, start and end in code points, `slice_hash` of the words, kind.
    """

    file: str
    session: int
    half: str
    rows: list[tuple[int, int, int, int, str, str]]


def scored(one: Labelled, path: str) -> Iterator[tuple[str, bool]]:
    """The kind of each sentence, and whether a decision covers more than half of it.

    Raises:
        ValueError: the recording does not say what the reader read.
    """
    view = SessionView(open_pass(path).sessions[one.session][""])
    typed = list(view.active(Asked))
    decisions = person_decisions(view)
    spans = [(d.ref.message, d.ref.part, d.ref.start or 0, d.ref.end or 0) for d in decisions]
    once = {d.text for d in decisions}  # what is said again is not reported again
    for message, part, start, end, digest, kind in one.rows:
        near = sorted(typed, key=lambda asked: abs(asked.ref.message - message))
        read = next((a for a in near if _says(a, part, start, end, digest)), None)
        if read is None:
            raise ValueError(f"{one.file}: message {message} does not say what was labelled")
        place, base = read.ref.message, read.ref.start or 0
        yield (
            kind,
            read.text[start - base : end - base] in once
            or any(
                m == place and p == part and 2 * (min(end, e) - max(start, s)) > end - start
                for m, p, s, e in spans
            ),
        )


def _says(asked: Asked, part: int, start: int, end: int, digest: str) -> bool:
    """Whether the labelled words stand there; a message may have another number by now."""
    base = asked.ref.start or 0
    own = asked.text[start - base : end - base]
    return asked.ref.part == part and base <= start and slice_hash(own) == digest


def report(labelled: Iterable[Labelled], folders: Iterable[str]) -> str:
    """Precision and recall of each `Labelled.half`, and the share found of each kind."""
    known = list(labelled)
    paths: dict[str, str] = {}
    for folder in folders:
        paths |= find_recordings(folder, (one.file for one in known))
    found: dict[str, Counter[tuple[str, bool]]] = {}
    for one in known:
        if one.file in paths:
            found.setdefault(one.half, Counter()).update(scored(one, paths[one.file]))
    lines = []
    for half, counts in sorted(found.items()):
        right = sum(counts[kind, True] for kind in DECISIONS)
        missed = sum(counts[kind, False] for kind in DECISIONS)
        shown = right + counts["none", True]
        lines.append(
            f"{half}: precision {right / max(1, shown):.3f} of {shown},"
            f" recall {right / max(1, right + missed):.3f} of {right + missed}"
        )
        for kind in (*DECISIONS, "task", "unsure", "none"):
            hit, miss = counts[kind, True], counts[kind, False]
            lines.append(f"  {kind:<10} {hit:>4} found of {hit + miss}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(msgspec.json.decode(LABELS.read_bytes(), type=list[Labelled]), sys.argv[1:]))
