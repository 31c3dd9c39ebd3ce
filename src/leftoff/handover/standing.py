"""The decisions that stand, apart from what was only said on the way.

What is shown as decided must be sure: a successor builds on it. So a decision of the agent
stands only if it is likely, is no mere next move, and no later words are about what it names.
Everything else is a saying of its moment and is given as one; what the person objected to at
once, or what was replaced, is left out."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from operator import attrgetter

from msgspec import UNSET, Struct

from leftoff import lazy_re as re
from leftoff.analysis.decisions.shown import PERSON_SURE, LikelyDecisions, likely_decisions
from leftoff.extraction.requests import announces, matches
from leftoff.formats.injected import is_client_command
from leftoff.handover.text_match import content_words, names
from leftoff.summary import CallOutcome, ContextSummary, KeyDecision, UserRequest
from leftoff.tables import table

# Share of a decision's content words that later words hold if they say it again. Chosen by
# hand; not measured.
SAME = 0.75

# So many content words in common, and half of a decision's own, are about the same. Chosen by
# hand; not measured.
ABOUT = 3

# Words of an approval or remark, or after a command, that ask for nothing by themselves. Chosen
# by hand.
FEW_WORDS = 3

# Words of a statement of the agent. Chosen by hand.
MIN_WORDS = 4

# Words of a statement that says something although its subject stands before it ("It returns
# the length, lines for ..., so that ..."). Chosen by hand: decisions fell by 3 of 86 without.
LONG = 12

# Code points of a sentence that two do not write by chance. Chosen by hand.
MIN_QUOTE = 40

_RE = re.patterns(table(__file__, "standing.toml"))
INTENT = _RE["intent"]


_message = attrgetter("message")


def is_statement(text: str, *, moves: bool = False) -> bool:
    """Whether a sentence of the agent says something by itself: it does not announce what comes
    behind it, nor, unless with a reason or with `moves`, what the agent does next."""
    if text.rstrip(" *").endswith(":") or len(_RE["word"].findall(text)) < MIN_WORDS:
        return False
    return moves or not is_move(text)


def is_announced(text: str) -> bool:
    """Whether words announce what the agent does next and give no reason."""
    return _RE["move"].match(text.strip("* ")) is not None and not _RE["reason"].search(text)


def is_move(text: str) -> bool:
    """Whether words announce what comes next, or say what goes on at the moment."""
    return is_announced(text) or _RE["goes_on"].search(text) is not None


def points_back(text: str) -> bool:
    """Whether words say nothing without those before them: "It returns the first"."""
    return len(_RE["word"].findall(text)) < LONG and _RE["back"].match(text) is not None


def is_deleted(call: CallOutcome, summary: ContextSummary) -> bool:
    """Whether the file that a call showed or wrote was deleted or renamed since."""
    files = [f for f in summary.file_modifications if f.action == "deleted"]
    places = {f.path: f.last_message for f in files}
    places |= {f.path: f.ref.message for f in summary.working_set.discarded or ()}
    shown = f"/{call.text}"
    return any(shown.endswith(f"/{p}") and at > call.ref.message for p, at in places.items())


def last_commits_branch(summary: ContextSummary) -> str:
    """The branch of the last commit in the session's own repository, as git printed it."""
    made = (e for e in reversed(summary.git) if e.kind == "commit" and not e.folder)
    return next((event.branch for event in made if event.branch), "")


def manner_of(summary: ContextSummary) -> str:
    """What more is known of the state: `announces` (the turn ended, but the agent's last words
    say what it does next), `unanswered` (nothing follows the person's last message), or ""."""
    turn = summary.turn
    if turn.status == "closed":
        return "announces" if announces(summary.working_set.last_words.text) else ""
    asked = max((r.ref.message for r in summary.user_requests), default=-1)
    last = turn.ref.message if turn.ref else -1
    return "unanswered" if turn.status == "open" and 0 <= last == asked else ""


class Decided(Struct, frozen=True):
    """One decision as it is shown. `likely`: it is called so wherever it is shown; `stands`: no
    later words are about it either; `before`: the one that it took the place of, if any."""

    decision: KeyDecision
    likely: bool
    stands: bool
    before: KeyDecision | None = None


