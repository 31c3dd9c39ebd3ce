"""What a session had before each compaction, and what the recorder's own summary kept of it.

Five kinds of things, found by the engine in what stands before the compaction:

* decision: made and not given up since, with a confidence of at least `SURE`;
* constraint: what the person said that binds all that follows, and did not take back;
* file: every file that was changed. Kept: it is named so that it cannot be taken for another;
  of a deleted one the summary must also say that it is gone;
* command: tests, builds and checks. Kept: the command stands beside how it last ended;
* error: a failure that nothing has mended.

Decisions, constraints and errors count as kept where three fifths of their content words stand
together within three sentences or lines: the measure of `leftoff eval resume`. It does not see
a paraphrase in other words, so it says how much a summary keeps literally, at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from leftoff import codec
from leftoff.analysis.session_pass import Pass
from leftoff.errors import FormatError
from leftoff.evaluation.resume_cuts import Cut, cuts
from leftoff.evaluation.resume_scores import VALUE_WORDS, Item, holds, items, names_file
from leftoff.evaluation.resume_texts import Reading, content_words
from leftoff.evaluation.resume_truth import Fact, core_of
from leftoff.handover.wording import brief, inline
from leftoff.redaction.redactor import Redactor
from leftoff.shell.paths import relative
from leftoff.summary import ContextSummary

KINDS = ("decision", "constraint", "file", "command", "error")
"""What is looked for, in the order of the tables."""

SURE = 0.5
"""Confidence from which a decision counts."""

BINDING = ("constraint", "correction", "choice")
"""Kinds of requests that bind all that follows."""

LOOKED_AT = 300
"""Code points of an error that are looked for; what follows is mostly a trace."""


class Point(Struct, frozen=True):
    """One thing that the session had.

    Attributes:
        kind: one of `KINDS`.
        text: recorded words, a path relative to the project, or a command.
        state: what became of a file, how a command ended, kind of a constraint, tool of an
            error; "" for a decision.
        message: index of the message; -1 for a file.
    """

    kind: str
    text: str
    state: str = ""
    message: int = -1


class Share(Struct, frozen=True):
    """How many of a kind there were, and how many the summary keeps."""

    had: int = 0
    kept: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.had + other.had, self.kept + other.kept)


class Audit(Struct, frozen=True):
    """One compaction.

    Attributes:
        number: from 1, in file order.
        place: line or item of the summary in the recording.
        characters: of the summary.
        shares: by kind, all of `KINDS`.
        lost: what the summary lacks, in the order of `KINDS`, then as recorded.
    """

    number: int
    place: int
    characters: int
    shares: dict[str, Share]
    lost: tuple[Point, ...]


def points(summary: ContextSummary) -> list[Point]:
    """What a session has, by kind and as recorded, each once."""
    cwd = summary.session.cwd
    found = [
        Point("decision", d.text, "", d.message_index)
        for d in summary.key_decisions
        if d.status == "made" and d.confidence >= SURE
    ]
    found += [
        Point("constraint", r.text, r.kind, r.ref.message)
        for r in summary.user_requests
        if r.kind in BINDING and r.status != "withdrawn"
    ]
    found += [
        Point("file", relative(f.path, cwd), f.action)
        for f in summary.file_modifications
        if f.action != "read" and not f.branch
    ]
    found += [
        Point("command", c.text, "passed" if c.passed else "failed", c.ref.message)
        for c in summary.working_set.commands
        if c.passed is not None and c.kind in ("test", "build", "lint")
    ]
    found += [
        Point("error", e.text, e.tool, e.ref.message) for e in summary.errors if not e.fixed
    ]
    return list({(p.kind, p.text): p for p in found}.values())


def compare(had: Sequence[Point], recorded: str) -> tuple[dict[str, Share], tuple[Point, ...]]:
    """How much of `had` a recorder's summary keeps, by kind, and what it lacks."""
    reading, listed = Reading(recorded), items(recorded)
    files = [p.text for p in had if p.kind == "file"]
    shares = dict.fromkeys(KINDS, Share())
    lost: list[Point] = []
    for point in had:
        kept = _kept(point, reading, listed, files)
        shares[point.kind] += Share(1, int(kept))
        if not kept:
            lost.append(point)
    return shares, tuple(lost)


