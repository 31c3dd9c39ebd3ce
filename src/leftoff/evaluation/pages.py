"""An evaluation as one self-contained HTML page: figures, curves, worst mistakes.

The page quotes recordings. It is redacted, written only on request, and must not be committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from leftoff.evaluation.metrics import (
    FIGURES,
    NO_LABEL,
    Bin,
    calibration_points,
    confusion,
    figure_named,
    reliability,
)
from leftoff.evaluation.mistakes import Mistake, confused_types, mistakes
from leftoff.evaluation.predictions import Predictions
from leftoff.evaluation.reports import Report, Result, interval_text, sum_by_name, training_note
from leftoff.evaluation.sessions import LabelledSession
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html.frame import html_document, redacted_html

_STYLE = """
body { max-width: 68rem }
td:not(:first-child), th:not(:first-child) { padding-left: .7rem }
.right, .wrong { --shade: 0% }
.right { background: color-mix(in srgb, var(--link) var(--shade), transparent) }
.wrong { background: color-mix(in srgb, var(--bad) var(--shade), transparent) }
""" + "".join(f".shade-{n} {{ --shade: {n * 6}% }}\n" for n in range(1, 11))


def page(
    report: Report, sessions: Sequence[LabelledSession], predictions: Sequence[Predictions]
) -> str:
    """Renders the page.

    Args:
        sessions, predictions: the data that our figures were computed from, in the same order.
    """
    ours = report.results[0]
    gate = Redactor()
    body = [
        "<h1>Accuracy against labels</h1>",
        (
            f"<p>{len(ours.scores)} sessions · labels {escape(report.labels)} · recordings "
            f"{escape(report.recordings)} · leftoff {escape(report.leftoff)}, rules "
            f"{escape(report.rules)}{_run_info(report)}</p>"
        ),
        *(
            f"<p class=quiet>left out: {redacted_html(what, gate)}</p>"
            for what in report.left_out
        ),
        f"<p class=quiet>{escape(training_note(report))}</p>",
        "<h2>Figures</h2>",
        _figures(ours),
    ]
    for part in report.apart:
        body += [f"<h2>{escape(part.system)}</h2>", _figures(part)]
    for other in report.results[1:]:
        body += [f"<h2>Baseline: {escape(other.system)}</h2>", _baseline_figures(other)]
    body.append("<h2>Is confidence what it says?</h2>")
    for name, title in (("calibration", "messages"), ("calibration_spans", "spans")):
        rows = reliability(calibration_points(ours.scores, name))
        body += [f"<h3>By {title}</h3>", _curve(rows), _bins(rows)]
    for name, title in (("types", "Types of decisions"), ("stages", "Stages by agent turn")):
        body += [f"<h2>{title}</h2>", _matrix(confusion(ours.scores, name))]
    body += ["<h2>Milestones by kind</h2>", _counts(ours, "milestone_kinds")]
    body += ["<h2>Milestones by evidence</h2>", _counts(ours, "milestone_evidence")]
    body += ["<h2>Directives by kind</h2>", _counts(ours, "directive_kinds")]
    for name, (misses, alarms) in mistakes(sessions, predictions).items():
        body += [f"<h2>{name.capitalize()}: worst misses</h2>", *_list(misses, "", gate)]
        body += [f"<h2>{name.capitalize()}: worst false alarms</h2>", *_list(alarms, "", gate)]
    body.append("<h2>Key decisions found with another type</h2>")
    for mistake, kind in confused_types(sessions, predictions):
        body += _list([mistake], f"said {kind}, labelled ", gate)
    return html_document("Accuracy against labels", "\n".join(body), style=_STYLE)


def _run_info(report: Report) -> str:
    return "".join(f" · {escape(w)}" for w in (report.date, report.machine) if w)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table><tr>{top}</tr>\n" + "\n".join(lines) + "</table>"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _figures(result: Result) -> str:
    rows = []
    for figure in FIGURES:
        found = result.figures.get(figure.name)
        if found is None:
            continue
        bar = ""
        if found.low is not None and found.high is not None and found.value is not None:
            low, high = (min(1.0, max(0.0, x)) * 160 for x in (found.low, found.high))
            at = min(1.0, max(0.0, found.value)) * 160
            bar = (
                '<svg width="160" height="12" role="img" aria-label="interval">'
                '<rect width="160" height="1" y="6" fill="currentColor" opacity=".2"/>'
                f'<rect x="{low:.1f}" width="{max(1.0, high - low):.1f}" y="4" height="5"'
                ' fill="var(--link)" opacity=".35"/>'
                f'<rect x="{at:.1f}" width="2" y="1" height="11" fill="var(--link)"/></svg>'
            )
        rows.append(
            (
                escape(figure.title),
                _number(found.value),
                escape(interval_text(found)),
                bar,
                str(found.sessions),
                str(found.items),
            )
        )
    return _table(("", "value", "95 % interval", "0 to 1", "sessions", "items"), rows)


def _baseline_figures(result: Result) -> str:
    rows = []
    for name, found in result.figures.items():
        other = result.ours_minus_this.get(name)
        between = other.interval if other else None
        rows.append(
            (
                escape(figure_named(name).title),
                _number(found.value),
                escape(interval_text(found)),
                f"{other.value:+.3f}" if other else "",
                f"[{between.low:+.3f}, {between.high:+.3f}]" if between else "",
                f"{other.p:.4f}" if other else "",
                str(found.sessions),
                str(found.items),
            )
        )
    head = ("", "value", "95 % interval", "ours minus it", "95 % interval", "p")
    return _table((*head, "sessions", "items"), rows)


def _curve(rows: Sequence[Bin]) -> str:
    """The calibration curve: x: confidence, y: share that is right, size of a point: count."""
    if not rows:
        return "<p class=quiet>Nothing was said.</p>"
    side = 260
    most = max(row.count for row in rows)

    def at(x: float, y: float) -> tuple[float, float]:
        return 30 + x * side, 10 + (1 - y) * side

    points = [at(row.confidence, row.right) for row in rows]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + 5 * row.count / most:.1f}" '
        f'fill="var(--link)"><title>{row.count} at {row.confidence:.3f}: {row.right:.3f} right'
        "</title></circle>"
        for (x, y), row in zip(points, rows, strict=True)
    ]
    ticks = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = at(tick, tick)
        ticks.append(f'<text x="{x - 8:.0f}" y="{side + 26}">{tick:g}</text>')
        ticks.append(f'<text x="0" y="{y + 4:.0f}">{tick:g}</text>')
    return (
        f'<svg width="{side + 50}" height="{side + 45}" role="img" '
        'aria-label="share that is right by confidence">'
        f'<rect x="30" y="10" width="{side}" height="{side}" fill="none" stroke="var(--line)"/>'
        f'<line x1="30" y1="{10 + side}" x2="{30 + side}" y2="10" stroke="var(--line)"/>'
        f'<polyline points="{path}" fill="none" stroke="var(--link)"/>'
        + "".join(marks + ticks)
        + f'<text x="{side // 2}" y="{side + 42}">confidence</text></svg>'
    )


def _bins(rows: Sequence[Bin]) -> str:
    return _table(
        ("confidence", "count", "mean", "right"),
        (
            (
                f"{row.low:.3f} to {row.high:.3f}",
                str(row.count),
                f"{row.confidence:.3f}",
                f"{row.right:.3f}",
            )
            for row in rows
        ),
    )


def _matrix(found: Mapping[tuple[str, str], int]) -> str:
    names = [*sorted({name for pair in found for name in pair} - {NO_LABEL}), NO_LABEL]
    most = max(found.values(), default=1)
    lines = ["<table><tr><th>labelled \\ said</th>"]
    lines += [f"<th>{escape(name)}</th>" for name in names]
    for row in names:
        lines.append(f"</tr>\n<tr><td>{escape(row)}</td>")
        for column in names:
            count = found.get((row, column), 0)
            kind = "right" if row == column else "wrong"
            shade = f" shade-{max(1, round(10 * count / most))}" if count else ""
            lines.append(f'<td class="{kind}{shade}">{count or ""}</td>')
    return "".join(lines) + "</tr></table>"


def _counts(result: Result, name: str) -> str:
    rows = (
        (
            escape(kind),
            str(c.right),
            str(c.wrong),
            str(c.missed),
            _number(c.precision),
            _number(c.recall),
            _number(c.f1),
        )
        for kind, c in sum_by_name(getattr(s, name) for s in result.scores).items()
    )
    return _table(("", "right", "wrong", "missed", "precision", "recall", "F1"), rows)


def _list(found: Sequence[Mistake], prefix: str, gate: Redactor) -> list[str]:
    if not found:
        return ["<p class=quiet>None.</p>"]
    blocks = []
    for mistake in found:
        context, words = (
            redacted_html(mistake.context, gate),
            redacted_html(mistake.words, gate),
        )
        marked = context.replace(words, f"<mark>{words}</mark>", 1) if words else context
        blocks.append(
            f"<details open><summary>{mistake.weight:g} {prefix}{escape(mistake.kind)} "
            f"<small>{escape(mistake.file)} at {mistake.place}</small></summary>"
            f"<blockquote>{marked}</blockquote></details>"
        )
    return blocks