class Said(Struct, frozen=True):
    """Words, and what they are about."""

    message: int
    names: frozenset[str]
    words: frozenset[str]


def said(text: str, message: int) -> Said:
    """What a text is about."""
    quoted = {part for code in _RE["named"].findall(text) for part in (code, *names(code))}
    return Said(message, frozenset(names(text) | quoted), content_words(text))


def decided(summary: ContextSummary, *, judged: bool) -> Iterator[Decided]:
    """The decisions in the order of the session, without those that others replaced and those
    that the person objected to.

    Args:
        judged: a second reader judged the agent's; only those that it chose count."""
    decisions = summary.key_decisions
    replaced = {d.replaced_by: d for d in decisions if d.replaced_by is not None}
    later = cache(lambda: _statements(summary))  # most decisions end without it
    typed = LikelyDecisions(summary.user_requests)
    chosen = {id(d) for d in likely_decisions(summary)}
    for number, decision in enumerate(decisions):
        own = decision.owner == "user"
        unchosen = judged and decision.judged_by is UNSET
        objected = typed.objected(decision.text, decision.message_index)
        if decision.replaced_by is not None or not own and (unchosen or objected):
            continue
        # Of the person's, what a rule found: the model alone, and rules for other languages,
        # also take tasks and options that were pasted.
        known = decision.confidence > PERSON_SURE and decision.rule != "words"
        likely = own or id(decision) in chosen
        stands = (
            (known if own else likely)
            and decision.status == "made"
            and decision.text.rstrip(" *")[-1:] not in {":", "?"}
            and (own or _is_choice(decision))
            and _is_last(said(decision.text, decision.message_index), own, later())
        )
        yield Decided(decision, likely, stands, replaced.get(number))


def _is_last(about: Said, own: bool, later: Iterable[Said]) -> bool:
    """Whether no later words are about what a decision is about; one of the person's in few
    words cannot be told apart."""
    if own and len(about.words) < MIN_WORDS:
        return False
    since = takewhile(lambda one: one.message > about.message, later)
    return not any(_is_about(about, one) for one in since)


def _is_choice(decision: KeyDecision) -> bool:
    """Whether it says more than what the agent does or has to do next."""
    text = decision.text
    reason = bool(decision.rationale) or _RE["reason"].search(text) is not None
    if _RE["intent"].match(text):
        return reason
    return not _RE["step"].match(text) and not _RE["pending"].search(text)


def _statements(summary: ContextSummary) -> list[Said]:
    """Everything that was said, by either side, the latest first. Of words that say the same
    only the last matter, and a session may hold thousands."""
    last = {(one.names, one.words): one for one in sorted(_said(summary), key=_message)}
    return sorted(last.values(), key=_message, reverse=True)


def _said(summary: ContextSummary) -> Iterator[Said]:
    for decision in summary.key_decisions:
        yield said(decision.text, decision.message_index)
    for request in summary.user_requests:
        yield said(request.text, request.ref.message)
    for finding in summary.key_findings:
        yield said(finding.text, finding.ref.message)
    for step in summary.next_steps:
        yield said(step.text, step.ref.message)
    working = summary.working_set
    for words in (*working.recent, working.report, working.last_words):
        yield said(words.text, words.message)


def _is_about(known: Said, later: Said) -> bool:
    """Whether later words are about what a decision is about, and do not just say it again."""
    shared = known.words & later.words
    if len(shared) >= SAME * len(known.words):
        return False
    half = len(shared) >= max(ABOUT, len(known.words) / 2)
    return half or not known.names.isdisjoint(later.names)


def quoting(summary: ContextSummary) -> set[UserRequest]:
    """The requests that hold a sentence which the agent had said before: pasted back, it is not
    the person's."""
    working = summary.working_set
    first: dict[str, int] = {}
    for words in (*working.recent, working.report, working.last_words):
        for sentence in _RE["sentence"].split(words.text):
            plain = " ".join(sentence.split())
            first[plain] = min(words.message, first.get(plain, words.message))
    said = [(text, at) for text, at in first.items() if len(text) >= MIN_QUOTE]
    return {
        request
        for request in summary.user_requests
        if len(request.text) >= MIN_QUOTE
        for typed in (" ".join(request.text.split()),)
        if any(0 <= at < request.ref.message and text in typed for text, at in said)
    }


