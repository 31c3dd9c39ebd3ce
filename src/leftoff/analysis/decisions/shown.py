"""The decisions that every form for a person shows: the same ones, in the same order."""

from collections.abc import Iterable

from msgspec import UNSET

from leftoff import lazy_re as re
from leftoff.extraction.decision_model import ENGLISH, MODEL, PATTERNS, SCALE
from leftoff.summary import ContextSummary, KeyDecision

# Decisions of one owner that are shown; all others stand behind `--all` and in the JSON. More
# than five are not read; chosen by hand.
MAX_SHOWN = 5

# Least confidence of a decision of the agent that is shown: by the calibration on repositories
# that were not trained on, the first three are then right in 60 % of the cases.
LIKELY = MODEL.likely / SCALE

# Confidence from which a decision of the person is shown: of 160 of those shown 148 are right,
# of all reported 0.91 (`benchmarks/accuracy/decisions/README.md`).
PERSON_SURE = 0.9

# Code points; a longer sentence of the person tells a story: of 27 that were labelled 11 decide
# something, and a screen shows no more than the beginning.
MAX_TOLD = 320


# More than this share of the shorter one's words in common, and a later message takes the place
# of an earlier one. Chosen by hand on recordings that were read: below it are different things.
SAME_WORDS = 0.75

_WORD = re.compile(r"\w+")


def shown_decisions(summary: ContextSummary) -> tuple[KeyDecision, ...]:
    """The agent's likely decisions that stand, at most `MAX_SHOWN`: chosen by confidence, given
    in the order of the session. Where a second reader judged, those that it chose."""
    agents = [d for d in summary.key_decisions if d.owner != "user"]
    if summary.second_reader is not UNSET:
        return _best(d for d in agents if d.judged_by is not UNSET)
    return _best(d for d in agents if d.confidence >= LIKELY and decides(d.text))


def decides(text: str) -> bool:
    """Whether no rule says that a likely sentence of the agent decides nothing."""
    return not any(rule.search(text) for rule in PATTERNS["undecided"])


def person_decisions_shown(summary: ContextSummary) -> tuple[KeyDecision, ...]:
    """The person's own decisions that stand, chosen and ordered likewise; without those that
    are a whole task, which stands among the requests, or too long to be read there."""
    tasks = {r.text.strip() for r in summary.user_requests if r.kind == "task"}
    return _best(
        d
        for d in summary.key_decisions
        if d.owner == "user"
        and d.confidence >= PERSON_SURE
        and len(d.text) <= MAX_TOLD
        and d.text.strip() not in tasks
    )


def _best(decisions: Iterable[KeyDecision]) -> tuple[KeyDecision, ...]:
    """The first `MAX_SHOWN` by confidence, the later before the earlier, in session order; of
    those of different messages that say almost the same, or its opposite, the last."""
    best: list[tuple[KeyDecision, frozenset[str]]] = []
    standing = [d for d in decisions if d.status == "made"]
    for one in sorted(standing, key=lambda d: (-d.confidence, -d.message_index)):
        said = frozenset(_WORD.findall(one.text.lower())) - ENGLISH
        same = [
            (other, words)
            for other, words in best
            if other.message_index != one.message_index
            and len(said & words) > SAME_WORDS * min(len(said), len(words))
        ]
        if any(other.message_index > one.message_index for other, _ in same):
            continue
        best = [pair for pair in best if pair not in same]
        if len(best) < MAX_SHOWN:
            best.append((one, said))
    shown = [one for one, _ in best]
    return tuple(
        sorted(shown, key=lambda d: (d.message_index, d.ref.part or 0, d.ref.start or 0))
    )
