"""Selects the key decisions among the candidate sentences: confidence, type, status."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from sys import intern

import msgspec
from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.analysis.activities import EDITING, activities
from leftoff.analysis.decisions.person import captured, person_decisions
from leftoff.analysis.decisions.reversals import with_status
from leftoff.extraction.decision_model import (
    MODEL,
    PATTERNS,
    SCALE,
    Model,
    Steps,
    any_log_odds,
    calibrated,
    is_english,
    place_features,
    sentence_subjects,
    subject_features,
    word_features,
    words,
)
from leftoff.extraction.evidence import Asked, Called, Returned, Said, Shown
from leftoff.formats.vocabulary import EDITS
from leftoff.model import slice_hash
from leftoff.session_view import SessionView, once
from leftoff.summary import KeyDecision
from leftoff.tables import table

_RE = re.patterns(table(__file__, "patterns.toml")["select"])

# Decisions below this confidence are left out of a summary.
REPORT_THRESHOLD = MODEL.least / SCALE

# Log odds that "I decided" adds to a sentence. Set by hand, not learnt: the labelled sessions
# contain no such words.
STATED_LOG_ODDS = 1.5

_DECIDED = frozenset({"decided", "chose", "chosen", "opted"})

# Messages of the agent with candidates; a session of no more is short. Where a message stands
# in it, and how much it says, tell little: hardly any labelled session is so short, and what is
# learnt of long ones does not hold for it. Chosen by hand; not measured.
SHORT_SESSION = 6

# Log odds that a plainly worded choice (`PATTERNS["plain"]`) adds in a short session, where few
# other sentences could be the decision. Set by hand, not learnt, for the same reason.
PLAIN_LOG_ODDS = 1.2

# Messages of which the candidates are described once: about a megabyte. Chosen by hand.
MAX_DESCRIBED = 256

# Similarity (`rapidfuzz.fuzz.ratio`, 0 to 100) from which a later statement duplicates an
# earlier one. Chosen by hand; not measured.
DUPLICATE_RATIO = 92.0


class Candidate(Struct, frozen=True):
    """A sentence that passed the first filter, with the features of the model.

    Attributes:
        words: its words (`decision_model.words`).
        context: features of the session around its message, shared by its sentences.
        prompt: what the person typed last before it.
        short: it stands in a short session."""

    said: Said
    words: list[str]
    context: list[str]
    prompt: str = ""
    short: bool = False

    @property
    def own(self) -> list[str]:
        """Features of its place."""
        return place_features(self.said.text, self.said.ref.start or 0, self.said.value)

    @property
    def others(self) -> list[str]:
        """The features that are not of its words alone."""
        return self.own + sentence_subjects(self.words) + self.context

    @property
    def features(self) -> list[str]:
        """Every feature by name."""
        return word_features(self.words) + self.others


def key_decisions(view: SessionView, least: float | None = None) -> tuple[KeyDecision, ...]:
    """The key decisions of a session in the order in which they were made.

    The confidence of a decision is that of its statement. Duplicates of an earlier statement
    are left out. The person's own decisions have `owner` "user".

    Args:
        least: the lowest confidence that is reported; the model's own threshold if None. A
            lower one gives rejected candidates, too."""
    groups, scores = scored(view)
    found: list[KeyDecision] = []
    for group, chosen in select_decisions(groups, MODEL, least, scores):
        message = words_of_message(group)
        found += [_decision(view, candidate, chance, message) for candidate, chance in chosen]
    found += person_decisions(view, least)
    found.sort(key=lambda d: d.ref.place)
    return tuple(with_status(view, _deduplicated(found)))


def chances(view: SessionView) -> Iterator[tuple[Said, float]]:
    """Every candidate sentence of the agent, the last first, with the probability that it
    states a decision; 0 where the model cannot read it."""
    groups, found = scored(view)
    for place in reversed(range(len(groups))):
        logits = found.logits[place]
        for at, said in reversed([*enumerate(groups.sentences(place))]):
            yield said, found.chance(logits[at]) if at < len(logits) else 0.0


@once
def scored(view: SessionView) -> tuple[CandidateGroups, Scores]:
    """The candidates of a session by message, and their scores."""
    groups = CandidateGroups(view, view.sentences("decision"))
    return groups, score_groups(groups, MODEL)


def forget_scores(view: SessionView) -> None:
    """Drops the scores of all sentences, and after a very large session what the model says of
    its words; who asks again computes them again."""
    view.results.pop(scored.__wrapped__, None)  # type: ignore[attr-defined]
    if view.state.evidence.large:
        MODEL.rows.clear()


def select_decisions(
    groups: Sequence[list[Candidate]] | CandidateGroups,
    model: Model,
    least: float | None = None,
    scores: Scores | None = None,
) -> Iterator[tuple[list[Candidate], list[tuple[Candidate, float]]]]:
    """The messages that hold a decision: their candidates, and those selected with confidence.

    A statement is selected if it is likely enough, and if so is its message as a whole.

    Args:
        groups: the candidates of each message of a session.
        least: the lowest confidence that is selected, whatever the message; the model's own
            thresholds if None.
        scores: of the groups, if they are known."""
    needed = model.least / SCALE if least is None else least
    found = score_groups(groups, model) if scores is None else scores
    for place, logits in enumerate(found.logits):
        # A higher score means a higher probability.
        if not logits or found.chance(max(logits)) < needed:
            continue
        if least is not None or found.message_chance(place) >= model.message_least / SCALE:
            group = groups[place]
            chances = zip(group, map(found.chance, logits), strict=True)
            yield group, [pair for pair in chances if pair[1] >= needed]


class Scores(Struct, frozen=True):
    """The scores that a model gives to the candidates of a session.

    Attributes:
        logits: log odds of each sentence, by message.
        odds: log odds that any sentence of a message is a decision, by the index of its group;
            messages without candidates are left out.
        rank: for each of these log odds, the number of messages with higher ones.
        statement_rank: for the log odds of each sentence, the number of higher ones."""

    model: Model
    logits: list[array[float]]
    odds: dict[int, float]
    rank: Ranks
    statement_rank: Ranks

    def chance(self, logit: float) -> float:
        """Probability that the sentence with these log odds states a decision."""
        return round(calibrated(logit, self.statement_rank[logit], self.model.calibration), 3)

    def message_chance(self, place: int) -> float:
        """Probability that a message, which has candidates, holds a decision."""
        odds = self.odds[place]
        return calibrated(odds, self.rank[odds], self.model.message)


def score_groups(groups: Iterable[list[Candidate]], model: Model) -> Scores:
    """The scores of the candidates of each message of a session."""
    logits: list[array[float]] = []
    for group in groups:
        context = model.weight(group[0].context) if group else 0
        found = array("d", (model.sentence_score(c.words, c.own, context) for c in group))
        for at, c in enumerate(group):
            if c.short or not _DECIDED.isdisjoint(c.words):
                found[at] += sum(stated(c).values())
        logits.append(found)
    odds = {place: any_log_odds(found) for place, found in enumerate(logits) if found}
    return Scores(model, logits, odds, Ranks(odds.values()), Ranks(chain.from_iterable(logits)))


class Ranks:
    """For each of these values the number of higher ones."""

    def __init__(self, values: Iterable[float]) -> None:
        self._sorted = array("d", sorted(values))

    def __getitem__(self, value: float) -> int:
        return len(self._sorted) - bisect_right(self._sorted, value)


def stated(candidate: Candidate) -> dict[str, float]:
    """Log odds for "I decided" and the like, by rule; mostly empty."""
    said, found = candidate.said.text, dict[str, float]()
    if not _DECIDED.isdisjoint(candidate.words):
        found = {r.id: STATED_LOG_ODDS for r in PATTERNS["stated"] if r.search(said)}
    if candidate.short and not found:
        plain = (rule.id for rule in PATTERNS["plain"] if rule.search(said))
        found = dict.fromkeys(islice(plain, 1), PLAIN_LOG_ODDS)
    return found


def words_of_message(group: Sequence[Candidate]) -> list[str]:
    """The features of a whole message, and of the prompt before it, for the type of what is
    decided in it."""
    found = [word for c in group for word in c.words]
    asked = _prompt_words(group[0].prompt) if group else ()
    subjects = subject_features(found, "y", (1, 2, 4, 8))
    return [*(f"mw:{word}" for word in dict.fromkeys(found)), *subjects, *asked]


@lru_cache(maxsize=256)
def _prompt_words(typed: str) -> tuple[str, ...]:
    """The words of a prompt and their subjects, as features of the decision type."""
    found = words(typed[:_PROMPT_READ])
    subjects = subject_features(found, "py", (1, 2, 4, 8))
    return (*sorted({f"pw:{word}" for word in found}), *subjects)


def kind_features(words: Iterable[str], others: list[str], message: Sequence[str]) -> list[str]:
    """Features for the type of a decision: its words, its place, and the message's words."""
    return ["w:" + w for w in dict.fromkeys(words)] + others + [*message]


