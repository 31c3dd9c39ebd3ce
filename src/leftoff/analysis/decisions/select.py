"""Which sentences are key decisions, of what type, how surely, and what became of them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import overload

import msgspec
from msgspec import Struct

from leftoff.analysis.activities import EDITING, activities
from leftoff.extraction.decision_model import (
    MODEL,
    PATTERNS,
    Model,
    Scorer,
    about,
    bucket,
    is_english,
    joined,
    message_features,
    place_features,
    probability,
    shipped_scorer,
    word_features,
    words,
)
from leftoff.extraction.evidence import Asked, Called, Returned, Said, Shown
from leftoff.extraction.rules import Rule
from leftoff.formats.vocabulary import EDITS
from leftoff.model import slice_hash
from leftoff.session_view import Story
from leftoff.summary import KeyDecision
from leftoff.text.markdown import sentence_at

REPORTED = MODEL.least / 1000
"""Decisions below this confidence are left out of a summary."""

ANSWERED, CHOSEN = 0.9, 0.6
"""Confidence of the person's own decisions: an answer to a question tool, and words that pick
an option. These two are set, not learnt: the labels hold no decision of the person."""

STATED = 1.5
"""Log odds that "I decided" adds to a sentence. Set, not learnt: the labelled sessions hold no
such words."""

_DECIDED = frozenset({"decided", "chose", "chosen", "opted"})

SAME = 92.0
"""Likeness, of 100, from which a later statement repeats an earlier one."""

TYPED_LONGEST = 600
"""Code points; a longer prompt is a brief, and its sentences are requests."""


class Candidate(Struct, frozen=True):
    """A sentence that passed the gate, with all that the model looks at.

    Attributes:
        spoken: its words.
        others: features of its place and of the session around it.
    """

    said: Said
    spoken: list[str]
    others: list[str]

    @property
    def features(self) -> list[str]:
        """Every feature by name."""
        return word_features(self.spoken) + self.others


def key_decisions(story: Story, least: float | None = None) -> tuple[KeyDecision, ...]:
    """The key decisions of a session in the order in which they were made.

    The surest sentence of a message carries the probability that the message holds a decision;
    further sentences carry their own. A statement that says again what an earlier one said is
    left out. The person's own decisions have `owner` "user".

    Args:
        least: the lowest confidence that is reported; the model's own threshold if None. Lower
            it to see the candidates that were left out, with score and reasons.
    """
    found = _agents(story, MODEL, least) + _persons(story, least)
    found.sort(key=lambda d: (d.message_index, d.ref.part or 0, d.ref.start or 0))
    return tuple(_with_fate(_merged(found)))


def _agents(story: Story, model: Model, least: float | None) -> list[KeyDecision]:
    found = weighed(Groups(story, story.said("decision")), model, least)
    return [
        _decision(story, model, candidate, confidence, message)
        for group, chosen in found
        for message in (spoken(group),)
        for candidate, confidence in chosen
    ]


def weighed(
    groups: Sequence[list[Candidate]], model: Model, least: float | None = None
) -> Iterator[tuple[list[Candidate], list[tuple[Candidate, float]]]]:
    """The messages that hold a decision, each with what is one and its confidence.

    Args:
        groups: the candidates of each message of a session.
        least: the lowest confidence that is kept; the model's own thresholds if None.
    """
    first = model.least / 1000 if least is None else least
    further = model.least_alone / 1000 if least is None else least
    found = scored(groups, model)
    for place, together in found.odds.items():
        whole = model.whole(together, found.rank[together])
        if whole < first:
            continue
        group, logits = groups[place], found.logits[place]
        top = max(range(len(group)), key=lambda k: (logits[k], -k))
        chosen: list[tuple[Candidate, float]] = []
        for number, candidate in enumerate(group):
            alone = min(whole, probability(logits[number], model.alone))
            if number == top:
                chosen.append((candidate, whole))
            elif alone >= further:
                chosen.append((candidate, alone))
        yield group, chosen


class Scores(Struct, frozen=True):
    """What the model says of the candidates of a session.

    Attributes:
        logits: log odds of each sentence, by message.
        odds: log odds that any sentence of a message is a decision, by the message's place;
            messages without candidates are left out.
        rank: of such log odds, how many messages have higher ones.
    """

    logits: list[list[float]]
    odds: dict[int, float]
    rank: dict[float, int]


def scored(groups: Iterable[list[Candidate]], model: Model) -> Scores:
    """The scores of the candidates of each message of a session."""
    scorer = shipped_scorer() if model is MODEL else Scorer(model)
    logits = [
        [scorer.score(c.spoken, c.others) + sum(stated(c).values()) for c in group]
        for group in groups
    ]
    odds = {place: joined(found) for place, found in enumerate(logits) if found}
    rank: dict[float, int] = {}
    for number, together in enumerate(sorted(odds.values(), reverse=True)):
        rank.setdefault(together, number)
    return Scores(logits, odds, rank)


def stated(candidate: Candidate) -> dict[str, float]:
    """Log odds for the words by which an agent says that it decided, by rule; mostly empty."""
    if _DECIDED.isdisjoint(candidate.spoken):
        return {}
    said = candidate.said.text
    found = (rule for rule in PATTERNS["stated"] if rule.search(said))
    return {rule.id: STATED for rule in found}


def spoken(group: Sequence[Candidate]) -> list[str]:
    """The features of a whole message for the type of what is decided in it."""
    return message_features([word for c in group for word in c.spoken])


def kind_features(candidate: Candidate, message: Sequence[str]) -> list[str]:
    """What tells the type of a decision: its words, its place, and the message's words."""
    return sorted({f"w:{w}" for w in candidate.spoken}) + candidate.others + list(message)


