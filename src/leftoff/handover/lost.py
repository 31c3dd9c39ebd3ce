"""Points that a session contained before a compaction, and which of them the recorder's own
summary states.

leftoff's summary of the messages before the compaction gives five kinds of points:

* decision: not replaced or withdrawn, with a confidence of at least `MIN_CONFIDENCE`;
* constraint: a request that holds for the rest of the session and was not withdrawn;
* file: every changed file. Stated: the summary names it unambiguously, and of a deleted file
  also says that it was deleted;
* command: tests, builds, linters. Stated: the summary gives the command with its last result;
* error: an unresolved failure.

A decision, constraint or error counts as stated if three consecutive sentences or lines contain
three fifths of its content words (`text_match`): the measure of `leftoff eval resume`. A
paraphrase in other words is not recognised, so the figures are lower bounds."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff.handover.stated_facts import (
    VALUE_WORDS,
    Fact,
    Item,
    core_command,
    names_file,
    states_fact,
    text_items,
)
from leftoff.handover.text_match import TextMatcher, content_words
from leftoff.summary import ContextSummary

# Kinds of points, in the order of the tables.
KINDS = ("decision", "constraint", "file", "command", "error")

# Minimum confidence of a decision: at 0.5 it is as likely right as wrong.
MIN_CONFIDENCE = 0.5

# Kinds of requests that hold for the rest of the session.
BINDING = ("constraint", "correction", "choice")

# Code points of an error that are compared; the rest is mostly stack trace. Chosen by hand.
MAX_ERROR = 300


class Point(Struct, frozen=True):
    """One point that the session contained before the compaction.

    Attributes:
        kind: one of `KINDS`.
        text: recorded words, a path relative to the project, or a command.
        state: the action on a file, the result of a command, the kind of a constraint, the tool
            of an error; "" for a decision.
        message: index of the message; -1 for a file."""

    kind: str
    text: str
    state: str = ""
    message: int = -1


class Share(Struct, frozen=True):
    """How many points of one kind there were before a compaction, and how many of them the
    summary states."""

    had: int = 0
    kept: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.had + other.had, self.kept + other.kept)


class Audit(Struct, frozen=True):
    """The result for one compaction.

    Attributes:
        number: from 1, in file order.
        place: line or item of the summary in the recording.
        characters: length of the summary.
        shares: counts by kind, for all of `KINDS`.
        lost: points that the summary does not state, in the order of `KINDS`, then as recorded.
    """

    number: int
    place: int
    characters: int
    shares: dict[str, Share]
    lost: tuple[Point, ...]


def points(summary: ContextSummary) -> list[Point]:
    """The points of a session, by kind, then in recorded order, without duplicates."""
    binding = [
        Point("constraint", r.text, r.kind, r.ref.message)
        for r in summary.user_requests
        if r.kind in BINDING and r.status != "withdrawn"
    ]
    required = {point.text for point in binding}  # the person's decisions are among them
    found = [
        Point("decision", d.text, "", d.message_index)
        for d in summary.key_decisions
        if d.status == "made" and d.confidence >= MIN_CONFIDENCE and d.text not in required
    ]
    found += binding
    found += [
        Point("file", f.path, f.action)
        for f in summary.file_modifications
        if f.action != "read" and not f.branch
    ]
    found += [
        Point("command", c.text, "passed" if c.passed else "failed", c.ref.message)
        for c in summary.working_set.commands
        if c.passed is not None and c.kind in ("test", "build", "lint")
    ]
    found += [
        Point("error", e.text, e.tool, e.ref.message)
        for e in summary.errors
        if e.fixed is False
    ]
    return list({(p.kind, p.text): p for p in found}.values())


def compare(
    expected: Sequence[Point], recorded: str
) -> tuple[dict[str, Share], tuple[Point, ...]]:
    """Counts the expected points that a recorder's summary states; also returns the others."""
    text, listed = TextMatcher(recorded), text_items(recorded)
    files = [p.text for p in expected if p.kind == "file"]
    shares = dict.fromkeys(KINDS, Share())
    lost: list[Point] = []
    for point in expected:
        stated = _is_stated(point, text, listed, files)
        shares[point.kind] += Share(1, int(stated))
        if not stated:
            lost.append(point)
    return shares, tuple(lost)


def _is_stated(
    point: Point, text: TextMatcher, listed: Sequence[Item], files: Sequence[str]
) -> bool:
    if point.kind == "file" and point.state == "deleted":
        deleted = VALUE_WORDS["deleted"]
        return any(
            names_file(i.text, point.text, files) and deleted & (i.words | i.heading)
            for i in listed
        )
    if point.kind == "file":
        return names_file(text.text, point.text, files)
    if point.kind == "command":
        core = core_command(point.text) or point.text
        return states_fact(listed, Fact("command", core, (point.state,), used=True))
    return text.states(content_words(point.text[:MAX_ERROR]))


def total_shares(audits: Iterable[Audit]) -> dict[str, Share]:
    """The counts of several audits added up, by kind."""
    totals = dict.fromkeys(KINDS, Share())
    for audit in audits:
        for kind, share in audit.shares.items():
            totals[kind] += share
    return totals
