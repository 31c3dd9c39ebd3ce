"""SVG charts of any width: x in percent, y in pixels, so that no text is scaled.

The page repeats each chart in words, so a chart is a single image to a screen reader."""

from collections.abc import Sequence

from leftoff.budget.thresholds import Preset
from leftoff.budget.usage import Filling
from leftoff.rendering.html.engine import render_template
from leftoff.rendering.messages import abbreviated
from leftoff.summary import StageChange

# Pixels of the occupancy curve, without the axis labels below it. Chosen by hand.
HEIGHT = 190
# Ranges of messages into which the curve is downsampled; the peak of each is preserved. Chosen
# by hand.
MAX_COLUMNS = 320
# A stage, its first message (from 0) and the end, exclusive.
StageRun = tuple[str, int, int]


def stage_runs(timeline: Sequence[StageChange], count: int) -> list[StageRun]:
    """The stages of a session of `count` messages, without gaps from the first one on."""
    starts = [change.ref.message for change in timeline]
    ends = [*starts[1:], count] if starts else []
    runs = zip(timeline, starts, ends, strict=True)
    return [(change.stage, start, end) for change, start, end in runs if end > start]


def stage_strip(stages: Sequence[StageRun], count: int) -> str:
    """A horizontal bar of the stages, each as wide as its share of the messages."""
    bars = [(s, a, b, _percent(a, count), _percent(b - a, count)) for s, a, b in stages]
    return render_template("strip.html", bars=bars, count=count)


def occupancy_curve(
    points: Sequence[Filling], count: int, usable: int | None, preset: Preset
) -> str:
    """The occupancy of the window over `count` messages, with compactions and the thresholds of
    a preset, if the usable window is known."""
    peak = max(point.tokens for point in points)
    top = max(peak, usable or 0) * 1.04 or 1.0
    # Without a window there is nothing that thresholds could be shares of.
    levels = [(usable, "usable window")] if usable else [(peak, "most")]
    if usable:
        levels += [(round(t.at * usable), f"{t.at:.0%}") for t in preset.thresholds]
    lines: list[tuple[float, str]] = []
    last_label_y = -100.0
    for tokens, name in sorted(levels, reverse=True):
        y = HEIGHT * (1 - tokens / top)
        label = ""
        if y - last_label_y >= 13:  # a label that would overlap is only in the words below
            last_label_y = y
            label = f"{name} · {abbreviated(tokens)}"
        lines.append((y, label))
    emptied = [(_percent(p.message, count), p.message) for p in points if p.emptied]
    fills, strokes = _svg_paths(_downsampled(points, count), count, top)
    return render_template(
        "curve.html",
        height=HEIGHT,
        count=count,
        peak=peak,
        lines=lines,
        emptied=emptied,
        fills=fills,
        strokes=strokes,
    )


def _percent(part: float, whole: int) -> float:
    return 100 * part / max(1, whole)


def _downsampled(points: Sequence[Filling], count: int) -> list[Filling]:
    """The first point, the peak and the last point of each range; every compaction."""
    columns: list[list[Filling]] = []
    last = -1
    for point in points:
        column = point.message * MAX_COLUMNS // max(1, count)
        if not columns or point.emptied or column != last:
            columns.append([])
        columns[-1].append(point)
        last = column
    sampled: list[Filling] = []
    for several in columns:
        peak = max(several, key=lambda p: p.tokens)
        chosen = {id(p) for p in (several[0], peak, several[-1])}
        sampled += [p for p in several if id(p) in chosen]
    return sampled


def _svg_paths(points: Sequence[Filling], count: int, top: float) -> tuple[str, str]:
    """SVG path data of the filled area and of its upper edge; a compaction starts a new one."""
    fills, strokes = [], []
    curves: list[list[Filling]] = []
    for point in points:
        if point.emptied or not curves:
            curves.append([])
        curves[-1].append(point)
    width = max(1, count)
    for several in curves:
        coordinates = [(1000 * p.message / width, 100 * (1 - p.tokens / top)) for p in several]
        if len(coordinates) == 1:  # one call: drawn wide enough to be seen
            coordinates.append((coordinates[0][0] + 3, coordinates[0][1]))
        edge = " L".join(f"{x:.1f} {y:.1f}" for x, y in coordinates)
        strokes.append(f"M{edge}")
        fills.append(f"M{coordinates[0][0]:.1f} 100 L{edge} L{coordinates[-1][0]:.1f} 100Z")
    return "".join(fills), "".join(strokes)
