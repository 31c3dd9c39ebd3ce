"""Which stage each agent turn belongs to: by what was asked for and by what the tools did.

A stretch of work runs from one prompt to the next. What was asked gives its direction (a fault
is looked into and mended as `testing` until it is cleared, a review stays `review` while
little is changed); the activities divide it: reading before the first edit, the edits, the
checks after the last one, and the delivery at its end.
Words typed while the agent works do not begin a new stretch. An explicit marker
("Stage: testing") holds to the end of its stretch.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from leftoff.analysis.activities import activities
from leftoff.analysis.intents import (
    DELIVERY,
    DESIGN,
    FAULT,
    GO,
    LONG,
    MAKING,
    ORDERED_REVIEW,
    QUESTION,
    REMEDY,
    REVIEW,
    SHORT,
    TESTS,
    carried,
    intents,
)
from leftoff.extraction.evidence import Asked, Said, Shown
from leftoff.model import Ref
from leftoff.session_view import Story
from leftoff.summary import STAGES, StageChange

LASTS = 3
"""A stage counts from so many agent turns on, or if it fills a stretch; a shorter run belongs
to the one before."""

READS = 5
"""Turns of reading before the first edit that make a stage of their own within a session."""

WINDOW = 10
"""Turns to either side that say whether checks or edits prevail."""

MENDS = 8
"""A stretch of at most so many turns that mends a fault is `testing` throughout."""

_EDITS = frozenset({"edit", "edit_doc", "edit_test"})
_WRITES = frozenset({"edit", "edit_doc"})
_TESTS = frozenset({"test", "run_scratch", "edit_scratch"})
_CHECKS = _TESTS | {"edit_test", "run", "install"}
_AFTER = frozenset({"test", "run_scratch", "edit_scratch", "lint", "build", "run", "install"})
_DELIVERS = frozenset({"commit", "push", "pull_request", "deploy"})
_BEFORE_DELIVERY = frozenset({"inspect_change", "sync"})
_SCRATCH = frozenset({"run_scratch", "edit_scratch"})


class Turn(Struct):
    """One agent turn: its first message, what its calls were for, its stage."""

    message: int
    done: frozenset[str] = frozenset()
    failed: bool = False
    stage: str = ""


class Stretch(Struct):
    """The turns from one prompt to the next, with what was asked for.

    `own` are the intents of the prompt itself, `mood` those in force.
    """

    turns: list[Turn]
    own: frozenset[str] = frozenset()
    mood: frozenset[str] = frozenset()

    def places(self, kinds: frozenset[str]) -> list[int]:
        """Places of the turns that did one of these."""
        return [k for k, turn in enumerate(self.turns) if turn.done & kinds]

    def count(self, kinds: frozenset[str], start: int = 0, end: int | None = None) -> int:
        """How many turns did one of these."""
        return sum(1 for turn in self.turns[start:end] if turn.done & kinds)

    def did(self, kinds: frozenset[str], start: int = 0, end: int | None = None) -> bool:
        """Whether any turn did one of these."""
        return any(turn.done & kinds for turn in self.turns[start:end])


def timeline(story: Story) -> tuple[StageChange, ...]:
    """The change points of the stage, the first at the first agent turn."""
    return tuple(
        StageChange(stage, story.ref(Ref(message=message)))
        for stage, message in _runs(labelled(story))
    )


def labelled(story: Story) -> list[Stretch]:
    """The stretches of a session, each turn with its stage."""
    stretches = _stretches(story)
    stage = "planning"
    for number, stretch in enumerate(stretches):
        labels = _labels(stretch, stage, first=number == 0)
        if number + 1 == len(stretches) and number:
            labels = _begun(stretch, labels)
        for turn, label in zip(stretch.turns, labels, strict=True):
            turn.stage = label
        stage = labels[-1] if labels[-1] != "other" else stage
    _declare(story, stretches)
    return stretches


def _stretches(story: Story) -> list[Stretch]:
    first: dict[int, int] = {}
    for message, turn in sorted(story.turns.items()):
        if message not in story.abandoned and message not in story.copies:
            first.setdefault(turn, message)
    turns = {turn: Turn(message) for turn, message in first.items()}
    done: dict[int, set[str]] = {}
    for (message, _), found in activities(story).items():
        turn = story.turns.get(message, -1)
        if turn in turns:
            done.setdefault(turn, set()).update(found)
    for turn, kinds in done.items():
        turns[turn].done = frozenset(kinds)
    for shown in story.told(Shown):
        turn = story.turns.get(shown.call_message, -1)
        if shown.kind == "tests_pass" and not shown.good and turn in turns:
            turns[turn].failed = True
    return _divided(story, sorted(turns.values(), key=lambda t: t.message))


def _divided(story: Story, turns: Sequence[Turn]) -> list[Stretch]:
    """The turns by the prompts that they answer."""
    prompts = [(a.ref.message, a.text.strip()) for a in story.told(Asked) if a.via in _BEGINS]
    found: list[Stretch] = []
    at = 0
    for turn in turns:
        words: list[str] = []
        while at < len(prompts) and prompts[at][0] < turn.message:
            words.append(prompts[at][1])
            at += 1
        if words or not found:
            text = "\n".join(words)
            own = intents(text)
            mood = carried(text, own, found[-1].mood) if found else own
            found.append(Stretch([], own, mood))
        found[-1].turns.append(turn)
    return found


_BEGINS = frozenset({"prompt", "command"})


def _labels(stretch: Stretch, stage: str, *, first: bool) -> list[str]:
    """The stage of each turn of a stretch that follows `stage`."""
    if not any(turn.done for turn in stretch.turns):
        return [_of_talk(stretch, stage, first=first)] * len(stretch.turns)
    edits = stretch.places(_EDITS)
    delivers = stretch.places(_DELIVERS)
    own, size = stretch.own, len(stretch.turns)
    review = ORDERED_REVIEW in stretch.mood and REMEDY not in own
    fault = FAULT in stretch.mood and not review
    if DELIVERY in own and delivers and not (edits and size > 12):
        return ["deployment"] * size
    if not (edits or review or fault or REVIEW in own):
        if stretch.count(frozenset({"delegate"})) >= 2:
            return ["implementation"] * size
    if REVIEW in own and not first and DELIVERY not in own:
        if stretch.did(frozenset({"read_pull_request"})):
            return _answering_review(stretch, edits, delivers)
    writes = stretch.count(_WRITES)
    if review and (writes <= 2 or (size > 30 and writes < 5)):
        return _reviewing(stretch, first=first)
    if not edits:
        label = _without_edits(stretch, stage, fault=fault, first=first)
        # A script that shows the fault is testing before anything is mended.
        return [
            "testing" if first and label == "planning" and turn.done & _SCRATCH else label
            for turn in stretch.turns
        ]
    return _with_edits(stretch, edits, delivers, fault=fault, first=first)


def _begun(stretch: Stretch, labels: list[str]) -> list[str]:
    """The labels of the last stretch. While it is a few turns long, what was asked for says
    more than what was done: making something, answering a review, delivering."""
    if len(labels) >= READS or stretch.did(_EDITS):
        return labels
    said, own = set(labels), stretch.own
    if SHORT in own and DELIVERY in own and not own & _UNSETTLED:
        return ["deployment"] * len(labels)
    makes = MAKING in stretch.mood and not stretch.mood & _UNSETTLED and said <= _YOUNG
    mends = own & {GO, REMEDY} and not own & _UNSETTLED - {REVIEW} and said == {"review"}
    if makes or mends:
        return ["implementation"] * len(labels)
    return labels


_UNSETTLED = frozenset({QUESTION, FAULT, REVIEW, ORDERED_REVIEW, DESIGN})
_YOUNG = frozenset({"planning", "other"})


def _of_talk(stretch: Stretch, stage: str, *, first: bool) -> str:
    """The stage of a stretch in which nothing was called."""
    own = stretch.own
    if first:
        return "planning"
    if FAULT in own:
        return "testing"
    if stage == "architecture" or (stage == "planning" and own & {DESIGN, GO}):
        return "architecture"
    if DESIGN in own and (QUESTION in own or MAKING not in own) and stage != "testing":
        return "architecture"
    if stage == "deployment" or (stage == "implementation" and QUESTION in own):
        return "other"
    return stage


def _answering_review(stretch: Stretch, edits: list[int], delivers: list[int]) -> list[str]:
    size = len(stretch.turns)
    labels = ["review"] * size
    if delivers and size - delivers[-1] <= 4 and size - delivers[0] >= LASTS:
        if not edits or delivers[0] > edits[-1]:
            labels[delivers[0] :] = ["deployment"] * (size - delivers[0])
    return labels


def _reviewing(stretch: Stretch, *, first: bool) -> list[str]:
    """A review; what comes before the change is looked at is planning."""
    size = len(stretch.turns)
    labels = ["review"] * size
    looks = stretch.places(_TESTS | {"inspect_change", "delegate"})
    begins = looks[0] if looks else size
    if first and begins >= 2:
        labels[:begins] = ["planning"] * begins
    return labels


def _without_edits(stretch: Stretch, stage: str, *, fault: bool, first: bool) -> str:
    own, size = stretch.own, len(stretch.turns)
    tests = stretch.count(_TESTS)
    if stretch.did(_DELIVERS) and not fault:
        return "deployment"
    if REVIEW in own and DESIGN not in own:
        # Reading what somebody found comes before the answer to it.
        return "planning" if first and ORDERED_REVIEW not in own else "review"
    if fault and not (first and LONG in own):
        return "testing"
    if TESTS in own and tests:
        return "testing"
    if stage == "testing" and not own & {DESIGN, MAKING}:
        return "testing"
    if stage == "architecture" and own & {DESIGN, QUESTION}:
        return "architecture"
    if stage == "implementation" and size <= 2:
        return stage
    runs = stretch.count(frozenset({"run", "install"}))
    return "testing" if size >= LASTS and tests + runs >= size / 2 else "planning"


def _with_edits(
    stretch: Stretch, edits: list[int], delivers: list[int], *, fault: bool, first: bool
) -> list[str]:
    own, turns, size = stretch.own, stretch.turns, len(stretch.turns)
    begin, last = edits[0], edits[-1]
    lead = "testing" if fault and not (first and LONG in own) else "planning"
    if SHORT in own and own & {GO, REMEDY} and begin < 9 and not fault:
        lead = "implementation"
    work = "testing" if fault and not first and size <= MENDS else "implementation"
    writes = stretch.count(_WRITES)
    if stretch.count(frozenset({"edit_test"})) > 2 * writes and writes <= LASTS:
        work = "testing"
    reads = LASTS if first or fault else READS
    labels = [lead if begin >= reads else work] * begin + [work] * (size - begin)
    sent = [k for k in delivers if k < begin]
    if sent and (DELIVERY in own or sent[-1] >= 2):
        # Delivered first: what follows the reading of comments answers them.
        after = sent[-1] + 1
        labels[:after] = ["deployment"] * after
        if stretch.did(frozenset({"read_pull_request"}), after - 1):
            work = "review"
            labels[after:] = ["review"] * (size - after)
    for k in range(begin):
        if turns[k].done & _SCRATCH or (first and turns[k].done & {"run", "install"}):
            labels[k] = "testing"
    if work != "review":
        _weigh(stretch, begin, labels)
    _after_failure(stretch, begin, labels)
    return _ending(stretch, last, labels, fault=fault)


def _weigh(stretch: Stretch, begin: int, labels: list[str]) -> None:
    """Where checks prevail over edits, it is testing."""
    size = len(labels)
    for k in range(begin, size):
        start, end = max(begin, k - WINDOW), min(size, k + WINDOW + 1)
        checks = stretch.count(_CHECKS, start, end)
        if checks >= LASTS and checks > stretch.count(_WRITES, start, end):
            labels[k] = "testing"


def _after_failure(stretch: Stretch, begin: int, labels: list[str]) -> None:
    """A test run that failed and few edits since: the failure is being looked into."""
    size = len(labels)
    failed = [k for k in range(begin, size) if stretch.turns[k].failed]
    if failed and size - failed[0] >= WINDOW:
        rest = size - failed[0]
        if stretch.count(_WRITES, failed[0]) <= rest / 3:
            labels[failed[0] :] = ["testing"] * rest


def _ending(stretch: Stretch, last: int, labels: list[str], *, fault: bool) -> list[str]:
    """Checks after the last edit, and the delivery at the end."""
    size, turns = len(labels), stretch.turns
    sends = [k for k in stretch.places(_DELIVERS) if k > last]
    begins = sends[0] if sends else size
    while begins < size and begins - 1 > last and turns[begins - 1].done & _BEFORE_DELIVERY:
        begins -= 1
    if begins - last - 1 >= LASTS and (fault or stretch.did(_AFTER, last + 1, begins)):
        labels[last + 1 : begins] = ["testing"] * (begins - last - 1)
    tried = [k for k in range(last + 1, begins) if turns[k].done & _SCRATCH]
    if tried:
        # A script that tries the change begins its testing, however short that is so far.
        labels[tried[0] : begins] = ["testing"] * (begins - tried[0])
    if size - begins >= LASTS:
        labels[begins:] = ["deployment"] * (size - begins)
    return labels


def _declare(story: Story, stretches: list[Stretch]) -> None:
    """An explicit marker holds for its turn and the rest of the stretch."""
    marks = [(s.ref.message, s.value.casefold()) for s in story.said("stage") if _opens(s)]
    for message, stage in marks:
        if stage not in STAGES:
            continue
        for number, stretch in enumerate(stretches):
            following = stretches[number + 1] if number + 1 < len(stretches) else None
            if following is not None and message >= following.turns[0].message:
                continue
            for k, turn in enumerate(stretch.turns):
                ends = stretch.turns[k + 1].message if k + 1 < len(stretch.turns) else 1 << 62
                if message < ends:
                    turn.stage = stage
            break


def _opens(said: Said) -> bool:
    return said.rule in {"stage-marker", "stage-move"}


def _runs(stretches: list[Stretch]) -> list[tuple[str, int]]:
    """Stage and first message of each run; short runs belong to the run before them."""
    turns = [turn for stretch in stretches for turn in stretch.turns]
    begins = {stretch.turns[0].message for stretch in stretches}
    runs: list[tuple[str, int, int]] = []  # stage, first, end
    for k, turn in enumerate(turns):
        if runs and runs[-1][0] == turn.stage:
            runs[-1] = (turn.stage, runs[-1][1], k + 1)
        else:
            runs.append((turn.stage, k, k + 1))
    found: list[tuple[str, int]] = []
    for stage, start, end in runs:
        filled = turns[start].message in begins and (
            end == len(turns) or turns[end].message in begins
        )
        short = end - start < LASTS and end < len(turns) and not filled
        if found and (short or found[-1][0] == stage):
            continue
        found.append((stage, turns[start].message))
    return found
