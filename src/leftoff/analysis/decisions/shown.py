"""The decisions that every form for a person shows: the same ones, in the same order."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from operator import attrgetter

from msgspec import UNSET

from leftoff import lazy_re as re
from leftoff.analysis.decisions.person import CHOICE, LIMIT, LIMITS, rank
from leftoff.analysis.decisions.reversals import objects_to, topics
from leftoff.extraction.decision_model import ENGLISH, PATTERNS
from leftoff.summary import ContextSummary, KeyDecision, UserRequest
from leftoff.tables import table
from leftoff.text.markdown import sentences

# Decisions of one owner that are shown; all others stand behind `--all` and in the JSON. More
# than five are not read; chosen by hand.
MAX_SHOWN = 5

# Decisions of one owner that are compared with each other: more than a handover has room for.
# Chosen by hand.
MAX_LIKELY = 100

# Least confidence of a decision of the agent that is shown: of one with a word of a choice (a
# reason, what was not taken), and of any other. Of what readers judged in repositories that no
# rule was written on 21 of 26 were right before, with all rules 12 of 14; of what others show
# from 0.55 to 0.7, 8 of 19.
LIKELY, LIKELY_PLAIN = 0.5, 0.7

# Likewise of one that says "I decided", which agents seldom do. Chosen by hand.
STATED = 0.4

# Confidence from which a decision of the person is shown: of 160 of those shown 148 are right,
# of all reported 0.91 (`benchmarks/accuracy/decisions/README.md`).
PERSON_SURE = 0.9

# Likewise of one that rules something out: of 22 labelled between the two 19 decide, one not.
RULED_OUT = 0.8

# Code points; a longer sentence of the person tells a story: of 27 that were labelled 11 decide
# something, and a screen shows no more than the beginning.
MAX_TOLD = 320

# More than this share of the shorter one's words in common, and a later message takes the place
# of an earlier one. Chosen by hand on recordings that were read: below it are different things.
SAME_WORDS = 0.75

# From this share of its names and content words on that stand at the beginning of the request
# before it, or in one sentence of any before it, a statement says no more than what the person
# asked for, unless so many of them do not; one alone is chance. Of 214 that were shown in
# recordings that were read 34 are so, of which 23 decide nothing and 4 something.
ASKED, OWN = 0.4, 8

# Nor does one in which this share of the names and content words of one sentence of the person
# stands, two at least, unless more than `OWN` of its own do not. Chosen on recordings that were
# read: of 38 shown 5 of 10 wrong ones are so and one right one, with 0.6 6 and 4.
REPEATED = 0.75

# Code points of a request that are looked at: what is pasted behind them says less of what is
# wanted. Chosen by hand.
MAX_REQUEST = 600

_POINTS_BACK = re.patterns(table(__file__, "patterns.toml")["shown"])["points_back"]
_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"\w+")
# That git is left alone.
_UNCOMMITTED = re.compile(
    r"(?i)\b(?:(?:do not|don['’]?t|no) (?:(?:need|want|have)(?: to)? )?|without )(?:\w+ ){0,3}"
    r"(?:commit|push|publish)(?:s|t?ing)?\b"
)
_YES = re.compile(
    r"(?i)\W*(?:yes|yeah|yep|sure|ok(?:ay)?|go ahead|proceed|do (?:it|that|this))\b"
)


def shown_decisions(summary: ContextSummary) -> tuple[KeyDecision, ...]:
    """The first `MAX_SHOWN` of `likely_decisions` in the order of the session."""
    return _in_order(likely_decisions(summary))


def likely_decisions(summary: ContextSummary) -> list[KeyDecision]:
    """The agent's decisions that stand and are called likely wherever they are shown, the
    surest first. None of a session without calls, in which nothing shows what was carried out:
    of 27 such 19 decided nothing. Where a second reader judged, those that it chose."""
    agents = [d for d in summary.key_decisions if d.owner != "user"]
    if summary.second_reader is not UNSET:
        return _different(d for d in agents if d.judged_by is not UNSET)
    likely = LikelyDecisions(summary.user_requests)
    if not summary.stats.tool_call_count:
        return []
    return _different(agents, lambda d: likely.has(d.text, d.confidence, d.message_index))


class LikelyDecisions:
    """Which statements of the agent are called likely decisions, beside what the person typed.

    Args:
        typed: the person's requests."""

    def __init__(self, typed: Iterable[UserRequest]) -> None:
        at: dict[int, list[UserRequest]] = {}
        for request in typed:
            at.setdefault(request.ref.message, []).append(request)
        self._places = sorted(at)
        several = [at[place] for place in self._places]
        self._texts = [" ".join(r.text for r in each)[:MAX_REQUEST] for each in several]
        self._objections = [any(r.kind == "correction" for r in each) for each in several]
        self._answered = [any(r.status == "answered" for r in each) for each in several]

    @cached_property
    def _sentences(self) -> list[tuple[int, frozenset[str]]]:
        """What each sentence of the requests is about, with its message."""
        return [
            (at, _about(text[start:end]))
            for at, text in zip(self._places, self._texts, strict=True)
            for start, end in sentences(text)
        ]

    def has(self, text: str, confidence: float, message: int) -> bool:
        """Whether a statement is one: it chooses, it is sure enough, no rule says that it
        decides nothing, the person did not ask for it, does not object next, and says yes next
        where nothing was done but talk.

        Args:
            message: in which it stands."""
        chosen = chooses(text)
        least = LIKELY if chosen else LIKELY_PLAIN
        if any(rule.search(text) for rule in PATTERNS["stated"]):
            least = STATED
        if confidence < least or not decides(text, chosen) or self.objected(text, message):
            return False
        said, after = _about(text), bisect_right(self._places, message)
        before = bisect_left(self._places, message)
        if any(self._answered[before - 1 : before]) and not any(
            map(_YES.match, self._texts[after : after + 1])
        ):
            return False
        asked = [about for at, about in self._sentences if at < message]
        similar = (about for about in asked if len(said - about) <= OWN)
        if any(len(said & about) >= max(2, REPEATED * len(about)) for about in similar):
            return False
        asked += [_about(text) for text in self._texts[before - 1 : before]]
        needed = max(2, ASKED * len(said), len(said) - OWN + 1)
        return all(len(said & about) < needed for about in asked)

    def objected(self, text: str, message: int) -> bool:
        """Whether the person corrects the agent next, in words about a statement in
        `message`."""
        after = bisect_right(self._places, message)
        return any(self._objections[after : after + 1]) and objects_to(self._texts[after], text)


