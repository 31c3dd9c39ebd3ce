"""What later sessions have to know of one, in its `about.json`: whether work was done, on which
branch, and what it left open."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from leftoff.codec import JsonObject
from leftoff.handover.facts import Fact, Handover
from leftoff.handover.recall import short_name
from leftoff.handover.text_match import TextMatcher, content_words
from leftoff.hooks.forerunners import branch_of, earlier_sessions
from leftoff.summary import ContextSummary
from leftoff.text.truncation import short

# A session of so many typed messages counts as work without an edit. Chosen by hand.
MIN_PROMPTS = 3
# An open point of fewer content words says nothing without its session. Chosen by hand.
MIN_WORDS = 3
# Earlier sessions whose open points are looked at: older ones are rarely still open, and each
# costs the worker 10 ms. Chosen by hand.
MAX_EARLIER = 5
# Code points of an open point. Chosen by hand.
MAX_POINT_LENGTH = 600
# Open points of earlier sessions in a block. Chosen by hand.
MAX_OPEN = 6


def about_session(
    summary: ContextSummary, handover: Handover, project: Path, ended: float
) -> JsonObject:
    """What later sessions have to know to choose: `about.json`, from the redacted handover of
    the summary, and when the recording last changed (`ended`, seconds since 1970)."""
    return {
        "session": summary.session.id,
        "work": has_work(summary),
        "branch": summary.session.branch or branch_of(project),
        "ended": ended,
        "open": [
            [short(f.text, MAX_POINT_LENGTH, "…"), f.note, f.message]
            for f in _open_points(handover)
        ],
    }


def has_work(summary: ContextSummary) -> bool:
    """Whether something was done that a successor has to know: files changed, commits, checks,
    decisions of the person, or a conversation of several turns."""
    changed = any(
        f.action != "read" and f.certainty != "unknown" for f in summary.file_modifications
    )
    prompts = {r.ref.message for r in summary.user_requests if r.kind != "command"}
    return bool(
        changed
        or summary.git
        or summary.checks
        or any(d.owner == "user" for d in summary.key_decisions)
        or len(prompts) >= MIN_PROMPTS
    )


def _open_points(handover: Handover) -> Iterator[Fact]:
    state = handover.state
    if state.question:
        yield Fact(state.question, "asked of the person, not answered", -1)
    if fact := handover.unfinished:
        yield Fact(fact.text, "asked by the person, not finished", fact.message)
    yield from handover.to_dos
    yield from handover.open_items
    for check in handover.failed_checks:
        yield Fact(check.text, check.note, check.message)


def open_before(home: Path, but: str, branch: str, later: Handover) -> tuple[Fact, ...]:
    """What sessions before this one left open and no later one took up, the latest first."""
    # A later session whose words (of this one `later`) state a point took it up: what became of
    # it stands there.
    facts = [*later.said, *later.task, *later.constraints, *later.to_dos, *later.open_items]
    facts += [*later.decisions, *later.sentences, *later.lessons, *later.checks, *later.git]
    facts += [f for f in (later.goal, later.last_message, later.last_words) if f is not None]
    known = "\n".join(f"{f.text}\n{f.more}" for f in facts)
    found: list[Fact] = []
    for _, about in islice(earlier_sessions(home, but), MAX_EARLIER):
        if branch and about.get("branch") not in {"", branch}:
            continue
        matcher = TextMatcher(known)
        for point in about.get("open") or ():
            if not _is_point(point):
                continue
            text, note, message = point
            words = content_words(text)
            known += f"\n{text}"
            if len(words) < MIN_WORDS or matcher.states(words):
                continue
            where = f"{note}, " if note else ""
            session = short_name(str(about.get("session")))
            note = f"{where}session {session} #{message + 1}" if message >= 0 else where
            found.append(Fact(text, note or f"session {session}"))
            if len(found) == MAX_OPEN:
                return tuple(found)
    return tuple(found)


def _is_point(point: object) -> bool:
    """Whether a point has the shape that we write: the file may come with a repository."""
    return (
        isinstance(point, list)
        and [type(value) for value in point] == [str, str, int]
        and len(point[0]) <= MAX_POINT_LENGTH
        and len(point[1]) < 200
    )
