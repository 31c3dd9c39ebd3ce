"""Scores: what one session gives, and the figures that follow from many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field

from leftoff.evaluation.matching import Counts, assignment, pairs, sets, total
from leftoff.evaluation.predictions import Claim, Predictions
from leftoff.evaluation.sessions import Session

BEST = 10
"""Decisions that a reader is shown first."""

LEAST_DECISIONS = 5
"""Sessions with fewer labelled decisions are left out of P@10 and R@10."""

NEAR = 2
"""Turns by which a stage boundary may be off."""

BINS = 10
"""Bins of equal mass in the reliability table."""

NOTHING = "-"
"""In a confusion: nothing was labelled, or nothing was said."""


class Ranked(Struct, frozen=True):
    """The first messages by confidence: how many were looked at, right, and labelled."""

    at: int
    right: int
    labelled: int


class SessionScore(Struct, frozen=True, omit_defaults=True):
    """What was right, wrong and missed in one session: numbers only.

    Confusions map "labelled>said" to how often; calibrations are (confidence, right).
    """

    file: str
    repository: str
    decisions: Counts | None = None
    decision_spans: Counts | None = None
    joint: Counts | None = None
    joint_spans: Counts | None = None
    types: dict[str, int] = field(default_factory=dict)
    ranked: Ranked | None = None
    calibration: tuple[tuple[float, bool], ...] = ()
    calibration_spans: tuple[tuple[float, bool], ...] = ()
    milestones: Counts | None = None
    milestone_kinds: dict[str, Counts] = field(default_factory=dict)
    milestone_evidence: dict[str, Counts] = field(default_factory=dict)
    stages: dict[str, int] | None = None
    boundaries: Counts | None = None
    cuts: Counts | None = None
    directives: Counts | None = None
    directive_kinds: dict[str, Counts] = field(default_factory=dict)
    directives_with_kind: Counts | None = None
    open_items: Counts | None = None
    open_item_spans: Counts | None = None


def score(session: Session, said: Predictions) -> SessionScore:
    """One session's labels against what a system says about it."""
    found: dict[str, object] = {
        "file": session.labels.file,
        "repository": session.labels.repository,
    }
    if said.decisions is not None:
        found |= _decisions(session, said.decisions)
    if said.milestones is not None:
        found |= _milestones(session, said.milestones)
    if said.timeline is not None:
        found |= _stages(session, said.timeline)
    if said.cuts is not None:
        cuts = said.cuts
        right = sum(cuts.get(cut) == session.stage_at(cut) for cut in session.cuts)
        found["cuts"] = Counts(right, 0, len(session.cuts) - right)
    if said.directives is not None:
        found |= _directives(session, said.directives)
    if said.open_items is not None:
        found |= _open_items(session, said.open_items)
    return SessionScore(**found)  # type: ignore[arg-type]


def _decisions(session: Session, said: Sequence[Claim]) -> dict[str, object]:
    labels = session.labels.decisions
    gold = {d.line for d in labels}
    repeats = {place for d in labels for place in d.also} - gold
    # The agent's visible words alone are labelled; the person's own decisions are not.
    claims = [c for c in said if c.place in session.agent_places and c.place not in repeats]
    labelled = [(d.line, d.quote) for d in labels]
    spoken = [(c.place, c.text) for c in claims]
    spans = pairs(spoken, labelled)
    paired = {i for i, _ in spans}
    # A place that also only says an earlier decision again: what is unpaired there is ignored.
    mixed = {place for d in labels for place in d.also} & gold
    judged = [i for i, c in enumerate(claims) if i in paired or c.place not in mixed]
    invented = len(judged) - len(spans)
    both = sum(claims[i].kind == labels[j].type for i, j in spans)
    ranked = sorted(_best(claims).items(), key=lambda item: (-item[1], item[0]))
    at = min(BEST, len(gold))
    return {
        "decisions": sets((c.place for c in claims), gold),
        "decision_spans": Counts(len(spans), invented, len(labels) - len(spans)),
        "joint": sets(((c.place, c.kind) for c in claims), ((d.line, d.type) for d in labels)),
        "joint_spans": Counts(both, invented + len(spans) - both, len(labels) - both),
        "types": _confusion(claims, labelled, [d.type for d in labels]),
        "ranked": Ranked(at, sum(p in gold for p, _ in ranked[:at]), len(gold))
        if len(labels) >= LEAST_DECISIONS
        else None,
        "calibration": tuple((c, p in gold) for p, c in ranked),
        "calibration_spans": tuple((claims[i].confidence, i in paired) for i in judged),
    }


