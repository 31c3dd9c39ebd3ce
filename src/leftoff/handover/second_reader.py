"""A second reader: a model that chooses among numbered lines of a session and never writes.

Pure: the question is made of a redacted summary, the answer comes in as text. Who asks, and
what is stored of the answers, is the business of `second_reading`.

The question holds the person's messages and every statement that may be a decision, an open
item or a report, each with a number. The answer names numbers only. What it names was said in
the session by construction, whatever the model makes of it; numbers that were not offered, text
in their place, and more numbers than can be key decisions make the answer invalid."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.errors import LeftoffError
from leftoff.handover.wording import brief
from leftoff.model import Ref
from leftoff.registry import Registry
from leftoff.summary import DECISION_TYPES, ContextSummary, KeyDecision, NextStep, ReaderReport
from leftoff.tables import table
from leftoff.text.markdown import sentences
from leftoff.tokens import max_tokens

# Least confidence of a statement that is offered. With 0.03, 0.05, 0.06 and 0.08, of the labels
# in English of sessions that were not trained on, 0.99, 0.98, 0.97 and 0.94 stand in a message
# that is offered (`double`; `more`: 0.98, 0.97, 0.96, 0.93), and a session has 4,634, 3,582,
# 3,409 and 3,090 tokens (median).
CANDIDATE = 0.06

# Default for the tokens of one question, an upper bound.
MAX_TOKENS = 4_000

# A smaller question has no room beside its instructions. Chosen by hand.
MIN_TOKENS = 900

# Code points of a line. Chosen by hand; longer ones are cut at a word.
MAX_PERSON, MAX_STATEMENT = 300, 320

# More than this share of the statements cannot all be key decisions: the answer is invalid.
# Chosen by hand: of labelled sessions the highest share is a third.
MAX_SHARE = 0.5

# Least grade of a line that counts as chosen: of statements from it on 0.85 and 0.88 were right
# and F1 was 0.61 and 0.65 on two sets; from 1 on 0.77 and 0.79 were right.
SURE = 2

# Of a decision that the reader chose, by its grade, and the share of its confidence without a
# reader that is added, so that choices are ranked: on average what was right of each grade in
# 31 labelled sessions (docs/second-reader.md).
CONFIDENCE, RANKED = {1: 0.47, 2: 0.79, 3: 0.9}, 0.1

_INSTRUCTIONS = table(__file__, "second_reader.toml")["instructions"]
# Models put JSON between fences although they are asked not to.
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


class Reader(Protocol):
    """Answers a question; may raise anything.

    It may also have a method `within(seconds)`, which gives the same reader with a time limit.
    """

    def __call__(self, question: str, /) -> str: ...


# Every known reader: the clients of agents, and those of other packages.
readers: Registry[Reader] = Registry(
    "reader",
    {
        "claude": "leftoff.integrations.reader_clients:claude",
        "codex": "leftoff.integrations.reader_clients:codex",
    },
)


class InvalidAnswer(LeftoffError):
    """An answer that does not keep to the question; says how."""


class Line(Struct, frozen=True):
    """One numbered line of a question: speaker P or S, and where it stands."""

    number: int
    speaker: str
    text: str
    ref: Ref


class Question(Struct, frozen=True):
    """One question: its text, the lines that it offers, and an upper bound of its tokens."""

    text: str
    lines: tuple[Line, ...]
    tokens: int


class ChosenDecision(Struct, frozen=True):
    """A decision that an answer names; `sure` is 1 to 3."""

    n: int
    type: str = "other"
    sure: int = 3
    replaces: int | None = None


class Choice(Struct, frozen=True):
    """A valid answer: numbers of lines. Attributes as in the question."""

    decisions: tuple[ChosenDecision, ...] = ()
    open: tuple[int, ...] = ()
    constraints: tuple[int, ...] = ()
    goal: int | None = None
    state: int | None = None


# -- the question ----------------------------------------------------------------------------


def questions(
    summary: ContextSummary, candidates: Sequence[KeyDecision], most: int = MAX_TOKENS
) -> list[Question]:
    """The questions about a session: one, or several that begin with a message of the person.

    Args:
        summary: redacted.
        candidates: the agent's decisions down to `CANDIDATE`, redacted.
        most: tokens of one question, an upper bound; at least `MIN_TOKENS`."""
    most = max(most, MIN_TOKENS)
    frame = max_tokens(_text(()))
    parts: list[list[Line]] = [[]]
    room = most - frame
    for block in _blocks(_lines(summary, candidates)):
        for line, cost in block:
            whole = sum(c for _, c in block)
            begins = line is block[0][0] and whole <= most - frame
            if parts[-1] and (cost > room or (begins and whole > room)):
                parts.append([])
                room = most - frame
            parts[-1].append(line)
            room -= cost
    texts = [(_text(lines), lines) for lines in parts if any(n.speaker == "S" for n in lines)]
    return [Question(text, tuple(lines), max_tokens(text)) for text, lines in texts]


def _lines(summary: ContextSummary, candidates: Sequence[KeyDecision]) -> list[Line]:
    """Everything that is offered, in order, each place once."""
    typed = {r.ref.message for r in summary.user_requests}
    offered = [("P", r.text, r.ref) for r in summary.user_requests]
    offered += [("S", d.text, d.ref) for d in candidates if d.owner != "user"]
    offered += [("S", s.text, s.ref) for s in summary.next_steps if s.ref.message not in typed]
    texts = {"", *(text for _, text, _ in offered)}
    last = summary.working_set.last_words
    for start, end in sentences(last.text) if last.text else ():
        text = last.text[start:end].strip()
        if text not in texts:
            offered.append(("S", text, Ref(message=last.message, start=start, end=end)))
    found = {line[2].place: line for line in reversed(offered)}
    limits = {"P": MAX_PERSON, "S": MAX_STATEMENT}
    return [
        Line(number, speaker, brief(text, limits[speaker]), ref)
        for number, (_, (speaker, text, ref)) in enumerate(sorted(found.items()), 1)
    ]


def _blocks(lines: Iterable[Line]) -> Iterator[list[tuple[Line, int]]]:
    """The lines in blocks that begin with a message of the person, each with its tokens."""
    block: list[tuple[Line, int]] = []
    for line in lines:
        if line.speaker == "P" and block:
            yield block
            block = []
        block.append((line, max_tokens("\n" + _shown(line))))
    if block:
        yield block


def _shown(line: Line) -> str:
    return f"{line.number} {line.speaker} {line.text}\n"


def _text(lines: Sequence[Line]) -> str:
    shown = "".join(
        ("\n" if at and line.ref.message != lines[at - 1].ref.message else "") + _shown(line)
        for at, line in enumerate(lines)
    )
    return f"{_INSTRUCTIONS}\n<recording>\n{shown}</recording>\n"


# -- the answer ------------------------------------------------------------------------------


def parse_answer(answer: str, question: Question) -> Choice:
    """The choice that an answer makes; `InvalidAnswer` where it is no such JSON object, names
    lines that were not offered or are of the wrong kind, or too many."""
    fenced = _FENCE.match(answer)
    try:
        choice = msgspec.json.decode((fenced[1] if fenced else answer).strip(), type=Choice)
    except ValueError as error:
        raise InvalidAnswer(f"not the JSON that was asked for ({error})") from error
    speakers = {line.number: line.speaker for line in question.lines}
    decided = [d.n for d in choice.decisions]
    replaced = [d.replaces for d in choice.decisions]
    others = [*choice.open, choice.goal, choice.state]
    named: dict[str, Sequence[int | None]]
    named = {"S": [*decided, *replaced], "P": [*choice.constraints], "": others}
    for speaker, numbers in named.items():
        for number in numbers:
            if number is not None and number not in speakers:
                raise InvalidAnswer(f"line {number} was not offered")
            if number is not None and speaker not in {"", speakers[number]}:
                raise InvalidAnswer(f"line {number} is not a line of {speaker}")
    if len(decided) != len(set(decided)):
        raise InvalidAnswer("a line is named twice")
    statements = sum(speaker == "S" for speaker in speakers.values())
    if len(decided) > max(3, MAX_SHARE * statements):
        raise InvalidAnswer(
            f"{len(decided)} of {statements} statements cannot be key decisions"
        )
    if any(d.sure not in CONFIDENCE for d in choice.decisions):
        raise InvalidAnswer('"sure" is 1, 2 or 3')
    wrong = {d.type for d in choice.decisions} - set(DECISION_TYPES)
    if wrong:
        raise InvalidAnswer(f"no such type: {', '.join(sorted(wrong))}")
    return choice


def with_choices(
    summary: ContextSummary,
    candidates: Sequence[KeyDecision],
    answered: Sequence[tuple[Question, Choice]],
    name: str,
) -> ContextSummary:
    """The summary with what the reader of that name chose: its decisions are marked, those that
    it did not choose stay as they were; open items that it named are shown first."""
    lines = {line.number: line for question, _ in answered for line in question.lines}
    chosen = [d for _, choice in answered for d in choice.decisions if d.sure >= SURE]
    wanted = {lines[d.n].ref.place: d for d in chosen}
    known = {d.ref.place for d in summary.key_decisions}
    decisions = list(summary.key_decisions)
    decisions += [
        replace(c, status="made", replaced_by=None)  # an index into the candidates
        for c in candidates
        if c.ref.place in wanted and c.ref.place not in known
    ]
    decisions.sort(key=lambda d: d.ref.place)
    position = {d.ref.place: at for at, d in enumerate(decisions)}
    before = [d.ref for d in summary.key_decisions]
    for at, decision in enumerate(decisions):
        if decision.replaced_by is not None:  # an index in the shorter list
            moved = position[before[decision.replaced_by].place]
            decisions[at] = decision = replace(decision, replaced_by=moved)
        one = wanted.get(decision.ref.place)
        if one is not None and decision.owner != "user":
            decisions[at] = replace(
                decision,
                type=one.type,
                confidence=round(CONFIDENCE[one.sure] + RANKED * decision.confidence, 3),
                judged_by=name,
            )
    for one in chosen:
        old = position.get(lines[one.replaces].ref.place) if one.replaces else None
        new = position.get(lines[one.n].ref.place)
        if old is not None and new is not None and old < new:
            decisions[old] = replace(decisions[old], status="superseded", replaced_by=new)
    named = [lines[n] for _, choice in answered for n in choice.open]
    return msgspec.structs.replace(
        summary,
        key_decisions=tuple(decisions),
        next_steps=_open_last(summary.next_steps, named),
        second_reader=ReaderReport(
            name,
            goal=_first(lines, [choice.goal for _, choice in answered]),
            state=_first(lines, [choice.state for _, choice in answered][::-1]),
            constraints=tuple(
                lines[n].ref for _, choice in answered for n in choice.constraints
            ),
        ),
    )


def _first(lines: dict[int, Line], numbers: Iterable[int | None]) -> Ref | None:
    return next((lines[n].ref for n in numbers if n is not None), None)


def _open_last(steps: Sequence[NextStep], named: Sequence[Line]) -> tuple[NextStep, ...]:
    """The items that were named behind the others, since forms show the last first; a line that
    is no step becomes one."""
    by_place = {step.ref.place: step for step in steps}
    found = [
        by_place.get(line.ref.place) or NextStep(line.text, "said", line.ref) for line in named
    ]
    return (*(step for step in steps if step not in found), *found)
