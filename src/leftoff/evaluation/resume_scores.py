"""Scores a text about a cut: how many labelled statements, files, names and facts it states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff.evaluation.labels import Labels
from leftoff.evaluation.resume_cuts import TokenCounter
from leftoff.evaluation.resume_truth import Name, Truth
from leftoff.handover.stated_facts import (
    names_file,
    stated_and_outdated,
    states_fact,
    text_items,
)
from leftoff.handover.text_match import TextMatcher, content_words
from leftoff.live.compactions import Cut

MIN_IMPORTANCE = 2
"""Decisions below this importance are minor and do not count."""

BINDING = ("constraint", "correction", "choice")
"""Kinds of directives that hold for the rest of the session. Equal to `handover.lost.BINDING`,
but a scorer does not import what it scores."""

MEASURES = (
    "decisions",
    "directives",
    "standing directives",
    "files",
    "names",
    "names outside code",
    "names by weight",
    "oracle of names by weight",
    "relations",
    "stale",
    "grounded",
    "density",
    "redundancy",
)


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
        tokens, characters: its length; tokens are the upper bound.
        shares: by name in `MEASURES`.
    """

    tokens: int
    characters: int
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


def score(
    text: str,
    labelled: LabelledStatements,
    true: Truth,
    grounded: Share,
    *,
    budget: int,
    count_tokens: TokenCounter,
) -> TextScore:
    """Computes all measures of one text.

    Args:
        grounded: share of its paths, numbers, ids and quotations that occur in the prefix.
        budget: the token budget of the text.
    """
    matcher = TextMatcher(text)
    listed = text_items(text)
    stated, stale = stated_and_outdated(listed, true.facts)
    used = [fact for fact in true.facts if fact.used]
    named = matcher.names
    weights = sum(name.weight for name in true.names)
    repeated, runs = matcher.redundancy
    shares = {
        "decisions": _stated_share(matcher, labelled.decisions),
        "directives": _stated_share(matcher, labelled.directives),
        "standing directives": _stated_share(
            matcher, [d for d in labelled.directives if d.kind in BINDING]
        ),
        "files": Share(
            sum(names_file(text, path, true.files) for path in true.files), len(true.files)
        ),
        "names": Share(sum(n.name in named for n in true.names), len(true.names)),
        "names outside code": Share(
            sum(n.name in named for n in true.names if not n.in_code),
            sum(not n.in_code for n in true.names),
        ),
        "names by weight": Share(sum(n.weight for n in true.names if n.name in named), weights),
        "oracle of names by weight": Share(oracle(true.names, budget, count_tokens), weights),
        "relations": Share(
            sum(states_fact(listed, f) and f not in stale for f in used), len(used)
        ),
        "stale": Share(len(stale), len(stated)),
        "grounded": grounded,
        "density": Share(len(named & true.written), len(named)),
        "redundancy": Share(repeated, runs),
    }
    return TextScore(count_tokens(text), len(text), shares)


def _stated_share(matcher: TextMatcher, statements: Iterable[LabelledStatement]) -> Share:
    found = [states(matcher, statement) for statement in statements]
    return Share(sum(found), len(found))


def oracle(names: Sequence[Name], budget: int, count_tokens: TokenCounter) -> float:
    """The greatest total weight of names that fit the budget (fractional knapsack)."""
    left = float(budget)
    total = 0.0
    costs = [(name.weight, count_tokens(f"{name.name} ")) for name in names]
    for weight, cost in sorted(costs, key=lambda pair: -pair[0] / pair[1]):
        fraction = min(1.0, left / cost)
        total += weight * fraction
        left -= cost * fraction
    return total
