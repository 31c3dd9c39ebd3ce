"""Drawings in SVG that fit every width: across in percent, up in pixels, no text scaled.

What a drawing shows is also told in words beside it, so it is one image to a screen reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from leftoff.budget.thresholds import Preset
from leftoff.budget.usage import Filling
from leftoff.handover.wording import number

HEIGHT = 190
"""Pixels of the context curve, without the line of numbers below it."""

COLUMNS = 320
"""Stretches of a session in which the curve's peaks are kept."""

Run = tuple[str, int, int]
"""A stage, its first message and the one after its last, from 0."""


def runs(timeline: Sequence[dict[str, Any]], count: int) -> list[Run]:
    """The stages of a session of `count` messages, one after the other, without gaps."""
    found: list[Run] = []
    if not timeline:
        return found
    starts = [change["ref"]["message"] for change in timeline]
    for change, start, end in zip(timeline, starts, [*starts[1:], count], strict=True):
        if found and found[-1][0] == change["stage"]:
            found[-1] = (found[-1][0], found[-1][1], end)
        elif end > start:
            found.append((change["stage"], start, end))
    return found


def strip(stages: Sequence[Run], count: int) -> str:
    """The stages side by side, each as wide as its share of the messages."""
    head = f"Stages from message 1 to {count}; in words below"
    drawn = [f'<svg class="strip" width="100%" height="30" role="img" aria-label="{head}">']
    for stage, start, end in stages:
        left, width = _percent(start, count), _percent(end - start, count)
        drawn.append(
            f'<rect class="stage {escape(stage)}" x="{left:.2f}%" width="{width:.2f}%" '
            f'height="30"><title>{escape(stage)}, #{start + 1} to #{end}</title></rect>'
        )
        if width >= 5:
            middle = left + width / 2
            drawn.append(
                f'<text class="letter" x="{middle:.2f}%" y="20">{escape(stage[:1].upper())}'
                "</text>"
            )
    return "".join([*drawn, "</svg>"])


def curve(points: Sequence[Filling], count: int, usable: int | None, preset: Preset) -> str:
    """How the window filled, with its compactions and the thresholds of a preset.

    Args:
        count: messages of the session: the width.
        usable: tokens of the usable window, where it is known.
    """
    peak = max(point.tokens for point in points)
    top = max(peak, usable or 0) * 1.04 or 1.0
    lines: list[str] = []
    levels = [(usable, "usable window")] if usable else [(peak, "most")]
    if usable:
        levels += [(round(t.at * usable), f"{t.at:.0%}") for t in preset.thresholds]
    last = -100.0
    for tokens, name in sorted(levels, reverse=True):
        y = HEIGHT * (1 - tokens / top)
        lines.append(f'<line class="level" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        if y - last >= 13:  # names that would cover each other are in the words below
            last = y
            words = f"{escape(name)} · {_short(tokens)}"
            lines.append(f'<text class="name" x="3" y="{y + 12:.1f}">{words}</text>')
    marks = []
    for point in points:
        if point.emptied:
            x = _percent(point.message, count)
            marks.append(
                f'<line class="emptied" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="{HEIGHT}">'
                f"<title>compaction before #{point.message + 1}</title></line>"
            )
    fills, strokes = _paths(_thinned(points, count), count, top)
    return (
        f'<svg class="curve" width="100%" height="{HEIGHT + 18}" role="img" '
        f'aria-label="Tokens in the context window from message 1 to {count}, '
        f'at most {number(peak)}; in words below">'
        f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 1000 100" '
        f'preserveAspectRatio="none"><path class="fill" d="{fills}"/>'
        f'<path class="stroke" d="{strokes}"/></svg>{"".join(lines)}{"".join(marks)}'
        f'<line class="ground" x1="0" x2="100%" y1="{HEIGHT}" y2="{HEIGHT}"/>'
        f'<text class="name" x="0" y="{HEIGHT + 14}">#1</text>'
        f'<text class="name last" x="100%" y="{HEIGHT + 14}">#{number(count)}</text></svg>'
    )


def _percent(part: float, whole: int) -> float:
    return 100 * part / max(1, whole)


def _thinned(points: Sequence[Filling], count: int) -> list[Filling]:
    """The peak and the end of each stretch; compactions stay where they are."""
    kept: list[Filling] = []
    stretch: list[Filling] = []
    for point in points:
        column = point.message * COLUMNS // max(1, count)
        if stretch and (
            point.emptied or column != stretch[0].message * COLUMNS // max(1, count)
        ):
            kept += _peak(stretch)
            stretch = []
        stretch.append(point)
    return kept + _peak(stretch)


def _peak(stretch: list[Filling]) -> list[Filling]:
    if len(stretch) < 3:
        return stretch
    most = max(stretch, key=lambda p: p.tokens)
    keep = {id(p): p for p in (stretch[0], most, stretch[-1])}
    return [p for p in stretch if id(p) in keep]


def _paths(points: Sequence[Filling], count: int, top: float) -> tuple[str, str]:
    """The surface and its edge; each compaction begins them anew."""
    fills, strokes = [], []
    fillings: list[list[Filling]] = []
    for point in points:
        if point.emptied or not fillings:
            fillings.append([])
        fillings[-1].append(point)
    for filling in fillings:
        places = [
            (1000 * p.message / max(1, count), 100 * (1 - p.tokens / top)) for p in filling
        ]
        if len(places) == 1:  # one call: as wide as can be seen
            places.append((places[0][0] + 3, places[0][1]))
        edge = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        strokes.append(f"M{edge}")
        fills.append(f"M{places[0][0]:.1f} 100 L{edge} L{places[-1][0]:.1f} 100Z")
    return "".join(fills), "".join(strokes)


def _short(tokens: int) -> str:
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.1f}M"
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)
