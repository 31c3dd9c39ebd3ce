"""The stage of each agent turn, by the intents of the prompt and the activities of the calls.

A segment runs from one prompt to the next. The intents give its direction (work on a fault is
`testing` until the fault is fixed, a review stays `review` while little is changed); the
activities divide it: reading before the first edit, the edits, the checks after the last one,
and the delivery at its end. A prompt typed while the agent works does not begin a segment. An
explicit marker ("Stage: testing") holds to the end of its segment.

Patterns and numbers were written while reading sessions of both label sets (docs/accuracy.md).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from leftoff.analysis.activities import activities
from leftoff.analysis.intents import inherited, intents
from leftoff.extraction.evidence import Asked, Failed, Planned, Ran, Said, Touched
from leftoff.model import Ref, slice_hash
from leftoff.session_view import SessionView
from leftoff.summary import STAGES, StageChange

# Minimum length of a run of one stage in agent turns, unless it fills a segment; a shorter run
# is merged into the one before.
MIN_RUN = 3

# Turns of reading before the first edit that are a stage of their own.
MIN_READING = 5

# Turns to either side over which checks and edits are compared.
CHECK_WINDOW = 10

# A segment of at most so many turns that fixes a fault is `testing` throughout.
MAX_FIX_TURNS = 8

_EDITS = frozenset({"edit", "edit_doc", "edit_test"})
# Tests are left out: a review that only adds a test is still a review.
_WRITES = frozenset({"edit", "edit_doc"})
_TESTS = frozenset({"test", "run_scratch", "edit_scratch"})
_CHECKS = _TESTS | {"edit_test", "run", "install"}
_AFTER = frozenset({"test", "run_scratch", "edit_scratch", "lint", "build", "run", "install"})
_DELIVERS = frozenset({"commit", "push", "pull_request", "deploy"})
# What an agent looks at and pulls before it commits belongs to the delivery.
_BEFORE_DELIVERY = frozenset({"inspect_change", "sync"})
_SCRATCH = frozenset({"run_scratch", "edit_scratch"})
_MARKERS = frozenset({"stage-marker", "stage-move"})


class Turn(Struct):
    """One agent turn: its first message, its activities, its stage."""

    message: int
    done: frozenset[str] = frozenset()
    stage: str = ""


class Segment(Struct):
    """The turns from one prompt to the next.

    `own` are the intents of the prompt itself, `intents` those in force."""

    turns: list[Turn]
    own: frozenset[str] = frozenset()
    intents: frozenset[str] = frozenset()

    def places(
        self, kinds: frozenset[str], start: int = 0, end: int | None = None
    ) -> list[int]:
        """Indices of the turns with one of these activities."""
        found = enumerate(self.turns[start:end], start)
        return [k for k, turn in found if not kinds.isdisjoint(turn.done)]


def timeline(view: SessionView) -> tuple[StageChange, ...]:
    """The change points of the stage, the first at the first agent turn."""
    runs = stage_runs(labelled_segments(view))
    places = _places(view, [message for _, message in runs])
    return tuple(
        StageChange(stage, view.ref(place))
        for (stage, _), place in zip(runs, places, strict=True)
    )


def _places(view: SessionView, starts: list[int]) -> list[Ref]:
    """A reference to where each stage begins: that of the first evidence from the stage's first
    message on, since a mere thought has none. Of a stage without evidence only the number of
    the message is known."""
    found: list[Ref | None] = [None] * len(starts)
    placed: Iterable[Ran | Touched | Said | Planned | Failed] = chain(
        *(view.each(Ran), view.each(Touched), view.each(Said)),
        *(view.each(Planned), view.each(Failed)),
    )
    for item in placed:
        ref = item.ref
        at = bisect_right(starts, ref.message) - 1
        best = found[at] if at >= 0 else None
        if at >= 0 and (best is None or ref.message < best.message):
            # The reference of a candidate for a decision has no hash.
            if isinstance(item, Said) and not ref.hash:
                ref = replace(ref, hash=slice_hash(item.text))
            found[at] = ref
    return [ref or Ref(message=start) for ref, start in zip(found, starts, strict=True)]


def labelled_segments(view: SessionView) -> list[Segment]:
    """The segments of a session, each turn with its stage."""
    segments = _segments(view)
    stage = "planning"
    for number, segment in enumerate(segments):
        labels = _labels(segment, stage, first=number == 0)
        if number + 1 == len(segments) and number:
            labels = _labels_of_last(segment, labels)
        for turn, label in zip(segment.turns, labels, strict=True):
            turn.stage = label
        stage = labels[-1] if labels[-1] != "other" else stage
    _apply_markers(view, segments)
    return segments


def _segments(view: SessionView) -> list[Segment]:
    first: dict[int, int] = {}
    numbers = view.turns
    for message, turn in enumerate(numbers):
        if turn >= 0 and message not in view.abandoned and message not in view.copies:
            first.setdefault(turn, message)
    turns = {turn: Turn(message) for turn, message in first.items()}
    known: dict[frozenset[str], frozenset[str]] = {}  # few, of thousands of turns
    for (message, _), found in activities(view).items():
        if (turn := numbers[message]) in turns:
            kinds = turns[turn].done.union(found)
            turns[turn].done = known.setdefault(kinds, kinds)
    return _split_at_prompts(view, sorted(turns.values(), key=lambda t: t.message))


def _split_at_prompts(view: SessionView, turns: Sequence[Turn]) -> list[Segment]:
    prompts = [(a.ref.message, a.text.strip()) for a in view.active(Asked) if a.via in _PROMPTS]
    found: list[Segment] = []
    at = 0
    for turn in turns:
        words: list[str] = []
        while at < len(prompts) and prompts[at][0] < turn.message:
            words.append(prompts[at][1])
            at += 1
        if words or not found:
            text = "\n".join(words)
            own = intents(text)
            in_force = inherited(text, own, found[-1].intents) if found else own
            found.append(Segment([], own, in_force))
        found[-1].turns.append(turn)
    return found


_PROMPTS = frozenset({"prompt", "command", "plan"})


def _labels(segment: Segment, stage: str, *, first: bool) -> list[str]:
    """The stage of each turn of a segment that follows `stage`."""
    if not any(turn.done for turn in segment.turns):
        return [_without_calls(segment, stage, first=first)] * len(segment.turns)
    edits = segment.places(_EDITS)
    delivers = segment.places(_DELIVERS)
    own, size = segment.own, len(segment.turns)
    review = "ordered review" in segment.intents and "remedy" not in own
    fault = "fault" in segment.intents and not review
    # A long segment with edits made first what it delivers. Chosen by hand; not measured.
    if "delivery" in own and delivers and not (edits and size > 12):
        return ["deployment"] * size
    if not (edits or review or fault or "review" in own):
        if len(segment.places(frozenset({"delegate"}))) >= 2:
            return ["implementation"] * size
    if "review" in own and not first and "delivery" not in own:
        if segment.places(frozenset({"read_pull_request"})):
            sent = delivers[0] if delivers and delivers[0] > max(edits, default=-1) else size
            return ["review"] * sent + ["deployment"] * (size - sent)
    writes = len(segment.places(_WRITES))
    # A review mends a little on its way. Chosen by hand.
    if review and writes <= 2:
        return _reviewing(segment, first=first)
    if not edits:
        label = _without_edits(segment, stage, fault=fault, first=first)
        # A script that reproduces the fault is testing before anything is fixed.
        return [
            "testing" if first and label == "planning" and turn.done & _SCRATCH else label
            for turn in segment.turns
        ]
    return _with_edits(segment, edits, delivers, fault=fault, first=first)


def _labels_of_last(segment: Segment, labels: list[str]) -> list[str]:
    """The labels of the last segment. While it is short, the intents say more than the
    activities: making something, answering a review, delivering."""
    if len(labels) >= MIN_READING or segment.places(_EDITS):
        return labels
    said, own = set(labels), segment.own
    if "short" in own and "delivery" in own and not own & _UNSETTLED:
        return ["deployment"] * len(labels)
    makes = "making" in segment.intents and not segment.intents & _UNSETTLED and said <= _EARLY
    fixes = own & {"go", "remedy"} and not own & _UNSETTLED - {"review"} and said == {"review"}
    if makes or fixes:
        return ["implementation"] * len(labels)
    return labels


# A prompt of these orders nothing yet: no making is read into the words that answer it.
_UNSETTLED = frozenset({"question", "fault", "review", "ordered review", "design"})
_EARLY = frozenset({"planning", "other"})


def _without_calls(segment: Segment, stage: str, *, first: bool) -> str:
    own = segment.own
    if first:
        return "planning"
    if "fault" in own:
        return "testing"
    if stage == "architecture" or (stage == "planning" and own & {"design", "go"}):
        return "architecture"
    if "design" in own and ("question" in own or "making" not in own) and stage != "testing":
        return "architecture"
    if stage == "deployment" or (stage == "implementation" and "question" in own):
        return "other"
    return stage


def _reviewing(segment: Segment, *, first: bool) -> list[str]:
    """A review; what comes before the change is looked at is planning."""
    size = len(segment.turns)
    looks = segment.places(_TESTS | {"inspect_change", "delegate"})
    begins = looks[0] if looks else size
    planned = begins if first and begins >= 2 else 0
    return ["planning"] * planned + ["review"] * (size - planned)


def _without_edits(segment: Segment, stage: str, *, fault: bool, first: bool) -> str:
    own, size = segment.own, len(segment.turns)
    tests = len(segment.places(_TESTS))
    if segment.places(_DELIVERS) and not fault:
        return "deployment"
    if "review" in own and "design" not in own:
        # Reading the findings of a review comes before the answer to it.
        return "planning" if first else "review"
    if fault and not (first and "long" in own):
        return "testing"
    if "tests" in own and tests:
        return "testing"
    if stage == "testing" and not own & {"design", "making"}:
        return "testing"
    if stage == "architecture" and own & {"design", "question"}:
        return "architecture"
    if stage == "implementation" and size <= 2:
        return stage
    runs = len(segment.places(frozenset({"run", "install"})))
    return "testing" if size >= MIN_RUN and tests + runs >= size / 2 else "planning"


def _with_edits(
    segment: Segment, edits: list[int], delivers: list[int], *, fault: bool, first: bool
) -> list[str]:
    own, turns, size = segment.own, segment.turns, len(segment.turns)
    begin, last = edits[0], edits[-1]
    lead = "testing" if fault and not (first and "long" in own) else "planning"
    if "short" in own and own & {"go", "remedy"} and begin < 9 and not fault:
        lead = "implementation"
    work = "testing" if fault and not first and size <= MAX_FIX_TURNS else "implementation"
    writes = len(segment.places(_WRITES))
    if len(segment.places(frozenset({"edit_test"}))) > 2 * writes and writes <= MIN_RUN:
        work = "testing"
    reads = MIN_RUN if first or fault else MIN_READING
    labels = [lead if begin >= reads else work] * begin + [work] * (size - begin)
    sent = [k for k in delivers if k < begin]
    if sent and ("delivery" in own or sent[-1] >= 2):
        # Delivered first: the work after reading comments answers them.
        after = sent[-1] + 1
        labels[:after] = ["deployment"] * after
        if segment.places(frozenset({"read_pull_request"}), after - 1):
            work = "review"
            labels[after:] = ["review"] * (size - after)
    for k in range(begin):
        if turns[k].done & _SCRATCH or (first and turns[k].done & {"run", "install"}):
            labels[k] = "testing"
    for k in range(begin, size if work != "review" else begin):
        # Around it checks outnumber edits.
        start, end = max(begin, k - CHECK_WINDOW), min(size, k + CHECK_WINDOW + 1)
        checks = len(segment.places(_CHECKS, start, end))
        if checks >= MIN_RUN and checks > len(segment.places(_WRITES, start, end)):
            labels[k] = "testing"
    return _ending(segment, last, labels, fault=fault)


def _ending(segment: Segment, last: int, labels: list[str], *, fault: bool) -> list[str]:
    """Labels the checks after the last edit, and the delivery at the end."""
    size, turns = len(labels), segment.turns
    sends = [k for k in segment.places(_DELIVERS) if k > last]
    begins = sends[0] if sends else size
    while begins < size and begins - 1 > last and turns[begins - 1].done & _BEFORE_DELIVERY:
        begins -= 1
    if begins - last - 1 >= MIN_RUN and (fault or segment.places(_AFTER, last + 1, begins)):
        labels[last + 1 : begins] = ["testing"] * (begins - last - 1)
    tried = [k for k in range(last + 1, begins) if turns[k].done & _SCRATCH]
    if tried:
        # A script that tries out the change begins its testing, however short that is.
        labels[tried[0] : begins] = ["testing"] * (begins - tried[0])
    if size - begins >= MIN_RUN:
        labels[begins:] = ["deployment"] * (size - begins)
    return labels


def _apply_markers(view: SessionView, segments: list[Segment]) -> None:
    """An explicit marker holds for its turn and the rest of the segment."""
    begins = [segment.turns[0].message for segment in segments]
    for said in view.sentences("stage"):
        stage, message = said.value.casefold(), said.ref.message
        if said.rule in _MARKERS and stage in STAGES and segments:
            turns = segments[max(0, bisect_right(begins, message) - 1)].turns
            at = sum(turn.message <= message for turn in turns) - 1
            for turn in turns[max(0, at) :]:
                turn.stage = stage


def stage_runs(segments: list[Segment]) -> list[tuple[str, int]]:
    """Stage and first message of each run; short runs are merged into the run before them."""
    turns = [turn for segment in segments for turn in segment.turns]
    begins = {segment.turns[0].message for segment in segments}
    found: list[tuple[str, int]] = []
    end = 0
    for stage, run in groupby(turns, key=attrgetter("stage")):
        start, end = end, end + len(list(run))
        filled = turns[start].message in begins and (
            end == len(turns) or turns[end].message in begins
        )
        short = end - start < MIN_RUN and end < len(turns) and not filled
        if found and (short or found[-1][0] == stage):
            continue
        found.append((stage, turns[start].message))
    return found