def _decision(
    view: SessionView, candidate: Candidate, confidence: float, message: Sequence[str]
) -> KeyDecision:
    said, others = candidate.said, candidate.others
    features = word_features(candidate.words) + others
    return KeyDecision(
        text=said.text,
        type=MODEL.kind(kind_features(candidate.words, others, message)),
        confidence=confidence,
        message_index=said.ref.message,
        ref=view.ref(msgspec.structs.replace(said.ref, hash=slice_hash(said.text))),
        rationale=captured("rationale", said.text),
        alternative=captured("alternative", said.text),
        rule=" ".join([*stated(candidate), *MODEL.top_features(features)]),
    )


# -- what the model looks at -------------------------------------------------------------------


class CandidateGroups:
    """The candidates of each message, in order; empty for one that is not in English.

    Those of the first messages are computed once, the others on each access: of the thousands
    of groups of a long session few are needed twice, and all of them together would take too
    much memory."""

    def __init__(self, view: SessionView, said: Sequence[Said]) -> None:
        messages = array("q", (one.ref.message for one in said))
        self._order = array("q", sorted(range(len(messages)), key=messages.__getitem__))
        spoken_in = array("q", sorted(set(messages)))
        ordered = array("q", map(messages.__getitem__, self._order))
        self._starts = array("q", (bisect_left(ordered, message) for message in spoken_in))
        self._starts.append(len(messages))
        self._said = said
        self._context = _Context(view, spoken_in)
        self._first: dict[int, list[Candidate]] = {}

    def __len__(self) -> int:
        return len(self._starts) - 1

    def sentences(self, place: int) -> list[Said]:
        """The sentences of a message, in whatever language."""
        places = self._order[self._starts[place] : self._starts[place + 1]]
        return [self._said[at] for at in places]

    def __iter__(self) -> Iterator[list[Candidate]]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, place: int) -> list[Candidate]:
        found = self._first.get(place)
        if found is None:
            found = self._described(self.sentences(place))
            if len(self._first) < MAX_DESCRIBED:
                self._first[place] = found
        return found

    def _described(self, group: list[Said]) -> list[Candidate]:
        plain = [words(one.text) for one in group]
        together = [word for found in plain for word in found]
        if not is_english(together, " ".join(one.text for one in group)):
            return []
        context, short = self._context.features(group[0].ref.message), self._context.short
        prompt = self._context.prompt(group[0].ref.message)
        if not short:
            told = sum(len(one.text) for one in group)
            context = [*context, _PROSE(told), _SENTENCES(len(group))]
        return [
            Candidate(one, of_it, context, prompt, short)
            for one, of_it in zip(group, plain, strict=True)
        ]


