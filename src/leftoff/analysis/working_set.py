"""The working set at the end: commands that succeeded, names in use, commit, variables."""

from bisect import bisect_right

from msgspec import UNSET, UnsetType

from leftoff import lazy_re as re
from leftoff.analysis.activities import EDITING, activities
from leftoff.analysis.checks import all_worked, checks
from leftoff.analysis.decisions.select import chances
from leftoff.analysis.git import last_commit
from leftoff.analysis.names import names_in_use
from leftoff.extraction.evidence import Asked, Ran, Returned, Said
from leftoff.model import Ref
from leftoff.session_view import Call, SessionView
from leftoff.summary import CallOutcome, Command, Words, WorkingSet
from leftoff.tables import table

_RE = re.patterns(table(__file__, "patterns.toml")["working_set"])

# At most so many commands, those of checks first, then the latest.
MAX_COMMANDS = 20

# At most so many sentences.
MAX_SENTENCES = 200

# Code points between two sentences that belong together. Chosen by hand.
MAX_GAP = 8

# Code points; a longer command is a script and left out.
MAX_COMMAND = 300

_CHECKS = ("test", "build", "lint")
# A command line that does several is of the first kind.
_ACTIONS = (*_CHECKS, "run", "install")
# These may stand beside an action in a command line that a successor runs again.
_NEUTRAL = frozenset({"look", "search", "inspect_change", "other", "wait"})

_COMMON = frozenset(
    "HOME PATH PWD OLDPWD USER SHELL LANG TERM TMPDIR EDITOR PAGER IFS EOF BASH_SOURCE"
    " PYTHONPATH RANDOM SECONDS LINENO PIPESTATUS".split()
)


def working_set(view: SessionView) -> WorkingSet:
    """The working set of a session, but for its latest sentences."""
    return WorkingSet(
        commit=last_commit(view),
        commit_at_start=view.state.header.commit,
        commands=_commands(view),
        variables=_variables(view),
        names=names_in_use(view),
        last_words=_words(view, view.state.last_at, view.state.last_words),
        report=_words(view, *view.heard.report),
        remark=_words(view, *view.heard.remark) if view.heard.remark[1] else UNSET,
        queued=_queued(view),
        task=_task(view),
        links=_links(view),
        last_edits=_last_edits(view),
        assigned=_assigned(view),
    )


def _assigned(view: SessionView) -> Words | UnsetType:
    """The task of a subagent; what asks for a summary at a compaction is none."""
    state = view.state
    inner = (state.agent or state.header.parent_id) and not view.active(Asked)
    if not inner or not state.first_words or _RE["summarizes"].match(state.first_words):
        return UNSET
    return Words(state.first_words, state.first_at)


def _words(view: SessionView, at: int, text: str) -> Words:
    return Words() if at in view.abandoned else Words(text, at)


def _queued(view: SessionView) -> tuple[str, ...]:
    """The prompts that wait; one that stands in the conversation was delivered."""
    waiting = view.state.header.queued
    known = {asked.text.strip() for asked in view.active(Asked)} if waiting else set()
    return tuple(text for text in waiting if text.strip() not in known)


def _task(view: SessionView) -> CallOutcome | UnsetType:
    at, tool, words, text = view.heard.task
    if at < 0 or at in view.abandoned or _is_closed(view, at, words):
        return UNSET
    return CallOutcome(tool, words, "ok", view.ref(Ref(message=at)), text)


def _is_closed(view: SessionView, at: int, words: str) -> bool:
    """Whether a later command closed the ticket that a command showed."""
    shown = _RE["ticket"].search(words)
    if shown is None:
        return False
    named = rf"(?<![\w.-]){re.escape(shown[1])}(?![\w.-])"
    return any(
        ran.ref.message > at
        and _RE["closes"].search(ran.command)
        and re.search(named, ran.command)
        and view.succeeded(ran.call)
        for ran in view.each(Ran)
    )


