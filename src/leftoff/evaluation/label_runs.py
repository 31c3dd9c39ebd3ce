"""`leftoff eval labels`: from label files to a run, and what became worse since another run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from leftoff._version import __version__
from leftoff.errors import UsageError
from leftoff.evaluation import systems
from leftoff.evaluation.intervals import RESAMPLES, SWAPS, Difference, bootstrap, paired
from leftoff.evaluation.labels import Labels, digest, fingerprint, load
from leftoff.evaluation.matching import Counts, total
from leftoff.evaluation.metrics import (
    FIGURES,
    NO_LABEL,
    PAIRED,
    SessionScore,
    calibration_points,
    confusion,
    reliability,
    score,
)
from leftoff.evaluation.report import Block, Bounds, Run, Table, bounds, cell, rounded, span
from leftoff.evaluation.sessions import LabelledSession, Predictions
from leftoff.extraction.rule_sets import rules_digest


class Measured(Struct, frozen=True):
    """A figure with its 95 % interval and sample sizes; None if there was nothing to
    measure."""

    value: float | None
    low: float | None
    high: float | None
    sessions: int
    items: int

    @property
    def bounds(self) -> Bounds:
        """Both bounds, None without an interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class Result(Struct, frozen=True):
    """The figures of one system by name in `metrics.FIGURES`, without those that it does not
    predict; for our own system `scores` by session, for another the paired differences."""

    system: str
    figures: dict[str, Measured]
    scores: tuple[SessionScore, ...]
    ours_minus_this: dict[str, Difference] = field(default_factory=dict)


class LabelRun(Run, frozen=True, kw_only=True, tag="leftoff.accuracy/1"):
    """The figures of one evaluation against labels."""

    rules: str
    # labels, recordings: hashes of the evaluated data.
    labels: str
    recordings: str
    results: tuple[Result, ...]  # our own first
    # Files of the sessions that our decision weights were trained on.
    trained: tuple[str, ...] = ()
    # Our figures over the other sessions, then over these, if there are both.
    apart: tuple[Result, ...] = ()

    def blocks(self) -> Iterator[Block]:
        """Figures with intervals, baselines, details."""
        ours = self.results[0]
        yield (
            f"{len(ours.scores)} sessions of {len({s.repository for s in ours.scores})}"
            f" repositories · labels {self.labels} · recordings {self.recordings}"
            f" · leftoff {self.leftoff}, rules {self.rules}"
        )
        yield from (f"left out: {what}" for what in self.left_out)
        yield from ("", training_note(self))
        for part in self.apart[:1]:
            yield from ("", part.system, figures_table(part))
        yield from ("", figures_table(ours, trained=bool(self.trained)))
        for part in self.apart[1:]:
            yield from ("", part.system, figures_table(part, trained=True))
        for other in self.results[1:]:
            yield from ("", f"baseline: {other.system}", figures_table(other))
        for name, title in COUNTED:
            yield from ("", counts_table(ours, name, title))
        yield from ("", reliability_table(ours))
        for name, title in MATRICES:
            yield from ("", title, matrix(confusion(ours.scores, name)))


def measure(
    system: str,
    scores: Sequence[SessionScore],
    ours: Sequence[SessionScore] | None = None,
    *,
    resamples: int = RESAMPLES,
    swaps: int = SWAPS,
) -> Result:
    """Computes every figure of one system with its interval, and for a baseline the paired
    differences to `ours`, our own scores on the same sessions."""
    figures: dict[str, Measured] = {}
    for name, figure in FIGURES.items():
        value = figure.of(scores)
        items = figure.items(scores)
        # A system that does not perform a task is not said to be bad at it.
        if value is None and not items:
            continue
        interval = bootstrap(scores, figure.of, resamples=resamples)
        low, high = bounds(interval, 6) or (None, None)
        sessions = sum(1 for s in scores if figure.items([s]))
        figures[name] = Measured(rounded(value, 6), low, high, sessions, items)
    if ours is None:
        return Result(system, figures, tuple(scores))
    differences: dict[str, Difference] = {}
    for name in PAIRED:
        found = paired(ours, scores, FIGURES[name].of, swaps=swaps, resamples=resamples)
        if found is not None and name in figures:
            differences[name] = found
    # The scores of a baseline can be recomputed; without them a run stays small.
    return Result(system, figures, (), differences)