def chooses(text: str) -> bool:
    """Whether a word of a choice stands in a sentence, outside of code."""
    words = _CODE.sub("x", text)
    return any(rule.search(words) for rule in PATTERNS["choice"])


def acts(text: str) -> bool:
    """Whether a sentence of the agent says what is done or is to be."""
    return any(rule.search(text) for rule in PATTERNS["act"])


def decides(text: str, chosen: bool) -> bool:
    """Whether a likely sentence of the agent says what is done or is to be, and no rule says
    that it decides nothing.

    Args:
        chosen: it `chooses`; some rules hold of others only."""
    return acts(text) and not any(
        r.search(text) for r in PATTERNS["undecided"] if not (chosen and r.value)
    )


@lru_cache(maxsize=256)
def _about(text: str) -> frozenset[str]:
    """The names and content words of a text."""
    names, plain = topics(text)
    return names | plain


def is_sure(rule: str, confidence: float) -> bool:
    """Whether a decision of the person, found by a rule, is sure enough to be shown as one."""
    return confidence >= (RULED_OUT if rule in LIMITS else PERSON_SURE)


def binds(decision: KeyDecision) -> bool:
    """Whether a decision of the person is called one wherever it is shown: it is sure enough,
    holds for later work, unlike an order that is carried out once, and does not announce what
    stands below it."""
    sure = is_sure(decision.rule, decision.confidence) and decision.text[-1:] not in {":", "："}
    return sure and rank(decision) >= CHOICE


def person_decisions_shown(summary: ContextSummary) -> tuple[KeyDecision, ...]:
    """The person's own decisions that stand, chosen likewise by what they settle, then by
    confidence; without what stands among the requests, since it is a whole one
    or opens the first, unless it rules something out, and those too long to be read there."""
    tasks = [r.text.strip() for r in summary.user_requests if r.kind == "task"]
    first = tasks[0] if tasks else ""
    made = max((e.ref.message for e in summary.git if e.kind in {"commit", "push"}), default=-1)

    def shows(d: KeyDecision) -> bool:
        if made > d.message_index and _UNCOMMITTED.search(d.text):
            return False  # overtaken
        said = d.text.strip()
        known = said in tasks or first.startswith(said)
        return binds(d) and len(d.text) <= MAX_TOLD and (not known or rank(d) == LIMIT)

    own = [d for d in summary.key_decisions if d.owner == "user"]
    return _in_order(_different(own, shows))


def in_context(decision: KeyDecision, requests: Iterable[UserRequest], room: int) -> str:
    """A decision of the person with the sentence before it, where it points back ("it needs to
    be ...") and both stand in one paragraph and in `room` code points."""
    text = decision.text
    for request in requests if _POINTS_BACK.match(text) else ():
        at = request.text.find(text) if request.ref.message == decision.message_index else -1
        for start, end in sentences(request.text[:at])[-1:] if at > 0 else ():
            whole = request.text[start : at + len(text)]
            item = request.text[end - 2 : end - 1].isdigit()  # "2." before the next item
            if len(whole) <= room and not item and "\n\n" not in request.text[end:at]:
                return whole
    return text


def by_weight(decision: KeyDecision) -> tuple[float, ...]:
    """The key by which decisions are sorted wherever they are listed: the person's first, by
    what they settle; then by confidence, the later before the earlier."""
    settles = rank(decision) if decision.owner == "user" else -1
    return -settles, -decision.confidence, -decision.message_index


def _different(
    decisions: Iterable[KeyDecision], fits: Callable[[KeyDecision], bool] = lambda _: True
) -> list[KeyDecision]:
    """The decisions that stand and fit, `by_weight`; of those of different messages that say
    almost the same, or its opposite, the last."""
    found: list[KeyDecision] = []
    standing = [d for d in decisions if d.status == "made"]
    for one in filter(fits, sorted(standing, key=by_weight)):
        if len(found) == MAX_LIKELY:
            break
        same = [other for other in found if _same(one, other)]
        if any(other.message_index > one.message_index for other in same):
            continue
        found = [other for other in found if other not in same]
        found.append(one)
    return found


def _same(one: KeyDecision, other: KeyDecision) -> bool:
    """Whether two decisions of different messages have almost the same words."""
    first, second = _words(one.text), _words(other.text)
    alike = len(first & second) > SAME_WORDS * min(len(first), len(second))
    return alike and one.message_index != other.message_index


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - ENGLISH


def _in_order(decisions: list[KeyDecision]) -> tuple[KeyDecision, ...]:
    """The first `MAX_SHOWN` in the order of the session."""
    return tuple(sorted(decisions[:MAX_SHOWN], key=attrgetter("ref.place")))
