"""What holds in a project: the person's statements of all sessions, those that say the same as
one. Pure: `memory.ledger` and the report give it what they have."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff.handover.recall import terms_of

# Share of the terms of the longer of two statements that both have to hold for them to be one
# statement. Chosen by hand; docs/memory.md has the measure.
SAME = 0.6

# Terms of a statement that says something by itself. Chosen by hand.
MIN_TERMS = 3

# Kinds of entries that hold beyond their session, and the kind that does only if it was said in
# more than one.
HOLDS, REPEATED = ("constraint", "decision"), "correction"

# Code points of a constraint or correction; a longer one is a task, often with pasted output.
# Chosen by hand.
MAX_RULE = 300

# Decisions of one message: the others are the rest of a specification, which `leftoff show`
# prints. Chosen by hand; with it the measures of docs/memory.md stay as they are.
MAX_OF_MESSAGE = 5

# An answer that lets one step go on, or stops it: nothing holds beyond it.
GO_AHEAD = re.compile(
    r" → \W*(?:(?:yes|yeah|yep|no|nope|ok(?:ay)?|sure|go ahead|please|do (?:it|that))\W*)+$",
    re.IGNORECASE,
)

# Notes of statements that do not hold any more.
ENDED = ("reversed", "superseded", "withdrawn")


class Statement(Protocol):
    """What a person said: an `entries.Entry` with the session that it stands in."""

    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def recording(self) -> str: ...
    @property
    def message(self) -> int: ...


S = TypeVar("S", bound=Statement)


class Standing(Struct, Generic[S]):
    """A statement that holds, or held, in a project.

    Attributes:
        last: where it was said last.
        ended: it was reversed, replaced or withdrawn.
        others: where else it was said, the latest first."""

    last: S
    ended: bool = False
    others: list[S] = field(default_factory=list)

    @property
    def times(self) -> int:
        """In how many sessions it was said."""
        return len({one.recording for one in (self.last, *self.others)})


def standing(statements: Iterable[S]) -> list[Standing[S]]:
    """The statements that hold, what is required before what was decided, then those that
    ended, each once.

    Args:
        statements: of one project, the latest first; the result keeps their order."""
    groups: list[tuple[set[str], Standing[S]]] = []
    by_term: dict[str, list[int]] = {}
    decided = Counter[tuple[str, int]]()
    for one in statements:
        terms = set(terms_of(one.text))
        if len(terms) < MIN_TERMS or GO_AHEAD.search(one.text):
            continue
        if one.kind != "decision" and len(one.text) > MAX_RULE:
            continue
        if one.kind == "decision" and one.text.rstrip().endswith("?"):
            continue  # a wish, put as a question: nothing was decided
        same = next(_same(terms, groups, by_term), None)
        if same is not None:
            same.others.append(one)
            continue
        if one.kind == "decision":
            decided[one.recording, one.message] += 1
            if decided[one.recording, one.message] > MAX_OF_MESSAGE:
                continue
        for term in terms:
            by_term.setdefault(term, []).append(len(groups))
        groups.append((terms, Standing(one, one.note in ENDED)))
    shown = [g for _, g in groups if g.last.kind != REPEATED or g.times > 1]
    return sorted(shown, key=lambda g: (g.ended, g.last.kind == "decision"))


def unknown_lines(lines: Sequence[str], known: str) -> list[str]:
    """The lines, each with a label that ends with a colon, that do not say with about the same
    words what a line of `known` says."""
    others = [set(terms_of(line)) for line in known.split("\n")]
    found = []
    for line in lines:
        terms = set(terms_of(line.partition(": ")[2].rpartition(" (")[0]))
        if not any(len(terms & other) >= SAME * len(terms) for other in others):
            found.append(line)
    return found


def _same(
    terms: set[str], groups: list[tuple[set[str], Standing[S]]], by_term: dict[str, list[int]]
) -> Iterator[Standing[S]]:
    """The statements that say the same with about the same words."""
    for number in sorted({n for term in terms for n in by_term.get(term, ())}):
        others, found = groups[number]
        if len(terms & others) >= SAME * max(len(terms), len(others)):
            yield found
