"""The decisions that every form for a person shows: the same ones, in the same order."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import attrgetter

from msgspec import UNSET

from leftoff import lazy_re as re
from leftoff.analysis.decisions.person import LIMIT, LIMITS, ORDER, rank
from leftoff.analysis.decisions.reversals import objects_to, topics
from leftoff.extraction.decision_model import ENGLISH, MODEL, PATTERNS, SCALE
from leftoff.summary import ContextSummary, KeyDecision

# Decisions of one owner that are shown; all others stand behind `--all` and in the JSON. More
# than five are not read; chosen by hand.
MAX_SHOWN = 5

# Decisions of one owner that are compared with each other: more than a handover has room for.
# Chosen by hand.
MAX_LIKELY = 100

# Least confidence of a decision of the agent that is shown: on repositories that were not
# trained on, the first three are then right in 0.92 and 0.74 (`docs/accuracy.md`).
LIKELY = MODEL.likely / SCALE

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

# From this share of its names and content words on that stand in the request before it, a
# sentence says no more than what the person asked for. Of 219 shown in recordings that were
# read 16 are so, of which 13 decide nothing and 1 does; from 0.5 on 25, 17 and 5.
ASKED = 0.6

# Code points of a request that are looked at: what is pasted behind them says less of what is
# wanted. With 3000 one decision more is left out of those 219, and nothing else.
MAX_REQUEST = 600

_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"\w+")
# What the person quotes at the beginning of a message and speaks of below.
_QUOTED = re.compile(r"(?:>[^\n]*\n)+(?=\s*[^\s>])")


def shown_decisions(summary: ContextSummary) -> tuple[KeyDecision, ...]:
    """The first `MAX_SHOWN` of `likely_decisions` in the order of the session."""
    return _in_order(likely_decisions(summary))


def likely_decisions(summary: ContextSummary) -> list[KeyDecision]:
    """The agent's decisions that stand and are called likely wherever they are shown, the
    surest first, without those that the person's next message objects to or quotes to speak of.
    Where a second reader judged, those that it chose."""
    agents = [d for d in summary.key_decisions if d.owner != "user"]
    if summary.second_reader is not UNSET:
        return _different(d for d in agents if d.judged_by is not UNSET)
    typed: dict[int, str] = {}
    objected: dict[int, str] = {}
    for request in summary.user_requests:
        at = request.ref.message
        typed[at] = f"{typed[at]} {request.text}" if at in typed else request.text
        quoted = _QUOTED.match(request.text)
        if quoted or request.kind == "correction":
            objected[at] = quoted[0] if quoted else request.text
    places = sorted(typed)

    def stands(d: KeyDecision) -> bool:
        before = bisect_left(places, d.message_index)
        after = bisect_right(places, d.message_index)
        objection = objected.get(places[after], "") if after < len(places) else ""
        if objection and objects_to(topics(objection[:MAX_REQUEST]), d):
            return False
        return decides(d.text, typed[places[before - 1]] if before else "")

    return _different((d for d in agents if d.confidence >= LIKELY), stands)


def decides(text: str, request: str = "") -> bool:
    """Whether a likely sentence of the agent may decide something: no rule says that it does
    not, and it is not just what the request before it asks for."""
    words = _CODE.sub("`x`", text)
    chosen = any(rule.search(words) for rule in PATTERNS["choice"])
    if any(r.search(text) for r in PATTERNS["undecided"] if not (chosen and r.value)):
        return False
    said, asked = _about(text), _about(request[:MAX_REQUEST])
    return len(said) < 2 or len(said & asked) < ASKED * len(said)


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
    return _in_order(_different(own, shows, rank))


def _different(
    decisions: Iterable[KeyDecision],
    fits: Callable[[KeyDecision], bool] = lambda _: True,
    settles: Callable[[KeyDecision], int] = lambda _: 0,
) -> list[KeyDecision]:
    """The decisions that stand and fit, by what they settle and confidence, the later before
    the earlier; of those of different messages that say almost the same, or its opposite, the
    last."""
    found: list[KeyDecision] = []
    standing = [d for d in decisions if d.status == "made"]
    ranked = sorted(standing, key=lambda d: (-settles(d), -d.confidence, -d.message_index))
    for one in filter(fits, ranked):
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
    place = attrgetter("message_index", "ref.part", "ref.start")
    return tuple(sorted(decisions[:MAX_SHOWN], key=lambda d: [n or 0 for n in place(d)]))
