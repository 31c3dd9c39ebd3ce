"""The scores of one session, and the figures computed from the scores of many."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from leftoff.codec import JsonObject
from leftoff.evaluation.labels import UNSURE
from leftoff.evaluation.matching import (
    Counts,
    compare_sets,
    confidence_by_place,
    match_items,
    match_statements,
    total,
)
from leftoff.evaluation.sessions import TO_DO, LabelledSession, Prediction, Predictions

T = TypeVar("T")
# Statements of a session that a person is shown at most.
FIRST = 5
# Bins of equal mass in the reliability table.
BINS = 10
# The three kinds of milestones that readers disputed most, as one.
DONE = {"bug_fixed": "done", "feature_done": "done", "task_done": "done"}
# Kinds of milestones that the labelling guideline has under another name.
_LABELLED_AS = {"typecheck_passes": "lint_passes"}
# Kinds of the person's words that are no directives to the labelling guideline.
_NOT_LABELLED = frozenset({"question", "remark", "command"})
# In a confusion matrix: no label, or no prediction.
NO_LABEL = "-"


class SessionScore(Struct, frozen=True, omit_defaults=True):
    """The scores of one session: numbers only.

    Confusion matrices map "labelled>predicted" to counts; calibrations are (confidence, right).
    `first_statements`: whether each of the first five statements by confidence is labelled."""

    file: str
    repository: str
    decisions: Counts | None = None
    joint: Counts | None = None
    types: dict[str, int] = field(default_factory=dict)
    statements: Counts | None = None
    first_statements: tuple[bool, ...] = ()
    calibration: tuple[tuple[float, bool], ...] = ()
    calibration_statements: tuple[tuple[float, bool], ...] = ()
    milestones: Counts | None = None
    milestones_merged: Counts | None = None
    milestone_kinds: dict[str, Counts] = field(default_factory=dict)
    milestone_evidence: dict[str, Counts] = field(default_factory=dict)
    stages: dict[str, int] | None = None
    cuts: Counts | None = None
    directives: Counts | None = None
    directive_kinds: dict[str, Counts] = field(default_factory=dict)
    directives_with_kind: Counts | None = None
    open_items: Counts | None = None
    open_items_by_item: Counts | None = None


def score(session: LabelledSession, predicted: Predictions) -> SessionScore:
    """Scores the predictions for one session against its labels."""
    found: JsonObject = {}
    for task, scored in _SCORERS.items():
        given = getattr(predicted, task)
        if given is not None:
            found |= scored(session, given)
    return SessionScore(session.labels.file, session.labels.repository, **found)


def _decisions(session: LabelledSession, predicted: Sequence[Prediction]) -> JsonObject:
    every = session.labels.decisions
    unsure = [(n.line, n.quote) for n in session.labels.near_misses if n.reason == UNSURE]
    doubtful = match_statements([(d.line, d.quote) for d in every], unsure)
    labels = [d for d, at in zip(every, doubtful, strict=True) if at < 0]
    labelled = [(d.line, d.quote) for d in labels]
    gold = {d.line for d in labels}
    repeats = {place for d in labels for place in d.also} - gold
    stated_by = match_statements([(c.place, c.text) for c in predicted], [*labelled, *unsure])
    # Only the agent's visible words are labelled, not the person's own decisions.
    stated = [
        (c, number)
        for c, number in zip(predicted, stated_by, strict=True)
        if c.place in session.agent_places and c.place not in repeats and number < len(labelled)
    ]
    # A labelled place that also repeats an earlier decision: what matches nothing is ignored.
    mixed = {place for d in labels for place in d.also} & gold
    judged = [(c, number) for c, number in stated if number >= 0 or c.place not in mixed]
    right = len({number for _, number in judged if number >= 0})
    ordered = sorted(judged, key=lambda one: -one[0].confidence)
    by_place = confidence_by_place((c.place, c.confidence) for c, _ in stated)
    ranked = sorted(by_place.items(), key=lambda item: (-item[1], item[0]))
    return {
        "decisions": compare_sets((c.place for c, _ in stated), gold),
        "joint": compare_sets(
            ((c.place, c.kind) for c, _ in stated), ((d.line, d.type) for d in labels)
        ),
        "types": _confusion(ordered, [d.type for d in labels]),
        # A second statement of the same label is wrong here, and right among the first.
        "statements": Counts(right, len(judged) - right, len(labels) - right),
        "first_statements": tuple(number >= 0 for _, number in ordered[:FIRST]),
        "calibration": tuple((c, p in gold) for p, c in ranked),
        "calibration_statements": tuple((c.confidence, number >= 0) for c, number in judged),
    }


def _confusion(
    judged: Iterable[tuple[Prediction, int]], types: Sequence[str]
) -> dict[str, int]:
    """Confusion matrix of types by statement; the first that states a label is its pair."""
    found: Counter[str] = Counter()
    left = dict(enumerate(types))
    for prediction, number in judged:
        found[f"{left.pop(number, NO_LABEL)}>{prediction.kind}"] += 1
    found.update(f"{kind}>{NO_LABEL}" for kind in left.values())
    return dict(sorted(found.items()))


def _milestones(session: LabelledSession, predicted: Sequence[Prediction]) -> JsonObject:
    def keys(some: Iterable[tuple[int, str]]) -> set[tuple[int, str]]:
        return {(place, _LABELLED_AS.get(kind, kind)) for place, kind in some}

    gold = keys((m.line, m.kind) for m in session.labels.milestones)
    # Only spoken text is labelled, not a milestone that only a tool result shows.
    spoken_places = session.agent_places.keys() | session.user_places.keys()
    predictions = [c for c in predicted if c.place in spoken_places]
    found = keys((c.place, c.kind) for c in predictions)
    by_evidence: dict[str, Counts] = {}
    for evidence in sorted({c.evidence for c in predictions} - {""}):
        some = keys((c.place, c.kind) for c in predictions if c.evidence == evidence)
        by_evidence[evidence] = Counts(len(some & gold), len(some - gold), 0)
    merged = ({(place, DONE.get(kind, kind)) for place, kind in side} for side in (found, gold))
    return {
        "milestones": compare_sets(found, gold),
        "milestones_merged": compare_sets(*merged),
        "milestone_kinds": _by_kind(found, gold),
        "milestone_evidence": by_evidence,
    }


def _by_kind(found: set[tuple[int, str]], gold: set[tuple[int, str]]) -> dict[str, Counts]:
    return {
        kind: compare_sets(
            (x for x in found if x[1] == kind), (x for x in gold if x[1] == kind)
        )
        for kind in sorted({kind for _, kind in gold | found})
    }


def _stages(session: LabelledSession, timeline: Sequence[tuple[int, str]]) -> JsonObject:
    confusion: Counter[str] = Counter()
    changes = sorted(timeline, key=itemgetter(0))
    for at, index in session.turns:
        past = bisect_right(changes, index, key=itemgetter(0))
        current = changes[past - 1][1] if past else NO_LABEL
        stage = session.stage_at(at)
        if stage:
            confusion[f"{stage}>{current}"] += 1
    return {"stages": dict(sorted(confusion.items()))}


def _cuts(session: LabelledSession, predicted: Mapping[int, str]) -> JsonObject:
    right = sum(predicted.get(cut) == session.stage_at(cut) for cut in session.cuts)
    return {"cuts": Counts(right, 0, len(session.cuts) - right)}


def _directives(session: LabelledSession, predicted: Sequence[Prediction]) -> JsonObject:
    labels = session.labels.directives
    predictions = [
        c for c in predicted if c.place in session.user_places and c.kind not in _NOT_LABELLED
    ]
    gold = {(d.line, d.kind) for d in labels}
    found = {(c.place, c.kind) for c in predictions}
    return {
        "directives": compare_sets((at for at, _ in found), (at for at, _ in gold)),
        "directives_with_kind": compare_sets(found, gold),
        "directive_kinds": _by_kind(found, gold),
    }


def _open_items(session: LabelledSession, predicted: Sequence[Prediction]) -> JsonObject:
    labels = session.labels.open_items
    predictions = [c for c in predicted if c.place in session.texts]
    theirs = [(o.line, o.quote) for o in labels]
    # Only visible words are labelled: what stands in a to-do list alone is no mistake.
    said: tuple[list[tuple[int, str]], ...] = ([], [])
    for c in predicted:
        said[c.place not in session.texts or c.kind in TO_DO].append((c.place, c.text))
    return {
        "open_items": compare_sets((c.place for c in predictions), (o.line for o in labels)),
        "open_items_by_item": match_items(
            said[0], theirs, said[1], [session.beside(line, quote) for line, quote in theirs]
        ),
    }


# By the task of `Predictions`.
_SCORERS: dict[str, Callable[[LabelledSession, Any], JsonObject]] = {
    "decisions": _decisions,
    "milestones": _milestones,
    "timeline": _stages,
    "cuts": _cuts,
    "directives": _directives,
    "open_items": _open_items,
}


# -- figures ---------------------------------------------------------------------------------

Scores = Sequence[SessionScore]
# Counts by (labelled, predicted).
Matrix = Mapping[tuple[str, str], int]


class Figure(Struct, Generic[T], frozen=True):
    """A measure computed from the scores of any set of sessions: from what is `gathered` of
    them, the value that is `measured`, and on how many items; `higher`: more is better."""

    title: str
    gathered: Callable[[Scores], T]
    measured: Callable[[T], float | None]
    counted: Callable[[T], int]
    higher: bool = True

    def of(self, scores: Scores) -> float | None:
        """The value; None if there is nothing to measure."""
        return self.measured(self.gathered(scores))

    def items(self, scores: Scores) -> int:
        """What it is measured on."""
        return self.counted(self.gathered(scores))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


class Bin(Struct, frozen=True):
    """A row of the reliability table: `count` points from `low` to `high`."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


