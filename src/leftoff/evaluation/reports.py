"""The result of an evaluation as a value, a table and a run that can be committed.

A run holds numbers, file names and positions, never text of a recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from leftoff import codec
from leftoff.errors import StateError
from leftoff.evaluation.intervals import RESAMPLES, SWAPS, Difference, bootstrap, paired
from leftoff.evaluation.matching import Counts, total
from leftoff.evaluation.metrics import (
    FIGURES,
    NO_LABEL,
    PAIRED,
    SessionScore,
    calibration_points,
    confusion,
    figure_named,
    reliability,
)

SCHEMA = "leftoff.accuracy/1"


class Measured(Struct, frozen=True):
    """A figure with its interval and sample sizes; None if there was nothing to measure."""

    value: float | None
    low: float | None
    high: float | None
    sessions: int
    items: int


class Result(Struct, frozen=True):
    """The figures of one system, and the paired differences to ours on the same sessions.

    Attributes:
        figures: by name in `metrics.FIGURES`, without those that the system does not predict.
        scores: of our own system, by session.
        ours_minus_this: paired differences by figure; empty for our own system.
    """

    system: str
    figures: dict[str, Measured]
    scores: tuple[SessionScore, ...]
    ours_minus_this: dict[str, Difference] = field(default_factory=dict)


class Report(Struct, frozen=True):
    """One evaluation.

    Attributes:
        leftoff, rules: version and rules digest of the engine.
        labels, recordings: hashes of the evaluated data.
        left_out: labelled sessions that were not evaluated, each with the reason.
        results: our own first.
        trained: files of the sessions that our decision weights were trained on.
        apart: our figures over the other sessions, then over the training sessions, if there
            are both.
        date, machine: as given by the person who made the run.
    """

    schema: str
    leftoff: str
    rules: str
    labels: str
    recordings: str
    left_out: tuple[str, ...]
    results: tuple[Result, ...]
    date: str = ""
    machine: str = ""
    trained: tuple[str, ...] = ()
    apart: tuple[Result, ...] = ()


def measure(
    system: str,
    scores: Sequence[SessionScore],
    ours: Sequence[SessionScore] | None = None,
    *,
    resamples: int = RESAMPLES,
    swaps: int = SWAPS,
) -> Result:
    """Computes every figure of one system, with its interval.

    Args:
        ours: our own scores on the same sessions, for a baseline.
        resamples, swaps: of the bootstrap and of the paired test.
    """
    figures: dict[str, Measured] = {}
    for figure in FIGURES:
        value = figure.of(scores)
        items = figure.items(scores)
        if value is None and not items:
            continue
        interval = bootstrap(scores, figure.of, resamples=resamples)
        figures[figure.name] = Measured(
            _rounded(value),
            _rounded(interval.low) if interval else None,
            _rounded(interval.high) if interval else None,
            sum(1 for s in scores if figure.items([s])),
            items,
        )
    differences: dict[str, Difference] = {}
    if ours is not None:
        for name in PAIRED:
            found = paired(
                ours, scores, figure_named(name).of, swaps=swaps, resamples=resamples
            )
            if found is not None and name in figures:
                differences[name] = found
    # The scores of a baseline can be recomputed; without them a run stays small.
    return Result(system, figures, () if ours is not None else tuple(scores), differences)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


# -- runs ------------------------------------------------------------------------------------


def to_run(report: Report) -> bytes:
    """The report as a run that can be committed: numbers only."""
    return codec.dumps(report)


def from_run(data: bytes) -> Report:
    """Reads a run that `to_run` wrote.

    Raises:
        StateError: the data is not an accuracy run.
    """
    try:
        report: Report = msgspec.json.decode(data, type=Report)
    except (ValueError, RecursionError) as error:
        raise StateError(f"not an accuracy run: {error}") from error
    if report.schema != SCHEMA:
        raise StateError(f"not an accuracy run: its schema is {report.schema!r}")
    return report


def regressions(
    now: Report, before: Report, *, resamples: int = RESAMPLES
) -> tuple[list[str], list[str]]:
    """The regressions since an earlier run, and other differences, as sentences.

    A figure regressed if it lies on the bad side of the earlier run's interval, or if the
    interval of the paired difference over the common sessions lies wholly on that side. A
    session that was evaluated before and is missing now counts as a regression.
    """
    worse: list[str] = []
    notes: list[str] = []
    ours, theirs = now.results[0], before.results[0]
    if now.labels != before.labels:
        notes.append("the labels have changed since that run")
    if now.recordings != before.recordings:
        notes.append("the recordings are not those of that run")
    new = {s.file: s for s in ours.scores}
    old = {s.file: s for s in theirs.scores}
    missing = sorted(old.keys() - new.keys())
    worse += [f"{file} was measured then and is not now" for file in missing]
    common = sorted(old.keys() & new.keys())
    for name, then in theirs.figures.items():
        figure = figure_named(name)
        here = ours.figures.get(name)
        if then.value is None:
            continue
        if here is None or here.value is None:
            worse.append(f"{figure.title}: was {then.value:.3f}, now nothing to measure")
            continue
        sign = 1 if figure.higher else -1
        if sign * (here.value - then.value) >= 0:
            continue
        bound = then.low if figure.higher else then.high
        outside = bound is not None and sign * (here.value - bound) < 0
        found = paired(
            [new[f] for f in common],
            [old[f] for f in common],
            figure.of,
            swaps=0,
            resamples=resamples,
        )
        significant = (
            found is not None
            and found.interval is not None
            and (found.interval.high < 0 if figure.higher else found.interval.low > 0)
        )
        change = f"{figure.title}: {then.value:.3f} -> {here.value:.3f}"
        (worse if outside or significant else notes).append(
            change if outside or significant else f"{change} (within chance)"
        )
    return worse, notes


# -- tables ----------------------------------------------------------------------------------


def table(report: Report) -> str:
    """The report as text: figures with intervals, baselines, details."""
    ours = report.results[0]
    repositories = sorted({s.repository for s in ours.scores})
    lines = [
        (
            f"{len(ours.scores)} sessions of {len(repositories)} repositories"
            f" · labels {report.labels} · recordings {report.recordings}"
            f" · leftoff {report.leftoff}, rules {report.rules}"
        ),
    ]
    lines += [f"left out: {what}" for what in report.left_out]
    lines += ["", training_note(report)]
    for part in report.apart[:1]:
        lines += ["", part.system, *_figures(part)]
    lines += ["", *_figures(ours, trained=bool(report.trained))]
    for part in report.apart[1:]:
        lines += ["", part.system, *_figures(part, trained=True)]
    for other in report.results[1:]:
        lines += ["", f"baseline: {other.system}", *_baseline(other)]
    lines += ["", *_milestones(ours), "", *_reliability(ours)]
    for name, title in (("types", "types of decisions"), ("stages", "stages by turn")):
        lines += ["", *matrix(confusion(ours.scores, name), title)]
    return "\n".join(lines).rstrip() + "\n"


def training_note(report: Report) -> str:
    """One sentence on which sessions our decision weights were trained on."""
    trained, count = len(report.trained), len(report.results[0].scores)
    if not trained:
        return "the decision weights were trained on none of these sessions"
    these = "all of these" if trained == count else f"{trained} of these {count}"
    return (
        f"* the decision weights were trained on {these} sessions: figures on key decisions "
        "and confidence that include them are training figures"
    )


_TRAINED_FIGURES = ("key decisions", "types of the decisions", "confidence")
"""Prefixes of the titles of figures that depend on the decision weights."""


def _figures(result: Result, *, trained: bool = False) -> list[str]:
    """The rows of a result; `trained` marks the figures that depend on the decision weights."""
    lines = [f"{'':44}{'value':>7}  {'95 % interval':15}{'sessions':>9}{'items':>7}"]
    for figure in FIGURES:
        found = result.figures.get(figure.name)
        if found is not None:
            mark = " *" if trained and figure.title.startswith(_TRAINED_FIGURES) else ""
            lines.append(
                f"{figure.title + mark:44}{_number(found.value):>7}  {interval_text(found):15}"
                f"{found.sessions:>9}{found.items:>7}"
            )
    return lines


def interval_text(found: Measured) -> str:
    """Both bounds in brackets, or a dash without an interval."""
    if found.low is None or found.high is None:
        return "-"
    return f"[{found.low:.3f}, {found.high:.3f}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _baseline(result: Result) -> list[str]:
    lines: list[str] = []
    for name, found in result.figures.items():
        line = (
            f"  {figure_named(name).title:42}{_number(found.value):>7}"
            f"  {interval_text(found):15}"
            f"{found.sessions:>9}{found.items:>7}"
        )
        against = result.ours_minus_this.get(name)
        if against is not None:
            line += f"   ours {against.value:+.3f}"
            if against.interval is not None:
                line += f" [{against.interval.low:+.3f}, {against.interval.high:+.3f}]"
            line += f" p={against.p:.4f}"
        lines.append(line)
    return lines


def _milestones(result: Result) -> list[str]:
    lines = ["milestones by kind         right wrong missed  precision recall     F1"]
    lines += counts_rows(sum_by_name(s.milestone_kinds for s in result.scores))
    lines.append("milestones by evidence     right wrong         precision")
    for name, counts in sum_by_name(s.milestone_evidence for s in result.scores).items():
        lines.append(
            f"  {name:24}{counts.right:>6}{counts.wrong:>6}"
            f"{'':>7}{_number(counts.precision):>11}"
        )
    lines.append("directives by kind         right wrong missed  precision recall     F1")
    return lines + counts_rows(sum_by_name(s.directive_kinds for s in result.scores))


def sum_by_name(tables: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """The sum of tables of counts by name, sorted by name."""
    gathered: dict[str, list[Counts]] = {}
    for one in tables:
        for name, counts in one.items():
            gathered.setdefault(name, []).append(counts)
    return {name: total(gathered[name]) for name in sorted(gathered)}


def counts_rows(named: Mapping[str, Counts]) -> list[str]:
    """Right, wrong, missed, precision, recall and F1 by name."""
    return [
        f"  {name:24}{c.right:>6}{c.wrong:>6}{c.missed:>7}{_number(c.precision):>11}"
        f"{_number(c.recall):>7}{_number(c.f1):>7}"
        for name, c in named.items()
    ]


def _reliability(result: Result) -> list[str]:
    lines = ["reliability (messages)     count  confidence  right"]
    lines += [
        f"  {b.low:.3f} to {b.high:.3f}{b.count:>15}{b.confidence:>12.3f}{b.right:>7.3f}"
        for b in reliability(calibration_points(result.scores))
    ]
    return lines


def matrix(found: Mapping[tuple[str, str], int], title: str) -> list[str]:
    """A confusion matrix as lines of text: labels are rows, predictions are columns."""
    names = [*sorted({name for pair in found for name in pair} - {NO_LABEL}), NO_LABEL]
    lines = [f"{title} (labelled down, said across)"]
    lines.append(f"  {'':16}" + "".join(f"{n[:14]:>15}" for n in names))
    for row in names:
        cells = "".join(f"{found.get((row, column), 0):>15}" for column in names)
        lines.append(f"  {row:16}{cells}")
    return lines
