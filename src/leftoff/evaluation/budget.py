"""Accuracy of the token account: spend against a naive sum, occupancy and forecast against
recorded compactions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from leftoff import api
from leftoff._version import __version__
from leftoff.budget.forecast import MIN_CALLS, forecast
from leftoff.budget.usage import context, curve, spend, total
from leftoff.errors import UsageError
from leftoff.evaluation import report
from leftoff.evaluation.intervals import RESAMPLES, bootstrap, quantile
from leftoff.evaluation.labels import fingerprint
from leftoff.evaluation.recordings import readings
from leftoff.extraction.evidence import Compacted
from leftoff.extraction.evidence_log import EvidenceLog
from leftoff.session_view import SessionView
from leftoff.sources.open import STDIN, session_paths

# The forecast is made after these shares of the calls before a compaction. Chosen by hand.
FORECAST_SHARES = (0.5, 0.75)


class ForecastError(Struct, frozen=True):
    """Relative forecast errors for one series of calls that ended in a compaction."""

    share: float  # share of the calls after which the forecast was made
    calls_left: float  # |predicted - real calls left| / real calls left
    end: float  # |predicted - real call of the compaction| / real call of the compaction
    # |predicted - real tokens left| / what the window held at the compaction.
    tokens_left: float


class RecordingMeasure(Struct, frozen=True):
    """The measurements of one recording."""

    name: str
    format: str
    digest: str  # 16 hex digits of the hash of its decompressed bytes
    spent: int  # tokens over distinct API calls; `naive` adds the usage of every record
    naive: int
    occupancy: tuple[float, ...]  # relative errors of our figure against the recorder's own
    forecasts: tuple[ForecastError, ...]


def evaluate_budget(
    paths: Iterable[str],
    *,
    progress: Callable[[str], None] | None = None,
    resamples: int = RESAMPLES,
) -> "BudgetRun":
    """Measures recordings and all recordings in directories. Calls that another recording
    repeats (a resumed session holds its predecessor's records) count once. `UsageError` where
    none of the recordings could be read."""
    left_out: list[str] = []
    seen: set[tuple[int, ...]] = set()
    measured = readings(paths, lambda path: measure(path, seen), left_out, progress)
    found = [one for _, one in measured]
    if not found:
        raise UsageError("none of these could be read as a recording")
    return replace(run_of(found, resamples=resamples), left_out=tuple(left_out))


def measure(path: str, seen: set[tuple[int, ...]]) -> RecordingMeasure:
    """Measures one recording: the spend of all its sessions, all else of the last session."""
    main, _ = session_paths(path)
    reading = api.open_pass(main)
    view = SessionView(reading.sessions[-1][""])
    name = reading.format.name if reading.format else ""
    # As known before the compactions: the window from the tables, not from a compaction.
    usable = _usable_before(view, name)
    forecasts: list[ForecastError] = []
    for counts, end in calls_before_compactions(view):
        key = (len(counts), *counts[:8])
        if key not in seen:
            seen.add(key)
            forecasts += _forecasts(usable, counts, end)
    return RecordingMeasure(
        name=Path(path).name,
        format=name,
        digest="" if main == STDIN else fingerprint(main),
        spent=total(
            usage
            for session in reading.sessions
            for usage in spend(SessionView(session[""])).values()
        ).total,
        # The naive sum: every record of the main thread that has a usage.
        naive=sum(m.usage.total for m in api.read(main) if m.usage and not m.agent),
        occupancy=tuple(
            abs(c.occupancy - c.recorded) / c.recorded
            for c in view.all(Compacted)
            if c.occupancy and c.recorded
        ),
        forecasts=tuple(forecasts),
    )


def calls_before_compactions(view: SessionView) -> list[tuple[list[int], int]]:
    """For each automatic compaction: the tokens at each call before it, and its occupancy."""
    found: list[tuple[list[int], int]] = []
    points = curve(view)
    start = 0
    for end in view.all(Compacted):
        # Up to the next call whose window had been emptied.
        after = range(start + 1 if start else start, len(points))
        stop = next((i for i in after if points[i].emptied), len(points))
        counts = [p.tokens for p in points[start:stop]]
        size = end.recorded or end.occupancy
        if end.trigger != "manual" and end.occupancy and size and len(counts) >= 2 * MIN_CALLS:
            found.append((counts, size))
        start = stop
    return found


def _forecasts(usable: int | None, counts: list[int], end: int) -> Iterator[ForecastError]:
    for share in FORECAST_SHARES:
        k = max(MIN_CALLS, int(len(counts) * share))
        left = len(counts) - k
        predicted = forecast(counts[:k], usable)
        if predicted is not None and left > 0:
            error = abs(predicted.calls_left - left)
            tokens = abs(predicted.tokens_left - max(0, end - counts[k - 1]))
            yield ForecastError(share, error / left, error / len(counts), tokens / end)


def _usable_before(view: SessionView, format: str) -> int | None:
    """The usable window as it is known without the session's own compactions."""
    without = copy(view.state)
    without.evidence = EvidenceLog(e for e in without.evidence if not isinstance(e, Compacted))
    return context(SessionView(without, view.source), {}, format).usable_window


# -- the run -----------------------------------------------------------------------------------


class Spend(Struct, frozen=True):
    """Tokens over distinct API calls, and the sum over every record, of some recordings."""

    recordings: int
    distinct: int
    naive: int


class SpendByFormat(Spend, frozen=True):
    """The same of all recordings, and by format."""

    by_format: dict[str, Spend]


class Errors(Struct, frozen=True):
    """Relative errors: median with a 95 % interval over recordings, and 95th percentile."""

    count: int
    recordings: int
    median: float | None
    interval: report.Bounds
    p95: float | None


# The figures of a forecast, each with its title.
_FORECASTS = {
    "calls_left": "calls left",
    "end": "call of the compaction",
    "tokens_left": "tokens left",
}


class RecordingSpend(Struct, frozen=True):
    """The spend of one recording."""

    name: str
    distinct: int
    naive: int


class BudgetRun(report.Run, frozen=True, kw_only=True, tag="leftoff.eval.budget/1"):
    """The result of one evaluation; `corpus`: hash over all recordings."""

    recordings: int
    corpus: str
    spend: SpendByFormat
    occupancy: Errors
    forecast: dict[str, dict[str, Errors]]  # by the share of the calls before, by figure
    by_recording: tuple[RecordingSpend, ...]

    def blocks(self) -> Iterator[report.Block]:
        """Spend by format, then the errors."""
        yield from ("spend: distinct API calls against the sum of every record", "")
        spent = []
        for name, some in self.spend.by_format.items():
            counts = (f"{n:,}" for n in (some.recordings, some.distinct, some.naive))
            ratio = f"{some.naive / some.distinct:.2f}x" if some.naive else "running totals"
            spent.append((f"  {name}", *counts, ratio))
        yield report.Table(("  format", "recordings", "distinct", "naive", ""), spent)
        rows = [_row("occupancy", self.occupancy)]
        for share, errors in self.forecast.items():
            rows.append((f"forecast after {share} of the calls", "", "", "", ""))
            rows += [_row(f"  {title}", errors[name]) for name, title in _FORECASTS.items()]
        yield from ("", report.Table(("errors", "median", "95 % interval", "p95", "n"), rows))
        yield from (f"left out: {why}" for why in self.left_out[: report.MAX_LISTED])


def _row(name: str, errors: Errors) -> tuple[str, ...]:
    return (
        name,
        report.cell(errors.median, ".2%"),
        report.span(errors.interval, ".2%"),
        report.cell(errors.p95, ".2%"),
        str(errors.count),
    )


def run_of(measured: Sequence[RecordingMeasure], *, resamples: int) -> BudgetRun:
    """The figures: medians and 95th percentiles with intervals over recordings."""

    def median(some: Sequence[Sequence[float]], share: float = 0.5) -> float | None:
        ordered = sorted(v for values in some for v in values)
        return quantile(ordered, share) if ordered else None

    def errors(by_recording: Iterable[Sequence[float]]) -> Errors:
        known = [values for values in by_recording if values]
        return Errors(
            sum(map(len, known)),
            len(known),
            report.rounded(median(known), 5),
            report.bounds(bootstrap(known, median, resamples=resamples), 5),
            report.rounded(median(known, 0.95), 5),
        )

    def of(share: float, name: str) -> Errors:
        made = ([f for f in m.forecasts if f.share == share] for m in measured)
        return errors([getattr(f, name) for f in forecasts] for forecasts in made)

    spending = [m for m in measured if m.spent]
    by_format = {
        name: _spend([m for m in spending if m.format == name])
        for name in sorted({m.format for m in spending})
    }
    whole = _spend(spending)
    lines = sorted(f"{m.name} {m.digest}\n" for m in measured)
    return BudgetRun(
        leftoff=__version__,
        recordings=len(measured),
        corpus=blake2b("".join(lines).encode(errors="replace"), digest_size=8).hexdigest(),
        spend=SpendByFormat(whole.recordings, whole.distinct, whole.naive, by_format),
        occupancy=errors(m.occupancy for m in measured),
        forecast={
            f"{share:.0%}": {name: of(share, name) for name in _FORECASTS}
            for share in FORECAST_SHARES
        },
        by_recording=tuple(RecordingSpend(m.name, m.spent, m.naive) for m in spending),
    )


def _spend(measured: Sequence[RecordingMeasure]) -> Spend:
    return Spend(len(measured), sum(m.spent for m in measured), sum(m.naive for m in measured))