def reliability(points: Sequence[tuple[float, bool]]) -> tuple[Bin, ...]:
    """The points in `BINS` bins of equal mass; equal confidences are in one bin."""
    ordered = sorted(points)
    rows: list[Bin] = []
    start = 0
    for number in range(1, BINS + 1):
        end = max(start, round(len(ordered) * number / BINS))
        while start < end < len(ordered) and ordered[end][0] == ordered[end - 1][0]:
            end += 1
        if start < end:
            confidences, right = zip(*ordered[start:end], strict=True)
            count = end - start
            low, high, mean = confidences[0], confidences[-1], sum(confidences) / count
            rows.append(Bin(low, high, count, mean, sum(right) / count))
        start = end
    return tuple(rows)


def calibration_error(points: Sequence[tuple[float, bool]]) -> float | None:
    """Expected calibration error: mean gap between confidence and share that is right."""
    if not points:
        return None
    rows = reliability(points)
    return sum(abs(b.confidence - b.right) * b.count for b in rows) / len(points)


def calibration_points(scores: Scores, name: str = "calibration") -> list[tuple[float, bool]]:
    """The (confidence, right) pairs of all sessions."""
    return [point for s in scores for point in getattr(s, name)]


def confusion(scores: Scores, name: str) -> dict[tuple[str, str], int]:
    """The confusion matrix over all sessions: (labelled, predicted) to a count."""
    found: Counter[tuple[str, str]] = Counter()
    for one in scores:
        table: Mapping[str, int] | None = getattr(one, name)
        for key, count in (table or {}).items():
            labelled, _, predicted = key.partition(">")
            found[labelled, predicted] += count
    return dict(sorted(found.items()))