def _kept(point: Point, reading: Reading, listed: Sequence[Item], files: Sequence[str]) -> bool:
    if point.kind == "file":
        if point.state == "deleted":
            gone = VALUE_WORDS["deleted"]
            return any(
                names_file(i.text, point.text, files) and gone & (i.words | i.heading)
                for i in listed
            )
        return names_file(reading.text, point.text, files)
    if point.kind == "command":
        core = core_of(point.text) or point.text
        return holds(listed, Fact("command", core, (point.state,), used=True))
    return reading.keeps(content_words(point.text[:LOOKED_AT]))


def audits(path: str) -> Iterator[Audit]:
    """Every compaction of a recording whose summary can be read, in file order. One that the
    recording begins with, since what stood before it is in another file, is left out.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format.
    """
    for number, cut in enumerate(cuts(path, artificial=False), 1):
        before = _before(cut, path)
        if before is None:
            continue
        shares, lost = compare(points(before), cut.recorded)
        yield Audit(number, cut.place, len(cut.recorded), shares, lost)


def _before(cut: Cut, path: str) -> ContextSummary | None:
    """The summary of what stands before a cut, None if nothing does."""
    reading = Pass(path)
    reading.feed_lines(cut.data)
    try:
        reading.close()
    except FormatError:  # no message before it
        return None
    return reading.conclude()


def total(some: Iterable[Audit]) -> dict[str, Share]:
    """The shares of several audits together."""
    whole = dict.fromkeys(KINDS, Share())
    for audit in some:
        for kind, share in audit.shares.items():
            whole[kind] += share
    return whole


# -- saying it -------------------------------------------------------------------------------


def plain(path: str, some: Sequence[Audit], compactions: int) -> dict[str, object]:
    """Audits as one JSON object, redacted and uncut.

    Args:
        compactions: how many there are in the recording; the summary of some cannot be read.
    """
    gate = Redactor()
    value: dict[str, object] = gate.value(
        {
            "path": path,
            "compactions": compactions,
            "audited": len(some),
            "total": codec.plain(total(some)),
            "audits": [codec.plain(audit) for audit in some],
        }
    )
    return value


def table(some: Sequence[Audit], *, lost: int = 0) -> str:
    """Audits as a table, and so many of the lost things of each kind with their messages."""
    head = f"{'':<14}" + "".join(f"{kind + 's':>16}" for kind in KINDS)
    lines = [head.rstrip()]
    rows = [(f"compaction {a.number}", a.shares) for a in some]
    if len(some) > 1:
        rows.append(("together", total(some)))
    for name, shares in rows:
        cells = "".join(f"{_cell(shares[kind]):>16}" for kind in KINDS)
        lines.append(f"{name:<14}{cells}".rstrip())
    gate = Redactor()
    for audit in some if lost else ():
        if audit.lost:
            lines += ["", f"Not in the summary of compaction {audit.number}:"]
        for kind in KINDS:
            missing = [p for p in audit.lost if p.kind == kind]
            lines += [f"  {_line(point, gate)}" for point in missing[:lost]]
            if len(missing) > lost:
                lines.append(f"  ({len(missing) - lost} more of kind {kind})")
    return "\n".join(lines) + "\n"


def _cell(share: Share) -> str:
    if not share.had:
        return "-"
    return f"{share.kept}/{share.had} {100 * share.kept / share.had:.0f} %"


def _line(point: Point, gate: Redactor) -> str:
    notes = [inline(gate.text(point.state))] if point.state else []
    if point.message >= 0:
        notes.append(f"#{point.message + 1}")
    about = f" ({', '.join(notes)})" if notes else ""
    return f"{point.kind}: {brief(gate.text(point.text), 160)}{about}"
