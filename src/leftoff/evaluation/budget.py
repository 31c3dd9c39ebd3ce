"""How right the ledger is: spend against a naive sum, occupancy and forecast against the
compactions that recorders wrote down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff import api, codec
from leftoff._version import __version__
from leftoff.budget.forecast import FEWEST, forecast
from leftoff.budget.usage import Filling, context, curve, spend, total
from leftoff.errors import InputError, UsageError
from leftoff.evaluation.intervals import bootstrap
from leftoff.extraction.evidence import Compacted
from leftoff.extraction.evidence_log import EvidenceLog
from leftoff.session_view import Story
from leftoff.sources.open import STDIN, lines_of, parts_of

SCHEMA = "leftoff.eval.budget/1"

SHARES = (0.5, 0.75)
"""After which share of the calls before a compaction the forecast is asked."""

ENDINGS = (".jsonl", ".json", ".gz", ".zst", ".md", ".traj", ".eval")


class Forecasted(Struct, frozen=True):
    """Forecast errors of one stretch of calls that ended in a compaction, as shares.

    Attributes:
        share: of the calls after which the forecast was made.
        calls_left: |predicted - real calls left| / real calls left.
        end: |predicted - real call of the compaction| / real call of the compaction.
        tokens_left: |predicted - real tokens left| / what the window held at the compaction.
    """

    share: float
    calls_left: float
    end: float
    tokens_left: float


class Measured(Struct, frozen=True):
    """What was found out about one recording.

    Attributes:
        digest: 16 hex digits of its bytes, unpacked.
        spent: tokens over distinct API calls; `naive` adds every record's usage.
        occupancy: errors of our figure against the recorder's own, as shares.
    """

    name: str
    format: str
    digest: str
    spent: int
    naive: int
    occupancy: tuple[float, ...]
    forecasts: tuple[Forecasted, ...]


def evaluate_budget(
    paths: Iterable[str], *, progress: Callable[[str], None] | None = None
) -> list[Measured]:
    """Measures recordings, or all in directories.

    A stretch of calls that another recording repeats (a resumed session holds its
    predecessor's records) counts once.

    Raises:
        UsageError: none of the recordings could be read.
    """
    found: list[Measured] = []
    seen: set[tuple[int, ...]] = set()
    for path in recordings(paths):
        if progress is not None:
            progress(Path(path).name)
        try:
            found.append(measure(path, seen))
        except InputError:
            continue
    if not found:
        raise UsageError("none of these could be read as a recording")
    return found


def recordings(paths: Iterable[str]) -> list[str]:
    """The files meant: those named, and all recordings below the directories named."""
    found: list[str] = []
    for path in paths:
        place = Path(path)
        if place.is_dir():
            inside = sorted(p for p in place.rglob("*") if p.is_file())
            found += [str(p) for p in inside if p.name.endswith(ENDINGS)]
        else:
            found.append(path)
    return found


def measure(path: str, seen: set[tuple[int, ...]]) -> Measured:
    """One recording: spend of all sessions in it, the rest of the last."""
    main, _ = parts_of(path)
    reading = api.open_pass(main)
    story = Story(reading.sessions[-1][""])
    name = reading.format.name if reading.format else ""
    forecasts: list[Forecasted] = []
    for counts, end in stretches(story):
        key = (len(counts), *counts[:8])
        if key not in seen:
            seen.add(key)
            forecasts += _forecasts(story, name, counts, end)
    return Measured(
        name=Path(path).name,
        format=name,
        digest=_digest(main),
        spent=total(
            usage
            for session in reading.sessions
            for usage in spend(Story(session[""])).values()
        ).total,
        naive=_naive(main),
        occupancy=tuple(
            abs(c.occupancy - c.recorded) / c.recorded
            for c in story.all(Compacted)
            if c.occupancy and c.recorded
        ),
        forecasts=tuple(forecasts),
    )


def _digest(path: str) -> str:
    state = blake2b(digest_size=8)
    if path != STDIN:
        with lines_of(path) as lines:
            for line in lines:
                state.update(line)
    return state.hexdigest()


def _naive(path: str) -> int:
    """The sum over every record of the main thread that tells a usage."""
    return sum(m.usage.total for m in api.read(path) if m.usage is not None and not m.agent)


def stretches(story: Story) -> list[tuple[list[int], int]]:
    """Tokens at each call before an automatic compaction, and what the window then held."""
    found: list[tuple[list[int], int]] = []
    points = curve(story)
    ends = story.all(Compacted)
    start = 0
    for number, end in enumerate(ends):
        stop = _next_emptied(points, start, last=number == len(ends) - 1)
        counts = [p.tokens for p in points[start:stop]]
        size = end.recorded or end.occupancy
        if end.trigger != "manual" and end.occupancy and size and len(counts) >= 2 * FEWEST:
            found.append((counts, size))
        start = stop
    return found


def _next_emptied(points: Sequence[Filling], start: int, *, last: bool) -> int:
    for i in range(start + 1 if start else start, len(points)):
        if points[i].emptied:
            return i
    return len(points)


def _forecasts(story: Story, format: str, counts: list[int], end: int) -> list[Forecasted]:
    # Told as at that time: the window as the tables have it, not as this compaction taught.
    usable = _usable_before(story, format)
    found: list[Forecasted] = []
    for share in SHARES:
        k = max(FEWEST, int(len(counts) * share))
        left = len(counts) - k
        said = forecast(counts[:k], usable)
        if said is None or left < 1:
            continue
        error = abs(said.calls_left - left)
        tokens = abs(said.tokens_left - max(0, end - counts[k - 1]))
        found.append(Forecasted(share, error / left, error / len(counts), tokens / end))
    return found


def _usable_before(story: Story, format: str) -> int | None:
    """The usable window as it is known without the session's own compactions."""
    recording = story.recording
    kept = recording.evidence
    recording.evidence = EvidenceLog(e for e in kept if not isinstance(e, Compacted))
    try:
        return context(Story(recording, story.source), {}, format).usable_window
    finally:
        recording.evidence = kept


# -- the report ------------------------------------------------------------------------------


def report(measured: Sequence[Measured], *, resamples: int = 2000) -> dict[str, Any]:
    """The figures: medians and 95th percentiles with intervals over recordings."""

    def figures(get: Callable[[Measured], Iterable[float]]) -> dict[str, Any]:
        having = [m for m in measured if tuple(get(m))]
        values = sorted(v for m in having for v in get(m))

        def middle(some: Sequence[Measured]) -> float | None:
            return quantile(sorted(v for m in some for v in get(m)), 0.5)

        interval = bootstrap(having, middle, resamples=resamples)
        return {
            "count": len(values),
            "recordings": len(having),
            "median": _rounded(quantile(values, 0.5)),
            "interval": [_rounded(interval.low), _rounded(interval.high)] if interval else None,
            "p95": _rounded(quantile(values, 0.95)),
        }

    def of(share: float, name: str) -> Callable[[Measured], Iterable[float]]:
        return lambda m: [getattr(f, name) for f in m.forecasts if f.share == share]

    spending = [m for m in measured if m.spent]
    return {
        "schema": SCHEMA,
        "leftoff": __version__,
        "recordings": len(measured),
        "corpus": _corpus(measured),
        "spend": {
            "recordings": len(spending),
            "distinct": sum(m.spent for m in spending),
            "naive": sum(m.naive for m in spending if m.naive),
            "by_format": {
                name: {
                    "recordings": len(some),
                    "distinct": sum(m.spent for m in some),
                    "naive": sum(m.naive for m in some),
                }
                for name in sorted({m.format for m in spending})
                if (some := [m for m in spending if m.format == name])
            },
        },
        "occupancy": figures(lambda m: m.occupancy),
        "forecast": {
            f"{share:.0%}": {
                name: figures(of(share, name)) for name in ("calls_left", "end", "tokens_left")
            }
            for share in SHARES
        },
        "by_recording": [
            {"name": m.name, "distinct": m.spent, "naive": m.naive} for m in spending
        ],
    }


def _corpus(measured: Sequence[Measured]) -> str:
    """16 hex digits of all recordings together."""
    lines = sorted(f"{m.name} {m.digest}\n" for m in measured)
    return blake2b("".join(lines).encode(errors="replace"), digest_size=8).hexdigest()


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """A quantile of sorted values, between two of them in proportion; None of none."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    under = int(place)
    over = min(len(ordered) - 1, under + 1)
    return ordered[under] + (ordered[over] - ordered[under]) * (place - under)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def to_run(value: dict[str, Any], *, date: str = "", machine: str = "") -> bytes:
    """A report as a run to keep: numbers and file names, no text."""
    return codec.dumps({**value, "date": date, "machine": machine}, indent=2)


def table(value: dict[str, Any]) -> str:
    """A report as text."""
    lines = ["spend: distinct API calls against the sum of every record", ""]
    rows = [(n, v) for n, v in value["spend"]["by_format"].items()]
    for name, some in rows:
        naive = some["naive"]
        more = f"{naive / some['distinct']:.2f}x" if naive else "running totals"
        lines.append(
            f"  {name:<16} {some['recordings']:>4} recordings  {some['distinct']:>15,}  "
            f"naive {naive:>15,}  {more}"
        )
    lines += ["", "errors                      median   95 % interval       p95      n"]
    lines.append(_line("occupancy", value["occupancy"]))
    words = {
        "calls_left": "calls left",
        "end": "call of the compaction",
        "tokens_left": "tokens left",
    }
    for share, figures in value["forecast"].items():
        lines.append(f"forecast after {share} of the calls")
        lines += [_line("  " + words[name], figures[name]) for name in words]
    return "\n".join(lines) + "\n"


def _line(name: str, figures: dict[str, Any]) -> str:
    if figures["median"] is None:
        return f"{name:<26} none"
    low, high = figures["interval"] or (None, None)
    span = f"{low:.2%} to {high:.2%}" if low is not None else "one recording"
    return (
        f"{name:<26} {figures['median']:>7.2%}   {span:<18} {figures['p95']:>7.2%}  "
        f"{figures['count']:>4}"
    )