def inner_requests(requests: Sequence[UserRequest]) -> set[UserRequest]:
    """The requests that are a part of another one of the same message: rules in a task."""
    longest: dict[tuple[int, int | None], UserRequest] = {}
    for request in requests:
        key = request.ref.message, request.ref.part
        longest[key] = max(longest.get(key, request), request, key=lambda r: len(r.text))
    return {
        r
        for r in requests
        for whole in (longest[r.ref.message, r.ref.part],)
        if r is not whole and r.text in whole.text
    }


def with_words(requests: Sequence[UserRequest]) -> tuple[list[UserRequest], list[UserRequest]]:
    """The requests that are no part of another one, and those of them that have words."""
    inner = inner_requests(requests)
    wholes = [r for r in requests if r not in inner]
    return wholes, [r for r in wholes if has_words(r)] or wholes


def first_task(
    summary: ContextSummary, wholes: Sequence[UserRequest], typed: Sequence[UserRequest]
) -> UserRequest | None:
    """The session's task: the request that a second reader chose, else the first."""
    reader = summary.second_reader or None
    chosen = [r for r in typed if reader and r.ref == reader.goal]
    tasks = [r for r in typed if r.kind in {"task", "plan", "command"}]
    asked = [r for r in wholes if r.kind != "choice"]
    return next(iter((*chosen, *tasks, *asked, *typed)), None)


def has_words(request: UserRequest) -> bool:
    """Whether the person said something: a command alone does not, one with a sentence after it
    does, if it is not for the client."""
    return request.kind != "command" or (
        request.text.startswith("/")
        and len(request.text.split()) > FEW_WORDS + 1
        and not is_client_command(request.text)
        and _RE["no_sentence"].match(request.text) is None
    )


def is_rule(request: UserRequest) -> bool:
    """Whether the first sentence of a constraint, which is what is shown, asks for something
    that holds for later requests: what only says how the code is may be settled by now, and so
    may a question."""
    first = _RE["sentence"].split(request.text, 1)[0]
    if request.kind != "constraint" or matches("passing", first):
        return False
    if first.endswith("?") or request.text.rstrip().endswith(":"):
        return False
    return _RE["norm"].search(first) is not None or _RE["complaint"].search(first) is None


def is_overtaken(rule: UserRequest, typed: Iterable[UserRequest]) -> bool:
    """Whether a rule forbids to change what a later message orders to be changed."""
    forbidden = _RE["unchanged"].match(rule.text)
    about = content_words(forbidden[1]) if forbidden else frozenset()
    return any(
        later.ref.message > rule.ref.message
        and later.kind in {"task", "plan", "correction"}
        and not about.isdisjoint(content_words(later.text))
        and _RE["changes"].search(later.text) is not None
        for later in (typed if about else ())
    )


def takes_up(request: UserRequest) -> bool:
    """Whether words answer the question before them: they choose, agree or refuse, or share a
    word with it. A question in return is no answer."""
    if request.text.rstrip().endswith("?"):
        return False
    return (
        request.kind in {"choice", "approval"}
        or not _content(request.text).isdisjoint(_content(request.question))
        or _RE["reply"].match(request.text) is not None
    )


def may_answer(request: UserRequest) -> bool:
    """Whether words are shown behind the question before them: not those that ask or command
    something themselves, nor many words after the agent's "please say what to do next"."""
    text = request.text.rstrip()
    asked = "?" in request.question or "？" in request.question
    few = asked or len(text.split()) <= FEW_WORDS
    return takes_up(request) or (few and not text.endswith("?") and text[:1] != "/")


def _content(text: str) -> set[str]:
    return {word for word in _RE["word"].findall(text.casefold()) if len(word) > 4}
