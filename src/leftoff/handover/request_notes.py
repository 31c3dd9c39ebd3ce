"""What became of a request, in a few words for a person: its status, and the last commit that
the agent made in answer to it."""

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import not_

from leftoff import lazy_re as re
from leftoff.analysis.files.edits import temporary_projects
from leftoff.extraction.requests import RULES, matches
from leftoff.extraction.rules import lowered
from leftoff.formats.vocabulary import kind_of
from leftoff.handover.standing import MIN_WORDS, inner_requests
from leftoff.handover.wording import message_number, status_words
from leftoff.shell.paths import is_temporary, is_within
from leftoff.summary import ContextSummary, FileModification, GitEvent, UserRequest
from leftoff.tables import table

# Of a request with another status, nothing was committed, or it says so itself.
_COMMITTED = frozenset({"worked_on", "done", "open", "interrupted"})
# The agent ended its turn.
_ENDED = frozenset({"worked_on", "done", "answered", "unknown", "declined"})

# Code points; a shorter last line says too little alone ("why?"). Chosen by hand.
MIN_POINT = 12
# Lines of a paste that is left out; of those in it that do not look pasted so many are
# searched for words of the person. Chosen by hand.
MIN_PASTED, MAX_LOOKED_AT = 3, 500

_RE = re.patterns(table(__file__, "request_notes.toml"))
_FORBIDS = next(rule for rule in RULES["standing"] if rule.id == "forbids")


def request_notes(summary: ContextSummary) -> dict[UserRequest, tuple[str, str]]:
    """The status of each request that is no part of another one, and a note on it; without a
    status where no work on it is open or ended."""
    inner = inner_requests(summary.user_requests)
    wholes = [r for r in summary.user_requests if r not in inner]
    ended = max((r.ref.message for r in wholes if r.status in _ENDED), default=-1)
    commits = _commits(summary, wholes)
    working = summary.working_set
    acted = max(working.last_words.message, *(s.ref.message for s in working.steps), -1)
    # An edit that was refused touched no file.
    files = (f for f in summary.file_modifications if f.action != "read")
    touched = {ref.message for file in files for ref in file.refs}
    edits = [r for r in working.last_edits or () if r.message in touched]
    begun = {
        request
        for request, end in _spans(wholes)
        if request.status == "interrupted"
        and any(request.ref.message < ref.message < end for ref in edits)
    }
    works = _works(wholes)
    found: dict[UserRequest, tuple[str, str]] = {}
    for request in wholes:
        status, note = request.status, status_words(request.status)
        if status == "open" and request.ref.message > acted:
            note = "not answered"
        if request in begun:
            note = "worked on, then interrupted"
        commit = commits.get(request, "")
        forbids = request.kind == "constraint" and _FORBIDS.finder(lowered(request.text))
        if forbids and status in _ENDED:
            status = note = commit = ""  # it is followed or not, but no work that ends
        elif status == "interrupted" and request.ref.message < ended:
            status, commit = "", commit or "more said since"  # which may have changed it
        said = works.get(request, "")
        if said and status in {"open", "interrupted"}:
            status = note = ""
        found[request] = status, ", ".join(filter(None, (note, commit, said)))
    return found


def _works(requests: Sequence[UserRequest]) -> dict[UserRequest, str]:
    """The requests of which the person's next words say that it works, with these words."""
    (rule,) = RULES["works"]
    pairs = itertools.pairwise(sorted(requests, key=lambda r: r.ref.message))
    said = ((request, rule.search(after.text)) for request, after in pairs)
    return {r: f"then you: {found[1]}" for r, found in said if found and r.kind != "command"}