def _decision(
    story: Story,
    model: Model,
    candidate: Candidate,
    confidence: float,
    message: Sequence[str],
) -> KeyDecision:
    said = candidate.said
    return KeyDecision(
        text=said.text,
        type=model.kind(kind_features(candidate, message)),
        confidence=round(confidence, 3),
        message_index=said.ref.message,
        ref=story.ref(msgspec.structs.replace(said.ref, hash=slice_hash(said.text))),
        rationale=_captured("rationale", said.text),
        alternative=_captured("alternative", said.text),
        rule=" ".join([*stated(candidate), *model.reasons(candidate.features)]),
    )


def _captured(name: str, text: str) -> str:
    """The words that the first matching pattern of a kind finds, as they were written."""
    for rule in PATTERNS[name]:
        match = rule.search(text)
        if match is not None:
            start, end = match.span(match.re.groups and 1)
            # Half of a key is no key to any rule: a word is taken whole.
            while end < len(text) and text[end] < "\x80" and not text[end].isspace():
                end += 1
            return text[start:end].rstrip(".;:!?").strip(" \t*_`—–-:,")
    return ""


# -- what the model looks at -------------------------------------------------------------------


def candidates(story: Story, topic: str = "decision") -> list[Candidate]:
    """The sentences that passed the gate on the branch that was kept, with their features.

    Args:
        topic: the topic under which they were recorded.
    """
    return described(story, story.said(topic))


def described(story: Story, said: Sequence[Said]) -> list[Candidate]:
    """Sentences with their features, each in the light of the session around it; none of a
    message in another language than English."""
    return [candidate for group in Groups(story, said) for candidate in group]


class Groups(Sequence[list[Candidate]]):
    """The candidates of each message, in order; empty for one that is not in English.

    Features are worked out each time a group is asked for: of a long session's thousands of
    groups few are needed twice, and together they would fill the memory.
    """

    def __init__(self, story: Story, said: Sequence[Said]) -> None:
        by_message: dict[int, list[int]] = {}
        for at, one in enumerate(said):
            by_message.setdefault(one.ref.message, []).append(at)
        self._said = said
        self._places = [by_message[message] for message in sorted(by_message)]
        self._around = _Around(story, sorted(by_message))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> list[Candidate]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[Candidate]]: ...
    def __getitem__(self, place: int | slice) -> list[Candidate] | list[list[Candidate]]:
        if isinstance(place, slice):
            return [self._described(group) for group in self._places[place]]
        return self._described(self._places[place])

    def _described(self, places: list[int]) -> list[Candidate]:
        group = [self._said[place] for place in places]
        plain = [words(one.text) for one in group]
        together = [word for found in plain for word in found]
        if not is_english(together, " ".join(one.text for one in group)):
            return []
        around = self._around.features(group[0].ref.message)
        found: list[Candidate] = []
        for one, of_it in zip(group, plain, strict=True):
            block, first, size = one.value.split(" ")
            place = place_features(
                one.text,
                one.text.count("`") // 2,
                block,
                first == "1",
                one.ref.start or 0,
                int(size),
            )
            found.append(Candidate(one, of_it, place + about(of_it) + around))
        return found


def by_message(found: Iterable[Candidate]) -> list[list[Candidate]]:
    """Candidates grouped by the message that they stand in."""
    groups: dict[int, list[Candidate]] = {}
    for candidate in found:
        groups.setdefault(candidate.said.ref.message, []).append(candidate)
    return [groups[message] for message in sorted(groups)]