def regressions(
    now: LabelRun, before: LabelRun, *, resamples: int = RESAMPLES
) -> tuple[list[str], list[str]]:
    """The regressions since an earlier run, and other differences, as sentences.

    A figure regressed if it lies on the bad side of the earlier run's interval, or if the
    interval of the paired difference over the common sessions lies wholly on that side. A
    session that was evaluated before and is missing now counts as a regression."""
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
    pairs = [new[file] for file in common], [old[file] for file in common]
    for name, figure in FIGURES.items():  # an older run may have others
        then, here = theirs.figures.get(name), ours.figures.get(name)
        if then is None or then.value is None:
            continue
        if here is None or here.value is None:
            worse.append(f"{figure.title}: was {then.value:.3f}, now nothing to measure")
            continue
        sign = 1 if figure.higher else -1
        if sign * (here.value - then.value) >= 0:
            continue
        change = f"{figure.title}: {then.value:.3f} -> {here.value:.3f}"
        bound = then.low if figure.higher else then.high
        found = paired(*pairs, figure.of, swaps=0, resamples=resamples)
        interval = None if found is None else found.interval
        if (bound is not None and sign * (here.value - bound) < 0) or (
            interval is not None and (interval.high < 0 if figure.higher else interval.low > 0)
        ):
            worse.append(change)
        else:
            notes.append(f"{change} (within chance)")
    return worse, notes


# -- the text


def training_note(report: LabelRun) -> str:
    """One sentence on which sessions our decision weights were trained on."""
    trained, count = len(report.trained), len(report.results[0].scores)
    if not trained:
        return "the decision weights were trained on none of these sessions"
    these = "all of these" if trained == count else f"{trained} of these {count}"
    return (
        f"* the decision weights were trained on {these} sessions: figures on key decisions "
        "and confidence that include them are training figures"
    )


# Prefixes of the titles of figures that depend on the decision weights.
_TRAINED_FIGURES = ("key decisions", "types of the decisions", "confidence")
# Counts by name of a session's scores, each with its title.
COUNTED = (
    ("milestone_kinds", "milestones by kind"),
    ("milestone_evidence", "milestones by evidence"),
    ("directive_kinds", "directives by kind"),
)

# Confusion matrices of a session's scores, each with its title.
MATRICES = (("types", "types of decisions"), ("stages", "stages by turn"))


def figures_table(result: Result, *, trained: bool = False) -> Table:
    """The figures of a result; `trained` marks those that depend on the decision weights."""
    heads = ["", "value", "95 % interval", "sessions", "items"]
    if result.ours_minus_this:
        heads += ["ours minus it", "95 % interval", "p"]
    rows: list[list[str]] = []
    for name, found in result.figures.items():
        title = FIGURES[name].title
        mark = " *" if trained and title.startswith(_TRAINED_FIGURES) else ""
        row = [title + mark, cell(found.value), span(found.bounds)]
        row += [str(found.sessions), str(found.items)]
        other = result.ours_minus_this.get(name)
        if other is not None:
            row += [cell(other.value, "+.3f"), span(bounds(other.interval, 6), "+.3f")]
            row.append(cell(other.p, ".4f"))
        rows.append(row + [""] * (len(heads) - len(row)))
    return Table(heads, rows)


def counts_table(result: Result, name: str, title: str) -> Table:
    """Right, wrong, missed, precision, recall and F1 by name."""
    gathered: dict[str, list[Counts]] = {}
    for session in result.scores:
        for kind, counts in getattr(session, name).items():
            gathered.setdefault(kind, []).append(counts)
    rows = []
    for kind in sorted(gathered):
        c = total(gathered[kind])
        shares = map(cell, (c.precision, c.recall, c.f1))
        rows.append((f"  {kind}", *map(str, (c.right, c.wrong, c.missed)), *shares))
    return Table((title, "right", "wrong", "missed", "precision", "recall", "F1"), rows)


def reliability_table(result: Result) -> Table:
    """Confidence and the share that is right, in bins of a calibration."""
    rows = [
        (f"  {b.low:.3f} to {b.high:.3f}", str(b.count), cell(b.confidence), cell(b.right))
        for b in reliability(calibration_points(result.scores))
    ]
    return Table(("reliability (messages)", "count", "confidence", "right"), rows)