@lru_cache(maxsize=64)  # every form asks again
def without_pastes(text: str) -> tuple[str, str]:
    """The person's words before what was pasted into a prompt, and what stands for the rest:
    how many lines were pasted, with the last line if it asks, else with the first error. Both
    "" where little or nothing was pasted."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pasted = list(_pasted(lines))
    start = pasted.index(True) if True in pasted else len(lines)
    before, last = " ".join(lines[:start]), (lines or [""])[-1]
    if len(lines) < 2 or start == len(lines) or 0 < len(before.split()) < MIN_WORDS:
        return "", ""
    error = next(filter(_RE["error"].search, lines[start:]), "")
    # A paste may go on in lines that look like words.
    asks = not pasted[-1] and len(last) >= MIN_POINT and _speaks(last)
    follows = asks or last[:1].isalpha() and pasted[-2:] == [True, False]
    end = len(lines) - follows
    known = sum(
        is_paste and not _RE["named"].match(line)
        for line, is_paste in zip(lines[start:end], pasted[start:end], strict=True)
    )
    others = itertools.compress(lines[start:end], map(not_, pasted[start:end]))
    few = known < MIN_PASTED or 3 * known <= end - start
    if few or any(map(_speaks, itertools.islice(others, MAX_LOOKED_AT))):
        rest = last if asks else error
        return "", f"… {rest}" if rest and not start else ""
    telling = "" if asks else error
    opening = next((line for line in lines if not line.startswith("```")), "")
    telling = telling or (last if follows else "" if start else opening)
    return before, f"[pasted: {end - start} lines] {telling}".rstrip()


def _pasted(lines: Sequence[str]) -> Iterator[bool]:
    """Of each line whether it is no prose, by its opening or by the fence around it."""
    fences = [n for n, s in enumerate(lines) if s.startswith("```") and s.count("```") == 1]
    ends = {*fences[: len(fences) // 2 * 2]}  # one that is not closed may hold words
    fenced = code = False
    for place, line in enumerate(lines):
        closes = code
        if place in ends:
            fenced = not fenced
            code = fenced and _RE["prose"].match(line) is None
        known = code or closes or matches("pasted", line)
        yield known or _RE["pasted"].match(line) is not None


def _speaks(line: str) -> bool:
    return any(matches(topic, line) for topic in ("orders", "wants", "asks"))


def _commits(
    summary: ContextSummary, requests: Sequence[UserRequest]
) -> dict[UserRequest, str]:
    """The last commit in answer to each request, where it is sure that it belongs to it."""
    made = [e for e in summary.git if e.kind == "commit" and e.hash and e.shown]
    projects = temporary_projects(summary.file_modifications, made)
    files = [
        f
        for f in summary.file_modifications
        if f.action != "read" and not f.branch and not is_temporary(f.path, projects)
    ]
    agents = [
        ref.message
        for effect in summary.unknown_effects
        if kind_of(effect.tool) == "subagent"
        for ref in effect.refs
    ]
    found: dict[UserRequest, str] = {}
    for request, end in _spans(requests) if made else ():
        start, source = request.ref.message, request.ref.source
        within = [e for e in made if e.ref.source == source and start < e.ref.message < end]
        if not within or request.status not in _COMMITTED or _is_passing(within[-1], made):
            continue
        commit, at = within[-1], within[-1].ref.message
        before = [f for f in files if _is_touched(f, source, start, at)]
        after = [f for f in files if _is_touched(f, source, at, end)]
        # It may be work on something else, or in another repository.
        unasked = not before and "commit" not in request.text.lower()
        outside = commit.folder and not all(is_within(f.path, commit.folder) for f in before)
        since = any(at < f.last_message < end for f in after)
        # A file that was read or edited after it: which of both is not known.
        unclear = not since and any(f.last_message >= end for f in after)
        if unasked or outside or unclear or request.text.lower().startswith("why "):
            continue
        pushes = (e for e in summary.git if at <= e.ref.message < end)
        push = next((e for e in pushes if _is_push_of(e, commit)), None)
        words = f"commit {commit.hash[:10]}{' pushed' if push else ''}"
        words += f" ({message_number((push or commit).ref)})"
        words += ", edited since" if since else ""
        # What these committed is not recorded.
        words += ", subagents since" if any(at < place < end for place in agents) else ""
        found[request] = words
    return found


def _is_touched(file: FileModification, source: int, after: int, before: int) -> bool:
    return any(r.source == source and after < r.message < before for r in file.refs)


def _spans(requests: Sequence[UserRequest]) -> Iterator[tuple[UserRequest, int]]:
    """Requests in order, each with the message before which it was answered. A choice that the
    agent asked for on the way, and "continue", belong to the request before."""
    owners: list[UserRequest] = []  # empty for a summary whose requests were taken out
    for request in sorted(requests, key=lambda r: r.ref.message):
        last = owners[-1] if owners else None
        if last is None or not (
            request.ref.message == last.ref.message
            or matches("goes_on", request.text)
            or (request.kind == "choice" and request.status in {last.status, "answered"})
        ):
            owners.append(request)
    ends = [*(r.ref.message for r in owners[1:]), 1 << 62]
    return zip(owners, ends, strict=False)


def _is_passing(commit: GitEvent, made: Sequence[GitEvent]) -> bool:
    """Whether a commit is not the last word: it takes another one back or is to be folded into
    it, or a later one takes it back or holds the same again."""
    later = [e.text for e in made if e.ref.message > commit.ref.message]
    again = any(text in {commit.text, f'Revert "{commit.text}"'} for text in later)
    return again or commit.text.startswith(("Revert ", "fixup!", "squash!", "amend!"))


def _is_push_of(event: GitEvent, commit: GitEvent) -> bool:
    """Whether an event is the push of a commit; the first one of a branch names no hash."""
    if event.kind != "push" or not event.shown or event.folder != commit.folder:
        return False
    if event.hash:
        return event.hash.startswith(commit.hash) or commit.hash.startswith(event.hash)
    return bool(commit.branch) and event.branch == commit.branch