def _best(claims: Iterable[Claim]) -> dict[int, float]:
    """The highest confidence at each place."""
    best: dict[int, float] = {}
    for claim in claims:
        best[claim.place] = max(best.get(claim.place, 0.0), claim.confidence)
    return best


def _confusion(
    claims: Sequence[Claim], labelled: Sequence[tuple[int, str]], types: Sequence[str]
) -> dict[str, int]:
    """Labelled against said types; within a message whatever is most alike is paired."""
    found: Counter[str] = Counter()
    paired = pairs([(c.place, c.text) for c in claims], labelled, least=0.0)
    for i, j in paired:
        found[f"{types[j]}>{claims[i].kind}"] += 1
    said, told = {i for i, _ in paired}, {j for _, j in paired}
    for i, claim in enumerate(claims):
        if i not in said:
            found[f"{NOTHING}>{claim.kind}"] += 1
    for j, kind in enumerate(types):
        if j not in told:
            found[f"{kind}>{NOTHING}"] += 1
    return dict(sorted(found.items()))


def _milestones(session: Session, said: Sequence[Claim]) -> dict[str, object]:
    gold = {(m.line, m.kind) for m in session.labels.milestones}
    # What only a tool result shows stands where nothing is labelled.
    spoken = session.agent_places.keys() | session.user_places.keys()
    claims = [c for c in said if c.place in spoken]
    found = {(c.place, c.kind) for c in claims}
    kinds = sorted({kind for _, kind in gold | found})
    by_evidence: dict[str, Counts] = {}
    for evidence in sorted({c.evidence for c in claims} - {""}):
        some = {(c.place, c.kind) for c in claims if c.evidence == evidence}
        by_evidence[evidence] = Counts(len(some & gold), len(some - gold), 0)
    return {
        "milestones": sets(found, gold),
        "milestone_kinds": {
            kind: sets((x for x in found if x[1] == kind), (x for x in gold if x[1] == kind))
            for kind in kinds
        },
        "milestone_evidence": by_evidence,
    }


def _stages(session: Session, timeline: Sequence[tuple[int, str]]) -> dict[str, object]:
    confusion: Counter[str] = Counter()
    said: list[str] = []
    gold: list[str] = []
    place, current = 0, NOTHING
    changes = sorted(timeline, key=lambda change: change[0])
    for at, index in session.turns:
        while place < len(changes) and changes[place][0] <= index:
            current = changes[place][1]
            place += 1
        stage = session.stage_at(at)
        if not stage:
            continue
        gold.append(stage)
        said.append(current)
        confusion[f"{stage}>{current}"] += 1
    ours, theirs = _boundaries(said), _boundaries(gold)
    off = [[abs(x - y) for y in theirs] for x in ours]
    # As many pairs as can be; among those the nearest ones.
    worth = [[1.0 - 0.01 * turns if turns <= NEAR else 0.0 for turns in row] for row in off]
    right = len(assignment(worth))
    return {
        "stages": dict(sorted(confusion.items())),
        "boundaries": Counts(right, len(ours) - right, len(theirs) - right),
    }


def _boundaries(stages: Sequence[str]) -> list[int]:
    return [i for i in range(1, len(stages)) if stages[i] != stages[i - 1]]


def _directives(session: Session, said: Sequence[Claim]) -> dict[str, object]:
    labels = session.labels.directives
    claims = [c for c in said if c.place in session.user_places]
    gold = {(d.line, d.kind) for d in labels}
    found = {(c.place, c.kind) for c in claims}
    return {
        "directives": sets((c.place for c in claims), (d.line for d in labels)),
        "directives_with_kind": sets(found, gold),
        "directive_kinds": {
            kind: sets((x for x in found if x[1] == kind), (x for x in gold if x[1] == kind))
            for kind in sorted({kind for _, kind in gold | found})
        },
    }


def _open_items(session: Session, said: Sequence[Claim]) -> dict[str, object]:
    labels = session.labels.open_items
    claims = [c for c in said if c.place in session.texts]
    spans = pairs([(c.place, c.text) for c in claims], [(o.line, o.quote) for o in labels])
    return {
        "open_items": sets((c.place for c in claims), (o.line for o in labels)),
        "open_item_spans": Counts(
            len(spans), len(claims) - len(spans), len(labels) - len(spans)
        ),
    }


# -- figures ---------------------------------------------------------------------------------

Scores = Sequence[SessionScore]