class _Around:
    """What the person said before a message and what the agent did after it."""

    def __init__(self, story: Story, speaking: list[int]) -> None:
        self.speaking = speaking
        self.asked: list[int] = []
        self.typed: list[str] = []
        for asked in story.told(Asked):
            if self.asked and self.asked[-1] == asked.ref.message:
                self.typed[-1] += " " + asked.text
            else:
                self.asked.append(asked.ref.message)
                self.typed.append(asked.text)
        done = sorted({(m, a) for (m, _), found in activities(story).items() for a in found})
        self.done = [message for message, _ in done]
        self.deeds = [deed for _, deed in done]
        self.edited = [message for message, deed in done if deed in EDITING]
        self.tested = [message for message, deed in done if deed == "test"]
        self.failures = sorted(
            {s.ref.message for s in story.told(Shown) if not s.good}
            | {r.message for r in story.told(Returned) if r.status in {"error", "timeout"}}
        )
        called = sorted((c.message, c.part, c.kind) for c in story.told(Called))
        self.called = [message for message, _, _ in called]
        self.kinds = [kind for _, _, kind in called]
        self._latest: tuple[int, list[str]] = (-1, [])

    def features(self, message: int) -> list[str]:
        """Features of a message's surroundings, the same for all of its sentences."""
        if self._latest[0] != message:
            self._latest = (message, self._features(message))
        return self._latest[1]

    def _features(self, message: int) -> list[str]:
        far = 1 << 60
        prompt = bisect_left(self.asked, message) - 1
        upcoming = bisect_right(self.asked, message)
        next_prompt = self.asked[upcoming] if upcoming < len(self.asked) else far
        spoken = bisect_right(self.speaking, message)
        next_words = self.speaking[spoken] if spoken < len(self.speaking) else far
        first = bisect_left(self.called, message)
        after = self.kinds[first : bisect_left(self.called, min(next_prompt, next_words))]
        edits = sum(kind in EDITS for kind in after)
        then = "user" if next_prompt != far else "end"
        if first < len(self.called) and self.called[first] < next_prompt:
            then = "agent"
        elif next_words < next_prompt:
            then = "agent"
        asked_at = self.asked[prompt] if prompt >= 0 else -1
        since = first - bisect_left(self.called, asked_at)
        opening = bisect_left(self.speaking, message) == bisect_right(self.speaking, asked_at)
        edited = int(edits > 0)
        found = [
            f"s:edits{bucket(edits, (0, 1, 3))}",
            f"s:call-{after[0] if after else 'none'}",
            f"s:calls{bucket(len(after), (0, 1, 2, 5, 15))}",
            f"s:then-{then}",
            f"s:since{bucket(since, (0, 1, 3, 8, 20))}",
            f"s:opening{int(opening)}-then-{then}-edits{edited}",
        ]
        found += self._deeds(message, asked_at, min(next_prompt, next_words))
        if prompt >= 0:
            near = "now" if opening else "soon" if since <= 3 else "far"
            found += [f"u:{near}-{name}" for name in _manner(self.typed[prompt])]
            if opening:
                found += [f"u:{w}" for w in words(self.typed[prompt][:80])[:2]]
        if next_prompt != far and then == "user":
            found += [f"a:{name}" for name in _manner(self.typed[upcoming])]
        return found

    def _deeds(self, message: int, since: int, until: int) -> list[str]:
        """What was done and what failed since the prompt, and what is done next."""
        edits = bisect_left(self.edited, message) - bisect_left(self.edited, since)
        tested = bisect_left(self.tested, message) > bisect_left(self.tested, since)
        failed = bisect_left(self.failures, message)
        last = self.failures[failed - 1] if failed else -1
        now, then = bisect_left(self.done, message), bisect_left(self.done, until)
        return [
            f"d:edits{min(3, edits)}",
            f"d:tests{int(tested)}",
            f"d:failed{int(last >= max(0, since))}",
            f"d:just-failed{int(last >= message - 2)}",
            *{f"d:next-{deed}": 0 for deed in self.deeds[now:then]},
        ]


