"""Which decisions no longer hold: taken back or replaced by later words, or denied.

A later statement ends an earlier one only by what both are about: what stands after the word
that takes back ("instead of X", "no longer X", "drop X") must be what the earlier one took up.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TypeAlias

import msgspec

from leftoff import lazy_re as re
from leftoff.extraction.decision_model import PATTERNS
from leftoff.extraction.evidence import Asked, Called
from leftoff.extraction.requests import matches
from leftoff.formats.vocabulary import EDITS
from leftoff.session_view import SessionView
from leftoff.summary import KeyDecision
from leftoff.tables import table

_TABLE = table(__file__, "patterns.toml")
_RE = re.patterns(_TABLE["reversals"])
_STOP_WORDS = frozenset(_TABLE["words"]["stop"].split())

# Names and content words.
Topics: TypeAlias = tuple[frozenset[str], frozenset[str]]

# So many words after a verb are its object. Chosen by hand; not measured.
OBJECT_WORDS = 3

# So many names and content words that an objection has in common with what it is about. Chosen
# by hand: with one, words that were no objection took right decisions away.
OBJECTED = 2


@lru_cache(maxsize=1024)
def topics(text: str) -> Topics:
    """What a statement is about: the names in it, and its content words by their stems."""
    names = frozenset(
        next(n for n in found if n).lower() for found in _RE["names"].findall(text)
    )
    plain = frozenset(
        _stem(w) for w in _RE["plain"].findall(text.lower()) if w not in _STOP_WORDS
    )
    return names, plain


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def with_status(view: SessionView, decisions: Sequence[KeyDecision]) -> list[KeyDecision]:
    """The decisions, with status and link where a later one takes them back, and where the
    person does so without naming it or denies the edit."""
    prompts = [a.ref.message for a in view.active(Asked)]
    return _denied(view, _recalled(view, by_words(decisions, prompts)), prompts)


def _denied(
    view: SessionView, decisions: list[KeyDecision], prompts: Sequence[int]
) -> list[KeyDecision]:
    """The decisions, with those whose edit the person denied: what names the file of that call,
    if it was never written, else the step that the agent announced last before the call."""
    out = list(decisions)
    calls = [call for call in view.each(Called) if call.kind in EDITS]
    for call in calls:
        outcome = view.outcomes.get(call.call)
        if outcome is None or outcome.status != "denied":
            continue
        said = [
            number
            for number, d in enumerate(out)
            if d.owner == "agent" and d.message_index <= call.message
        ]
        last = max((out[n].message_index for n in said), default=-1)
        name = call.text.rsplit("/", 1)[-1].casefold()
        since = prompts[bisect_left(prompts, call.message) - 1] if prompts else -1
        again = any(
            c.text == call.text and c.message > call.message and view.succeeded(c.call)
            for c in calls
        )
        named = [n for n in said if name and name in out[n].text.casefold()]
        latest = [n for n in said if since < out[n].message_index == last][-1:]
        latest = [n for n in latest if _RE["next"].match(out[n].text)]
        for number in named if named and not again else latest:
            if out[number].status == "made":
                out[number] = msgspec.structs.replace(out[number], status="reversed")
    return out


def by_words(
    decisions: Sequence[KeyDecision], prompts: Sequence[int] = ()
) -> list[KeyDecision]:
    """The decisions, with those that a later one takes back or replaces.

    Args:
        prompts: the messages that the person typed, in order."""
    out = list(decisions)

    @cache
    def content(number: int) -> frozenset[str]:
        """The content words among which those that `_adopts` looks for must be."""
        return topics(_taken(decisions[number].text))[1]

    for later, decision in enumerate(decisions):
        for status, objected in _objects(decision) if _commits(decision) else ():
            target = topics(objected)
            rest = topics(decision.text.replace(objected, " "))
            for earlier in range(later - 1, -1, -1):
                known = decisions[earlier]
                if (
                    known.message_index == decision.message_index
                    or out[earlier].status != "made"
                    or not target[1] <= content(earlier)
                ):
                    continue
                if _adopts(known, target) and not _repeats(known, target, rest):
                    out[earlier] = msgspec.structs.replace(
                        out[earlier], status=status, replaced_by=later
                    )
                    break
        own = decision.owner == "user"
        if (
            matches("correction", decision.text)
            if own
            else _RE["withdraws"].search(decision.text)
        ):
            number = bisect_left(prompts, decision.message_index) - 1
            _overrule(out, later, prompts[number] if number >= 0 else -1)
    return out


def _overrule(out: list[KeyDecision], later: int, since: int) -> None:
    """Ends the agent's latest decision in the turn that the person objects to, or the agent
    takes back, after message `since`, if both are about the same."""
    decision = out[later]
    if any(d.replaced_by == later for d in out[:later]):
        return
    # What the agent takes back is not what its reason names.
    reason = "" if decision.owner == "user" else decision.rationale
    objection = decision.text.replace(reason, " ") if reason else decision.text
    for earlier in range(later - 1, -1, -1):
        known = out[earlier]
        if known.message_index <= since:
            return
        if known.status != "made" or known.owner == "user":
            continue
        if known.message_index == decision.message_index:  # what it takes up instead
            continue
        if objects_to(objection, known.text):
            out[earlier] = msgspec.structs.replace(known, status="reversed", replaced_by=later)
            return


def objects_to(objection: str, text: str) -> bool:
    """Whether words that object are about a statement, also about what it does not take: one
    named thing or `OBJECTED` words."""
    (names, plain), (named, about) = topics(objection), topics(text)
    return bool(names & named) or len((names | plain) & (named | about)) >= OBJECTED


@lru_cache(maxsize=1024)
def _taken(text: str) -> str:
    """The words of a decision that say what it takes up: without what it rejects."""
    for rule in PATTERNS["reversal"]:
        match = rule.search(text)
        if match is not None:
            text = text[: match.start()] + " " + text[match.end() :]
    return text


def _objects(decision: KeyDecision) -> list[tuple[str, str]]:
    """What a statement takes back: the status that it gives, and the words for it."""
    rules = PATTERNS["reversal"]
    if decision.owner == "user":
        rules = (*PATTERNS["refusal"], *rules)
    found: list[tuple[str, str]] = []
    for rule in rules:
        match = rule.search(decision.text)
        if match is not None:
            words = decision.text[slice(*match.span(1))]
            if topics(words) != (frozenset(), frozenset()):
                found.append((rule.value, words))
    return found


def _adopts(decision: KeyDecision, target: Topics) -> bool:
    """Whether a decision takes up what a later statement takes back: after a verb that takes
    something up stand all of its names and content words. One name alone has to be the object
    of that verb, and one content word alone is too little. Chosen by hand on the sessions of
    half of the repositories; precision: docs/summary.md."""
    if not _commits(decision):
        return False
    text = _taken(decision.text)
    names, plain = target
    for verb in PATTERNS["adoption"][0].exact.finditer(text.lower()):
        after = text[verb.start() :]
        if len(names) == 1 and not plain:
            after = " ".join(after.split()[: OBJECT_WORDS + 1])
        found = topics(after)
        if (
            names <= found[0]
            and plain <= found[1]
            and len(names) + len(plain) >= 1 + (not names)
        ):
            return True
    return False


def _commits(decision: KeyDecision) -> bool:
    """Whether a statement commits its speaker, and does not describe what is there."""
    return decision.owner == "user" or bool(PATTERNS["commitment"][0].search(decision.text))


def _repeats(decision: KeyDecision, target: Topics, rest: Topics) -> bool:
    """Whether the later statement takes up what the earlier one did: then it says it again."""
    names, plain = topics(decision.text)
    if rest[0] & names - target[0]:
        return True
    return bool(rest[1]) and rest[1] <= plain


def _recalled(view: SessionView, decisions: list[KeyDecision]) -> list[KeyDecision]:
    """The decisions, with the one that the person takes back by "revert that": the only one
    that the agent made since the prompt before."""
    out, since = list(decisions), -1
    for asked in view.active(Asked):
        if any(rule.search(asked.text) for rule in PATTERNS["recall"]):
            found = [
                number
                for number, d in enumerate(out)
                if since < d.message_index < asked.ref.message
                and (d.status, d.owner) == ("made", "agent")
            ]
            if len(found) == 1:
                out[found[0]] = msgspec.structs.replace(out[found[0]], status="reversed")
        since = asked.ref.message
    return out
