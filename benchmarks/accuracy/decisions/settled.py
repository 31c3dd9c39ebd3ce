"""Disputes between labels and model that two readers settled, as positions without words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leftoff.errors import StateError
from leftoff.evaluation.labels import UNSURE, Decision, Labels, NearMiss
from leftoff.evaluation.matching import match_statements


class Dispute(Struct, frozen=True):
    """A statement that only a model or only a label called a key decision.

    Attributes:
        file: name of the recording.
        place, start, end: line or item, and code points of the visible text there.
        hash: 16 hex digits of the statement's, so that another text is noticed.
        side: "model" or "label", whichever called it one; the readers did not see that.
        verdict: "yes" or "no" where both readers said so, else "unsure".
        readers, reasons, types: what each reader answered; "" where that does not apply.
    """

    file: str
    place: int
    start: int
    end: int
    hash: str
    side: str
    verdict: str
    readers: tuple[str, str]
    reasons: tuple[str, str]
    types: tuple[str, str]


Disputes = dict[str, list[Dispute]]
"""Disputes by recording."""


def load_disputes(path: Path) -> Disputes:
    """The disputes in a file, by recording."""
    found: Disputes = {}
    for one in msgspec.json.decode(path.read_bytes(), type=list[Dispute]):
        found.setdefault(one.file, []).append(one)
    return found


def settled(labels: Labels, disputes: Iterable[Dispute], texts: Mapping[int, str]) -> Labels:
    """Labels in which what both readers call a decision is one, what both call none is a near
    miss, and where they differ is unsure. The first reader's type and reason are taken.

    Args:
        texts: visible text of the recording by place.

    Raises:
        StateError: a text is not the one that the readers judged.
    """
    decisions, near = list(labels.decisions), list(labels.near_misses)
    for one in disputes:
        quote = texts.get(one.place, "")[one.start : one.end]
        if blake2b(quote.encode(), digest_size=8).hexdigest() != one.hash:
            raise StateError(f"{one.file}: {one.place} does not say what the readers judged")
        stating = match_statements([(d.line, d.quote) for d in decisions], [(one.place, quote)])
        if one.verdict == "yes":
            if 0 not in stating:
                decisions.append(Decision(one.place, quote, one.types[0]))
        else:
            reason = UNSURE if one.verdict == "unsure" else one.reasons[0]
            near.append(NearMiss(one.place, quote, reason))
            decisions = [d for d, at in zip(decisions, stating, strict=True) if at < 0]
    return replace(labels, decisions=tuple(decisions), near_misses=tuple(near))