# All edges were chosen by hand, about doubling. The weights were fitted to them, so that others
# need another fit (`benchmarks/accuracy/decisions`).
_PROSE = Steps("ss:prose", 80, 200, 500, 1200, 3000)
_SENTENCES = Steps("ss:sentences", 1, 2, 3, 5, 10, 20, 40)
_EDITS, _CALLS = Steps("s:edits", 0, 1, 3), Steps("s:calls", 0, 1, 2, 5, 15)
_SINCE = Steps("s:since", 0, 1, 3, 8, 20)
_PLACE = Steps("ss:place", 0.02, 0.1, 0.3, 0.6, 0.9, 0.98)
_MESSAGES = Steps("ss:messages", 3, 8, 20, 60, 200)
_BEFORE = Steps("ss:before", 0, 1, 2, 5, 10, 20)
_PROMPTS = Steps("ss:prompts", 1, 2, 4, 8, 20)
_LENGTH = Steps("len", 15, 50, 150, 500, 2000)


class _Context:
    """What the person wrote before a message and what the agent did after it, as features.

    Args:
        spoken_in: indices of the messages with candidates, sorted."""

    def __init__(self, view: SessionView, spoken_in: Sequence[int]) -> None:
        self.spoken_in = spoken_in
        self.short = len(spoken_in) <= SHORT_SESSION
        self.asked: list[int] = []
        self.typed: list[str] = []
        for asked in view.active(Asked):
            if self.asked and self.asked[-1] == asked.ref.message:
                self.typed[-1] += " " + asked.text
            else:
                self.asked.append(asked.ref.message)
                self.typed.append(asked.text)
        done = sorted({(m, a) for (m, _), found in activities(view).items() for a in found})
        self.done = array("q", (message for message, _ in done))
        self.activities = [activity for _, activity in done]
        self.edited = [message for message, activity in done if activity in EDITING]
        self.tested = [message for message, activity in done if activity == "test"]
        self.failures = sorted(
            {s.ref.message for s in view.active(Shown) if not s.good}
            | {r.message for r in view.each(Returned) if r.status in {"error", "timeout"}}
        )
        called = sorted((c.message, c.part, intern(c.kind)) for c in view.each(Called))
        self.called = array("q", (message for message, _, _ in called))
        self.kinds = [kind for _, _, kind in called]
        self._messages, self._prompts = _MESSAGES(len(spoken_in)), _PROMPTS(len(self.asked))

    def prompt(self, message: int) -> str:
        """What the person typed last before a message; "" if nothing."""
        before = bisect_left(self.asked, message)
        return self.typed[before - 1] if before else ""

    def features(self, message: int) -> list[str]:
        """Features of a message's surroundings, the same for all of its sentences."""
        far = 1 << 60
        prompt = bisect_left(self.asked, message) - 1
        upcoming = bisect_right(self.asked, message)
        next_prompt = self.asked[upcoming] if upcoming < len(self.asked) else far
        spoken = bisect_right(self.spoken_in, message)
        next_words = self.spoken_in[spoken] if spoken < len(self.spoken_in) else far
        until = min(next_prompt, next_words)
        first = bisect_left(self.called, message)
        after = self.kinds[first : bisect_left(self.called, until)]
        edits = sum(kind in EDITS for kind in after)
        next_call = self.called[first] if first < len(self.called) else far
        goes_on = min(next_words, next_call) < next_prompt
        then = "agent" if goes_on else "user" if next_prompt != far else "end"
        asked_at = self.asked[prompt] if prompt >= 0 else -1
        since = first - bisect_left(self.called, asked_at)
        here = bisect_left(self.spoken_in, message)
        before = here - bisect_right(self.spoken_in, asked_at)
        opening = before == 0
        found = [
            _EDITS(edits),
            f"s:call-{after[0] if after else 'none'}",
            _CALLS(len(after)),
            f"s:then-{then}",
            _SINCE(since),
            f"s:opening{int(opening)}-then-{then}-edits{int(edits > 0)}",
        ]
        # Activities and failures since the prompt, and the next activities.
        edited_since = bisect_left(self.edited, message) - bisect_left(self.edited, asked_at)
        tested = bisect_left(self.tested, message) > bisect_left(self.tested, asked_at)
        failed = bisect_left(self.failures, message)
        last = self.failures[failed - 1] if failed else -1
        now, then_on = bisect_left(self.done, message), bisect_left(self.done, until)
        found += [
            f"d:edits{min(3, edited_since)}",
            f"d:tests{int(tested)}",
            f"d:failed{int(last >= max(0, asked_at))}",
            f"d:just-failed{int(last >= max(0, message - 2))}",
            *{f"d:next-{activity}": 0 for activity in self.activities[now:then_on]},
        ]
        if not self.short:
            place = here / max(1, len(self.spoken_in) - 1)
            found += [_PLACE(place), self._messages, _BEFORE(before), self._prompts]
        if prompt >= 0:
            near = "now" if opening else "soon" if since <= 3 else "far"
            found += _prompt_features(f"u:{near}-", self.typed[prompt])
            if opening:
                found += [f"u:{w}" for w in words(self.typed[prompt][:80])[:2]]
        if next_prompt != far and then == "user":
            found += _prompt_features("a:", self.typed[upcoming])
        return found