def accuracy(table: Matrix) -> float | None:
    """Accuracy of a confusion matrix; None for an empty one."""
    everything = sum(table.values())
    right = sum(count for (labelled, said), count in table.items() if labelled == said)
    return right / everything if everything else None


def macro_f1(table: Matrix) -> float | None:
    """Mean F1 over the labels that occur; None without labels."""
    labelled: Counter[str] = Counter()
    occurring: Counter[str] = Counter()
    for pair, count in table.items():
        labelled[pair[0]] += count
        for name in pair:
            occurring[name] += count
    names = sorted(labelled.keys() - {NO_LABEL})
    return _mean([2 * table.get((name, name), 0) / occurring[name] for name in names])


def _one(title: str, counted: str, side: str = "f1") -> Figure[Counts]:
    def gathered(scores: Scores) -> Counts:
        return total(c for s in scores if (c := getattr(s, counted)) is not None)

    return Figure(title, gathered, attrgetter(side), lambda c: c.right + c.missed)


def _prf(name: str, title: str) -> dict[str, Figure[Counts]]:
    sides = {"precision": "precision", "recall": "recall", "f1": "F1"}
    return {f"{name}_{s}": _one(f"{title}: {word}", name, s) for s, word in sides.items()}


def _firsts(count: int) -> Figure[list[bool]]:
    """Share of the first `count` statements of every session that is labelled."""
    title = f"key decisions, statements: first {count} right"
    return Figure(
        title,
        lambda scores: [x for s in scores for x in s.first_statements[:count]],
        _mean,
        len,
    )


def _calibration(title: str, name: str = "calibration") -> Figure[list[tuple[float, bool]]]:
    """Calibration error of the confidences that scores hold under a name."""
    return Figure(
        title, lambda scores: calibration_points(scores, name), calibration_error, len, False
    )


def _of_matrix(
    title: str, of: Callable[[Matrix], float | None], matrix: Callable[[Scores], Matrix]
) -> Figure[Matrix]:
    return Figure(title, matrix, of, lambda table: sum(table.values()))


_STAGES = partial(confusion, name="stages")
# Every figure by name, in the order of the report.
FIGURES: dict[str, Figure[Any]] = {
    **_prf("statements", "key decisions, statements"),
    "first_3": _firsts(3),
    f"first_{FIRST}": _firsts(FIRST),
    **_prf("decisions", "key decisions"),
    "joint_f1": _one("key decisions with type: F1", "joint"),
    "types_macro_f1": _of_matrix(
        "types of the decisions found: macro-F1",
        macro_f1,  # without misses and false alarms
        lambda s: {k: n for k, n in confusion(s, "types").items() if NO_LABEL not in k},
    ),
    "ece": _calibration("confidence: ECE"),
    "ece_statements": _calibration("confidence, statements: ECE", "calibration_statements"),
    **_prf("milestones", "milestones with kind"),
    **_prf("milestones_merged", "milestones, the three done kinds as one"),
    "stage_accuracy": _of_matrix("stages: accuracy per agent turn", accuracy, _STAGES),
    "stage_macro_f1": _of_matrix("stages: macro-F1", macro_f1, _STAGES),
    "current_stage": _one("stages: current stage at random cuts", "cuts", "recall"),
    **_prf("directives", "user directives"),
    "directives_with_kind_f1": _one("user directives with kind: F1", "directives_with_kind"),
    **_prf("open_items", "open items"),
    **_prf("open_items_by_item", "open items by item, any mention"),
}

# Figures for which a baseline is compared in a paired test.
PAIRED = (
    "statements_f1 decisions_f1 joint_f1 milestones_f1 stage_accuracy directives_f1"
    " open_items_f1"
).split()