def _links(view: SessionView) -> tuple[Words, ...] | UnsetType:
    known = view.heard.links.items()
    found = [Words(link, at) for link, at in known if at not in view.abandoned]
    return tuple(found[::-1]) or UNSET


def _last_edits(view: SessionView) -> tuple[Ref, ...] | UnsetType:
    asked = [a.ref.message for a in view.active(Asked) if a.via != "answer"]
    last: dict[int, Call] = {}
    for place, did in activities(view).items():
        if EDITING.intersection(did):
            turn = bisect_right(asked, place[0])
            last[turn] = max(place, last.get(turn, place))
    return tuple(view.ref(Ref(message=m, part=p)) for m, p in sorted(last.values())) or UNSET


def recent_sentences(view: SessionView) -> tuple[Words, ...]:
    """The latest candidate sentences for decisions, each once; one that says how a fault was
    mended stands with the fault, where both stand side by side."""
    found: dict[str, Words] = {}
    after: Said | None = None
    for said, chance in chances(view):
        text = said.text
        if after and _RE["remedy"].match(after.text) and _follows(said.ref, after.ref):
            found.pop(after.text, None)
            text = f"{text} {after.text}"
        after = said
        if len(text) > 20:
            part = said.ref.part or UNSET
            found.setdefault(text, Words(text, said.ref.message, chance, part))
            if len(found) == MAX_SENTENCES:
                break
    # The newest message first, its sentences in the order in which they are read.
    in_order = list(found.values())[::-1]
    return tuple(sorted(in_order, key=lambda words: -words.message))


def _follows(first: Ref, second: Ref) -> bool:
    """Whether nothing stands between two sentences but a blank and marks."""
    if (first.message, first.part) != (second.message, second.part):
        return False
    return 0 <= (second.start or 0) - (first.end or 0) <= MAX_GAP


def _commands(view: SessionView) -> tuple[Command, ...]:
    """Checks with their last outcome, and other commands that succeeded and were run again."""
    kinds = activities(view)
    verdicts: dict[tuple[int, int | None], set[str]] = {}
    for check in checks(view):
        verdicts.setdefault((check.ref.message, check.ref.part), set()).add(check.verdict)
    last: dict[str, Command] = {}
    for ran in view.each(Ran):
        place = ran.call
        outcome = view.outcomes.get(place)
        did = set(kinds.get(place, ()))
        found = did.intersection(_ACTIONS) if did <= _NEUTRAL.union(_ACTIONS) else set()
        text = ran.command.strip()
        if (
            not found
            or outcome is None
            or len(text) > MAX_COMMAND
            or _RE["quoted_script"].search(text)
        ):
            continue
        before = last.pop(text, None)
        last[text] = Command(
            text,
            min(found, key=_ACTIONS.index),
            _passed(view, ran, outcome, verdicts.get(place)),
            (before.count if before else 0) + 1,
            view.ref(ran.ref),
        )
    useful = [c for c in last.values() if c.kind in _CHECKS or c.passed and c.count > 1]
    order = sorted(useful, key=lambda c: (c.kind not in _CHECKS, -c.ref.message))
    return tuple(order[:MAX_COMMANDS])


def _passed(
    view: SessionView, ran: Ran, outcome: Returned, verdicts: set[str] | None
) -> bool | None:
    """Whether a command succeeded: by the verdicts on its checks, else by its exit status."""
    if verdicts is not None:
        if "failed" in verdicts:
            return False
        return None if "unknown" in verdicts else True
    if outcome.exit_code or outcome.status not in {"ok", "unknown", "running"}:
        return False
    return all_worked(view, ran, outcome) or None


def _variables(view: SessionView) -> tuple[str, ...]:
    """Names of environment variables in commands; never a value."""
    found: set[str] = set()
    for ran in view.each(Ran):
        command = ran.command
        if ("$" in command or "=" in command or "env" in command) and _RE["capitals"].search(
            command
        ):
            found.update(m[m.lastindex or 0] for m in _RE["variable"].finditer(command))
    return tuple(sorted(found - _COMMON))