class Figure(Struct, frozen=True):
    """A number that follows from the scores of any set of sessions.

    Attributes:
        of: the number, None where there is nothing to measure.
        items: how many items it is measured on.
        higher: whether more is better.
    """

    name: str
    title: str
    of: Callable[[Scores], float | None]
    items: Callable[[Scores], int]
    higher: bool = True


def _counted(name: str, side: str) -> Callable[[Scores], float | None]:
    def figure(scores: Scores) -> float | None:
        value: float | None = getattr(_sum(scores, name), side)
        return value

    return figure


def _sum(scores: Scores, name: str) -> Counts:
    return total(c for s in scores if (c := getattr(s, name)) is not None)


def _labelled(name: str) -> Callable[[Scores], int]:
    def items(scores: Scores) -> int:
        counts = _sum(scores, name)
        return counts.right + counts.missed

    return items


def precision_at(scores: Scores) -> float | None:
    """Mean over sessions of the share of the first messages by confidence that are right; a
    session that offers fewer than were asked for is charged for the rest."""
    return _mean([s.ranked.right / s.ranked.at for s in scores if s.ranked and s.ranked.at])


def recall_at(scores: Scores) -> float | None:
    """Mean over sessions of the share of labelled messages among the first by confidence."""
    return _mean([s.ranked.right / s.ranked.labelled for s in scores if s.ranked])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def brier(points: Sequence[tuple[float, bool]]) -> float | None:
    """Mean squared distance of confidence from the truth; None without points."""
    return _mean([(c - r) ** 2 for c, r in points])


def brier_skill(points: Sequence[tuple[float, bool]]) -> float | None:
    """How much better than always naming the base rate; None where that cannot be beaten."""
    rate = _mean([float(r) for _, r in points])
    least = brier(points)
    if rate is None or least is None or rate in {0.0, 1.0}:
        return None
    return 1.0 - least / (rate * (1.0 - rate))