def matrix(found: Mapping[tuple[str, str], int]) -> Table:
    """A confusion matrix: labels are rows, predictions are columns."""
    names = [*sorted({name for pair in found for name in pair} - {NO_LABEL}), NO_LABEL]
    rows = [(f"  {row}", *(str(found.get((row, n), 0)) for n in names)) for row in names]
    return Table(("  labelled down, said across", *names), rows)


# -- the evaluation

# Predicts for a session: our engine, a baseline, an experiment.
Predictor: TypeAlias = Callable[[LabelledSession], Predictions]


class Evaluation(Struct, frozen=True):
    """A report with what it was computed from; `problems`: labels with a wrong place or quote,
    as sentences."""

    report: LabelRun
    sessions: tuple[LabelledSession, ...]
    predictions: tuple[Predictions, ...]
    problems: tuple[str, ...]


def select_labels(
    path: str, *, only: Sequence[str] = (), held_out: str = "", reporting: bool = False
) -> tuple[Labels, ...]:
    """Loads the labels of a directory, of the repositories in `only` if any are named, without
    those of the held-out repository; with `reporting`, that repository and nothing else."""
    return tuple(
        label
        for label in load(path)
        if (label.repository == held_out) == reporting
        and (not only or label.repository in only)
    )


def evaluate_labels(
    labels: Sequence[Labels],
    directory: str,
    *,
    others: Mapping[str, Predictor] = MappingProxyType({}),
    predict: Predictor | None = None,
    progress: Callable[[str], None] | None = None,
    resamples: int = RESAMPLES,
    swaps: int = SWAPS,
) -> Evaluation:
    """Summarizes labelled recordings and scores the summaries. `UsageError` where none of the
    recordings could be read.

    Args:
        directory: where the recordings are.
        others: further systems to score, by name (`baselines.RULES`).
        predict: scored as ours in place of our summaries."""
    sessions, left_out = systems.sessions(labels, directory)
    if not sessions:
        raise UsageError("no labelled recording could be read: " + "; ".join(left_out[:3]))
    predictions: list[Predictions] = []
    for session in sessions:
        if progress is not None:
            progress(session.labels.file)
        predictions.append((predict or systems.leftoff)(session))
    ours = [score(s, p) for s, p in zip(sessions, predictions, strict=True)]
    results: list[Result] = [measure("leftoff", ours, resamples=resamples)]
    trained = _trained(sessions) if predict is None else frozenset[str]()
    for name, system in others.items():
        scores = [score(s, system(s)) for s in sessions]
        results.append(measure(name, scores, ours, resamples=resamples, swaps=swaps))
    problems: list[str] = []
    for session in sessions:
        moved = sum(move.to is not None for move in session.moves)
        if moved:
            what = f"{moved} labels moved to where their quotes stand now"
            problems.append(f"{session.labels.file}: {what}")
        problems += session.problems
    paths = dict(sorted((s.labels.file, s.path) for s in sessions))
    report = LabelRun(
        leftoff=__version__,
        rules=rules_digest(),
        labels=digest(s.labels for s in sessions),
        recordings=fingerprint(*paths.values(), names=paths),
        left_out=tuple(left_out),
        results=tuple(results),
        trained=tuple(sorted(trained)),
        apart=_apart(ours, trained, resamples),
    )
    return Evaluation(report, tuple(sessions), tuple(predictions), tuple(problems))


def _trained(sessions: Sequence[LabelledSession]) -> frozenset[str]:
    from leftoff.extraction.decision_model import MODEL

    known = frozenset(MODEL.learnt_from)
    return frozenset(s.labels.file for s in sessions if fingerprint(s.path) in known)


def _apart(
    ours: Sequence[SessionScore], trained: frozenset[str], resamples: int
) -> tuple[Result, ...]:
    """Our figures over sessions not trained on and over those trained on; () unless there are
    both. Their scores by session are left out; the whole result has them."""
    if not trained or len(trained) == len(ours):
        return ()
    found: list[Result] = []
    for name, wanted in (("not trained on", False), ("trained on", True)):
        part = [score for score in ours if (score.file in trained) == wanted]
        result = measure(f"leftoff, {name} ({len(part)})", part, resamples=resamples)
        found.append(replace(result, scores=()))
    return tuple(found)