_ASKS = re.compile(
    r"^\W*(?:what|why|how|when|where|which|who|is|are|do|does|did|should|would|explain"
    r"|tell me|review|summar|analy[sz]e|investigate|look"
    r"|(?:can|could) you (?:explain|tell|give|look|check|review))\b",
    re.IGNORECASE,
)
_PICKS = re.compile(
    r"^\W*(?:\d\b|[a-d]\b\)?|option|ye[sp]|yeah|ok(?:ay)?|sure|agreed?|let'?s|go|do|no\b"
    r"|i(?:'d)? (?:prefer|like|want|think)|we should)",
    re.IGNORECASE,
)
_DOUBTS = re.compile(
    r"\b(?:review|comment|feedback|thread|issue|bug|error|fail\w*|broken|wrong)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def _manner(typed: str) -> tuple[str, ...]:
    """How the person spoke: asking, picking, reporting a fault, and at what length."""
    head = typed[:2000]
    return (
        f"asks{int(_ASKS.match(head) is not None)}",
        f"picks{int(_PICKS.match(head) is not None)}",
        f"doubts{int(_DOUBTS.search(head) is not None)}",
        f"query{int('?' in head)}",
        f"ends-query{int(typed.rstrip()[-1:] == '?')}",
        f"len{bucket(len(typed), (15, 50, 150, 500, 2000))}",
    )


# -- the person's own decisions ----------------------------------------------------------------


def _persons(story: Story, least: float | None) -> list[KeyDecision]:
    """Answers to question tools, and short prompts that pick one way."""
    found: list[KeyDecision] = []
    for asked in story.told(Asked):
        if asked.via == "answer":
            found.append(_persons_own(story, asked, 0, len(asked.text), "answer", ANSWERED))
        elif (
            asked.via in {"prompt", "queued", "rejection"} and len(asked.text) <= TYPED_LONGEST
        ):
            for rule in PATTERNS["choice"]:
                match = rule.search(asked.text)
                if match is None:
                    continue
                start, end = sentence_at(asked.text, match.end() - 1)
                if start < end and not asked.text[start:end].endswith("?"):
                    found.append(_persons_own(story, asked, start, end, rule.id, CHOSEN))
                    break
    return [d for d in found if d.confidence >= (0.0 if least is None else least)]


def _persons_own(
    story: Story, asked: Asked, start: int, end: int, rule: str, confidence: float
) -> KeyDecision:
    text = asked.text[start:end]
    base = asked.ref.start or 0
    ref = msgspec.structs.replace(
        asked.ref, start=base + start, end=base + end, hash=slice_hash(text)
    )
    return KeyDecision(
        text=text,
        type="approach",
        confidence=confidence,
        message_index=asked.ref.message,
        ref=story.ref(ref),
        owner="user",
        rationale=_captured("rationale", text),
        alternative=_captured("alternative", text),
        rule=rule,
    )


# -- repeats and reversals ---------------------------------------------------------------------


def _merged(found: Sequence[KeyDecision]) -> list[KeyDecision]:
    """The decisions without those that only say again what an earlier one said."""
    from rapidfuzz import fuzz, process

    kept: list[KeyDecision] = []
    said: list[str] = []
    for decision in found:
        plain = " ".join(words(decision.text))
        if decision.owner == "agent" and process.extractOne(
            plain, said, scorer=fuzz.ratio, score_cutoff=SAME
        ):
            continue
        kept.append(decision)
        said.append(plain if decision.owner == "agent" else "")
    return kept


_NAMES = re.compile(r"`([^`\n]{2,})`|\b(\w+(?:_\w+)+|[a-z]+[A-Z]\w+|[A-Z]\w+[A-Z]\w*)\b")
_PLAIN = re.compile(r"[a-z]{4,}")
_EMPTY = frozenset(
    "that this with from then them they have will would should could into instead rather than"
    " when where which what just also only make making using used need needs keep keeping"
    " change changes code file files test tests actually back it's i'll let's".split()
)


def _topics(text: str) -> tuple[frozenset[str], frozenset[str]]:
    names = frozenset(a or b for a, b in _NAMES.findall(text))
    plain = frozenset(_PLAIN.findall(text.lower())) - _EMPTY
    return names, plain


def _with_fate(kept: Sequence[KeyDecision]) -> list[KeyDecision]:
    """The decisions, those that a later one takes back or replaces marked and linked."""
    out = list(kept)
    topics = [_topics(d.text) for d in kept]
    for later, decision in enumerate(kept):
        fate = _fate(decision.text)
        if not fate:
            continue
        for earlier in range(later - 1, -1, -1):
            if out[earlier].status == "made" and _about_the_same(
                topics[earlier], topics[later]
            ):
                out[earlier] = msgspec.structs.replace(
                    out[earlier], status=fate, replaced_by=later
                )
                break
    return out


def _fate(text: str) -> str:
    for rule in PATTERNS["reversal"]:
        if _says(rule, text):
            return rule.value
    return ""


def _says(rule: Rule, text: str) -> bool:
    return rule.search(text) is not None


def _about_the_same(
    a: tuple[frozenset[str], frozenset[str]], b: tuple[frozenset[str], frozenset[str]]
) -> bool:
    """Whether two statements share a name and a word besides, or most of their words."""
    plain = a[1] & b[1]
    if a[0] & b[0] and len(plain) >= 2:
        return True
    return len(plain) >= 3 and 2 * len(plain) >= min(len(a[1]), len(b[1]))