class Bin(Struct, frozen=True):
    """A row of the reliability table: `count` points from `low` to `high`."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


def reliability(points: Sequence[tuple[float, bool]], bins: int = BINS) -> tuple[Bin, ...]:
    """Points in bins of equal mass, equal confidences never parted."""
    ordered = sorted(points)
    rows: list[Bin] = []
    start = 0
    for number in range(1, bins + 1):
        end = max(start, round(len(ordered) * number / bins))
        while start < end < len(ordered) and ordered[end][0] == ordered[end - 1][0]:
            end += 1
        some = ordered[start:end]
        if some:
            rows.append(
                Bin(
                    some[0][0],
                    some[-1][0],
                    len(some),
                    sum(c for c, _ in some) / len(some),
                    sum(r for _, r in some) / len(some),
                )
            )
        start = end
    return tuple(rows)


def calibration_error(points: Sequence[tuple[float, bool]]) -> float | None:
    """Expected calibration error: mean gap between confidence and truth over the bins."""
    if not points:
        return None
    rows = reliability(points)
    return sum(abs(b.confidence - b.right) * b.count for b in rows) / len(points)


def points_of(scores: Scores, name: str = "calibration") -> list[tuple[float, bool]]:
    """The (confidence, right) pairs of all sessions."""
    return [point for s in scores for point in getattr(s, name)]


def _calibrated(
    of: Callable[[Sequence[tuple[float, bool]]], float | None], name: str
) -> Callable[[Scores], float | None]:
    return lambda scores: of(points_of(scores, name))


def confusion(scores: Scores, name: str) -> dict[tuple[str, str], int]:
    """The confusions of all sessions added up: (labelled, said) to how often."""
    found: Counter[tuple[str, str]] = Counter()
    for one in scores:
        table: Mapping[str, int] | None = getattr(one, name)
        for key, count in (table or {}).items():
            labelled, _, said = key.partition(">")
            found[labelled, said] += count
    return dict(sorted(found.items()))


def accuracy(table: Mapping[tuple[str, str], int]) -> float | None:
    """Share of the diagonal; None for an empty table."""
    everything = sum(table.values())
    right = sum(count for (labelled, said), count in table.items() if labelled == said)
    return right / everything if everything else None


def macro_f1(table: Mapping[tuple[str, str], int]) -> float | None:
    """Mean F1 over the labels that occur; None if none does."""
    values: list[float] = []
    for label in sorted({labelled for labelled, _ in table} - {NOTHING}):
        right = table.get((label, label), 0)
        told = sum(count for (labelled, _), count in table.items() if labelled == label)
        said = sum(count for (_, name), count in table.items() if name == label)
        values.append(2 * right / (told + said))
    return _mean(values)


def _paired_types(scores: Scores) -> dict[tuple[str, str], int]:
    """Types of the decisions that were found, whatever was missed or invented left out."""
    table = confusion(scores, "types")
    return {key: count for key, count in table.items() if NOTHING not in key}


def _points(name: str) -> Callable[[Scores], int]:
    return lambda scores: sum(len(getattr(s, name)) for s in scores)


def _prf(name: str, title: str) -> list[Figure]:
    items = _labelled(name)
    return [
        Figure(f"{name}_precision", f"{title}: precision", _counted(name, "precision"), items),
        Figure(f"{name}_recall", f"{title}: recall", _counted(name, "recall"), items),
        Figure(f"{name}_f1", f"{title}: F1", _counted(name, "f1"), items),
    ]


def _turns(scores: Scores) -> int:
    return sum(sum((s.stages or {}).values()) for s in scores)


FIGURES: tuple[Figure, ...] = (
    *_prf("decisions", "key decisions"),
    *_prf("decision_spans", "key decisions, spans"),
    Figure(
        "p_at_10",
        "key decisions: P@10",
        precision_at,
        lambda scores: sum(s.ranked.at for s in scores if s.ranked),
    ),
    Figure(
        "r_at_10",
        "key decisions: R@10",
        recall_at,
        lambda scores: sum(s.ranked.labelled for s in scores if s.ranked),
    ),
    Figure(
        "joint_f1", "key decisions with type: F1", _counted("joint", "f1"), _labelled("joint")
    ),
    Figure(
        "joint_spans_f1",
        "key decisions with type, spans: F1",
        _counted("joint_spans", "f1"),
        _labelled("joint_spans"),
    ),
    Figure(
        "types_macro_f1",
        "types of the decisions found: macro-F1",
        lambda scores: macro_f1(_paired_types(scores)),
        lambda scores: sum(_paired_types(scores).values()),
    ),
    Figure(
        "ece",
        "confidence: ECE",
        _calibrated(calibration_error, "calibration"),
        _points("calibration"),
        higher=False,
    ),
    Figure(
        "brier",
        "confidence: Brier",
        _calibrated(brier, "calibration"),
        _points("calibration"),
        higher=False,
    ),
    Figure(
        "brier_skill",
        "confidence: Brier skill",
        _calibrated(brier_skill, "calibration"),
        _points("calibration"),
    ),
    Figure(
        "ece_spans",
        "confidence, spans: ECE",
        _calibrated(calibration_error, "calibration_spans"),
        _points("calibration_spans"),
        higher=False,
    ),
    Figure(
        "brier_skill_spans",
        "confidence, spans: Brier skill",
        _calibrated(brier_skill, "calibration_spans"),
        _points("calibration_spans"),
    ),
    *_prf("milestones", "milestones with kind"),
    Figure(
        "stage_accuracy",
        "stages: accuracy per agent turn",
        lambda scores: accuracy(confusion(scores, "stages")),
        _turns,
    ),
    Figure(
        "stage_macro_f1",
        "stages: macro-F1",
        lambda scores: macro_f1(confusion(scores, "stages")),
        _turns,
    ),
    Figure(
        "boundaries_f1",
        "stages: boundary F1, two turns off",
        _counted("boundaries", "f1"),
        _labelled("boundaries"),
    ),
    Figure(
        "current_stage",
        "stages: current stage at random cuts",
        _counted("cuts", "recall"),
        _labelled("cuts"),
    ),
    *_prf("directives", "user directives"),
    Figure(
        "directives_with_kind_f1",
        "user directives with kind: F1",
        _counted("directives_with_kind", "f1"),
        _labelled("directives_with_kind"),
    ),
    *_prf("open_items", "open items"),
    Figure(
        "open_item_spans_f1",
        "open items, spans: F1",
        _counted("open_item_spans", "f1"),
        _labelled("open_item_spans"),
    ),
)
"""Every figure, in the order of the report."""

PAIRED = (
    "decisions_f1",
    "decision_spans_f1",
    "joint_f1",
    "milestones_f1",
    "stage_accuracy",
    "directives_f1",
    "open_items_f1",
)
"""Figures for which a baseline is compared in a paired test."""


def by_name(name: str) -> Figure:
    """The figure of that name; KeyError if there is none."""
    return _BY_NAME[name]


_BY_NAME = {figure.name: figure for figure in FIGURES}