# Code points of a prompt whose words tell the type of what is decided after it. Chosen by hand;
# not measured.
_PROMPT_READ = 600


@lru_cache(maxsize=4096)
def _prompt_features(prefix: str, typed: str) -> tuple[str, ...]:
    """Features of a prompt: whether it asks, picks or reports a fault, and its length."""
    head = typed[:2000]
    return (
        f"{prefix}asks{int(_RE['asks'].match(head) is not None)}",
        f"{prefix}picks{int(_RE['picks'].match(head) is not None)}",
        f"{prefix}doubts{int(_RE['fault_words'].search(head) is not None)}",
        f"{prefix}query{int('?' in head)}",
        f"{prefix}ends-query{int(typed.rstrip()[-1:] == '?')}",
        prefix + _LENGTH(len(typed)),
    )


# -- repeats -----------------------------------------------------------------------------------


def _deduplicated(found: Sequence[KeyDecision]) -> list[KeyDecision]:
    """The decisions without duplicates of earlier ones."""
    unique, texts = list[KeyDecision](), list[str]()
    for decision in found:
        if decision.owner == "agent":
            plain = " ".join(words(decision.text))
            if any(texts):
                from rapidfuzz import fuzz, process

                if process.extractOne(
                    plain, texts, scorer=fuzz.ratio, score_cutoff=DUPLICATE_RATIO
                ):
                    continue
            texts.append(plain)
        unique.append(decision)
    return unique
