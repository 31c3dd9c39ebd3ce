"""The decisions that every form for a person shows: the same ones, in the same order."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from operator import attrgetter

from msgspec import UNSET

from leftoff import lazy_re as re
from leftoff.analysis.decisions.person import LIMIT, LIMITS, ORDER, rank
from leftoff.analysis.decisions.reversals import topics
from leftoff.extraction.decision_model import ENGLISH, PATTERNS, VERBS, WORK
from leftoff.summary import ContextSummary, KeyDecision, UserRequest
from leftoff.text.markdown import sentences

# Decisions of one owner that are shown; all others stand behind `--all` and in the JSON. More
# than five are not read; chosen by hand.
MAX_SHOWN = 5

# Decisions of one owner that are compared with each other: more than a handover has room for.
# Chosen by hand.
MAX_LIKELY = 100

# Least confidence of a decision of the agent that is shown: of 62 in recordings that were read
# 53 are right, of labelled ones 38 of 47.
LIKELY = 0.5

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
# of an earlier one; with the agent's also so many names and content words, and this share of
# them. Chosen by hand on recordings that were read: below it are different things.
SAME_WORDS, SAME, SAME_SHARE = 0.75, 3, 0.6

# From this share of its names and content words on, two at least, that stand at the beginning
# of the request before it, or in one sentence of any before, a statement says what the person
# asked for. Of 214 that were shown in recordings that were read 34 are so, of which 23 decide
# nothing and 4 something.
ASKED = 0.4

# Code points of a request that are looked at: what is pasted behind them says less of what is
# wanted. Chosen by hand.
MAX_REQUEST = 600

_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"\w+")

# Classes of verbs that shape the work, and those of looking at it and speaking of it.
_SHAPES = frozenset({"CHG", "KEEP", "DROP", "PICK", "FIX"})
_LOOKS = frozenset({"LOOK", "SAY"})


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
        texts: dict[int, str] = {}
        objections = set[int]()
        for request in typed:
            at = request.ref.message
            texts[at] = f"{texts[at]} {request.text}" if at in texts else request.text
            # What a message quotes at its beginning it speaks of below.
            if request.kind == "correction" or request.text.startswith(">"):
                objections.add(at)
        self._places = sorted(texts)
        self._texts = [texts[at][:MAX_REQUEST] for at in self._places]
        self._objects = [at in objections for at in self._places]

    @cached_property
    def _asked(self) -> list[tuple[int, frozenset[str]]]:
        """What each sentence of the requests is about, with its message."""
        return [
            (at, _about(text[start:end]))
            for at, text in zip(self._places, self._texts, strict=True)
            for start, end in sentences(text)
        ]

    def has(self, text: str, confidence: float, message: int) -> bool:
        """Whether a statement is one: it is sure enough, it decides, the person did not ask for
        it, and does not object to it or take back what was done next.

        Args:
            message: in which it stands."""
        least = STATED if _finds("stated", text) else LIKELY
        if confidence < least or not decides(text):
            return False
        said = _about(text)
        after = bisect_right(self._places, message)
        for number, reply in enumerate(self._texts[after : after + 1], after):
            objects = self._objects[number] and not said.isdisjoint(_about(reply))
            if objects or _finds("recall", reply):
                return False
        before = bisect_left(self._places, message)
        asked = [about for at, about in self._asked if at < message]
        asked += map(_about, self._texts[max(0, before - 1) : before])
        needed = max(2, ASKED * len(said))
        return all(len(said & about) < needed for about in asked)


def decides(text: str) -> bool:
    """Whether a sentence of the agent says, with a word of a choice outside of code, what its
    speaker does to the work, or opens with it."""
    words = _CODE.sub("x", text)
    if not _finds("choice", words) or _finds("undecided", text):
        return False
    speaker, opens = (rule.search(text) for rule in PATTERNS["act"])
    if speaker is not None:
        return speaker[1] not in WORK and _kind(speaker[1]) not in _LOOKS
    return opens is not None and _kind(opens[1]) in _SHAPES


def _finds(name: str, text: str) -> bool:
    return any(rule.search(text) for rule in PATTERNS[name])


def _kind(verb: str | None) -> str:
    """The class of a verb that says what is done now or next."""
    return VERBS.get(verb or "", "").removesuffix("ING")


@lru_cache(maxsize=256)
def _about(text: str) -> frozenset[str]:
    """The names and content words of a text."""
    names, plain = topics(text)
    return names | plain


def is_sure(rule: str, confidence: float) -> bool:
    """Whether a decision of the person, found by a rule, is sure enough to be shown as one."""
    return confidence >= (RULED_OUT if rule in LIMITS else PERSON_SURE)


def person_decisions_shown(summary: ContextSummary) -> tuple[KeyDecision, ...]:
    """The person's own decisions that stand, chosen likewise by what they settle, then by
    confidence; without tasks, without what stands among the requests, since it is a whole one
    or opens the first, unless it rules something out, and those too long to be read there."""
    tasks = [r.text.strip() for r in summary.user_requests if r.kind == "task"]
    first = tasks[0] if tasks else ""

    def shows(d: KeyDecision) -> bool:
        said = d.text.strip()
        return (
            rank(d) >= (LIMIT if said in tasks or first.startswith(said) else ORDER)
            and is_sure(d.rule, d.confidence)
            and len(d.text) <= MAX_TOLD
        )

    own = [d for d in summary.key_decisions if d.owner == "user"]
    return _in_order(_different(own, shows))


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
    """Whether two decisions of different messages have almost the same words, or two of the
    agent are about the same."""
    if one.message_index == other.message_index:
        return False
    first, second = _words(one.text), _words(other.text)
    if len(first & second) > SAME_WORDS * min(len(first), len(second)):
        return True
    first, second = _about(one.text), _about(other.text)
    least = max(SAME, SAME_SHARE * min(len(first), len(second)))
    return one.owner != "user" and len(first & second) >= least


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - ENGLISH


def _in_order(decisions: list[KeyDecision]) -> tuple[KeyDecision, ...]:
    """The first `MAX_SHOWN` in the order of the session."""
    return tuple(sorted(decisions[:MAX_SHOWN], key=attrgetter("ref.place")))
