"""Shares, and the labelled statements that a text about a cut should state."""

from __future__ import annotations

from msgspec import Struct

from leftoff.evaluation.labels import Labels
from leftoff.handover.text_match import TextMatcher, content_words
from leftoff.live.compactions import Cut

MIN_IMPORTANCE = 2
"""Decisions below this importance are minor and do not count."""


class Share(Struct, frozen=True):
    """A numerator and a denominator; they add up over cuts and sessions."""

    part: float = 0.0
    whole: float = 0.0

    def __add__(self, other: Share) -> Share:
        return Share(self.part + other.part, self.whole + other.whole)

    @property
    def value(self) -> float | None:
        """Part over whole; None for an empty whole."""
        return self.part / self.whole if self.whole else None


class TextScore(Struct, frozen=True):
    """The scores of one text about one cut.

    Attributes:
        tokens, size: its length in tokens (the upper bound) and in bytes.
        shares: by name in `handover_scores.MEASURES`.
    """

    tokens: int
    size: int
    shares: dict[str, Share]


class LabelledStatement(Struct, frozen=True):
    """A labelled decision or directive that a text should state."""

    kind: str
    text: str


class LabelledStatements(Struct, frozen=True):
    """The labelled statements before a cut."""

    decisions: tuple[LabelledStatement, ...]
    directives: tuple[LabelledStatement, ...]


def labelled_before(labels: Labels, cut: Cut) -> LabelledStatements:
    """The important labelled decisions and all labelled directives before a cut."""
    return LabelledStatements(
        tuple(
            LabelledStatement(d.type, d.quote)
            for d in labels.decisions
            if d.line < cut.place and d.importance >= MIN_IMPORTANCE
        ),
        tuple(
            LabelledStatement(d.kind, d.quote) for d in labels.directives if d.line < cut.place
        ),
    )


def states(text: TextMatcher, statement: LabelledStatement) -> bool:
    """Whether a text states a labelled statement."""
    return text.states(content_words(statement.text))
