"""An evaluation as one self-contained HTML page: figures, curves, worst mistakes.

The page quotes recordings. It is redacted, written only on request, and must not be committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from html import escape

from msgspec import Struct

from leftoff.evaluation.label_runs import (
    COUNTED,
    MATRICES,
    LabelRun,
    Measured,
    Result,
    counts_table,
    figures_table,
    reliability_table,
    training_note,
)
from leftoff.evaluation.matching import match_spans
from leftoff.evaluation.metrics import (
    NO_LABEL,
    Bin,
    calibration_points,
    confusion,
    reliability,
)
from leftoff.evaluation.predictions import Prediction, Predictions
from leftoff.evaluation.report import Table
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
    report: LabelRun, sessions: Sequence[LabelledSession], predictions: Sequence[Predictions]
) -> str:
    """Renders the page; `sessions` and `predictions` are those that our figures were computed
    from, in the same order."""
    ours = report.results[0]
    gate = Redactor()
    body = [
        "<h1>Accuracy against labels</h1>",
        (
            f"<p>{len(ours.scores)} sessions · labels {escape(report.labels)} · recordings "
            f"{escape(report.recordings)} · leftoff {escape(report.leftoff)}, rules "
            f"{escape(report.rules)}"
            + "".join(f" · {escape(w)}" for w in (report.date, report.machine) if w)
            + "</p>"
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
        body += [f"<h2>Baseline: {escape(other.system)}</h2>", _table(figures_table(other))]
    body.append("<h2>Is confidence what it says?</h2>")
    for name, title in (("calibration", "messages"), ("calibration_spans", "spans")):
        rows = reliability(calibration_points(ours.scores, name))
        body += [f"<h3>By {title}</h3>", _curve(rows)]
        body.append(_table(reliability_table(ours, name, "confidence")))
    for name, title in MATRICES:
        body += [f"<h2>{title.capitalize()}</h2>", _matrix(confusion(ours.scores, name))]
    for name, title in COUNTED:
        body += [f"<h2>{title.capitalize()}</h2>", _table(counts_table(ours, name, ""))]
    for name, (misses, alarms) in mistakes(sessions, predictions).items():
        body += [f"<h2>{name.capitalize()}: worst misses</h2>", *_list(misses, "", gate)]
        body += [f"<h2>{name.capitalize()}: worst false alarms</h2>", *_list(alarms, "", gate)]
    body.append("<h2>Key decisions found with another type</h2>")
    for mistake, kind in confused_types(sessions, predictions):
        body += _list([mistake], f"said {kind}, labelled ", gate)
    return html_document("Accuracy against labels", "\n".join(body), style=_STYLE)


def _table(table: Table) -> str:
    top = "".join(f"<th>{escape(head.strip())}</th>" for head in table.heads)
    rows = ("".join(f"<td>{escape(cell.strip())}</td>" for cell in row) for row in table.rows)
    lines = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>\n{lines}</table>"


def _bar(found: Measured) -> str:
    """The value and its interval between 0 and 1."""
    if found.bounds is None or found.value is None:
        return ""
    low, high, at = (min(1.0, max(0.0, x)) * 160 for x in (*found.bounds, found.value))
    return (
        '<svg width="160" height="12" role="img" aria-label="interval">'
        '<rect width="160" height="1" y="6" fill="currentColor" opacity=".2"/>'
        f'<rect x="{low:.1f}" width="{max(1.0, high - low):.1f}" y="4" height="5"'
        ' fill="var(--link)" opacity=".35"/>'
        f'<rect x="{at:.1f}" width="2" y="1" height="11" fill="var(--link)"/></svg>'
    )


def _figures(result: Result) -> str:
    text = _table(figures_table(result)).replace("</th></tr>", "</th><th>0 to 1</th></tr>", 1)
    for found in result.figures.values():
        text = text.replace("</td></tr>", f"</td><td>{_bar(found)}</td>\0", 1)
    return text.replace("\0", "</tr>")


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


# -- the worst misses and false alarms, with the text around them ------------------------------

CONTEXT_CHARACTERS = 240
"""Code points of context on each side of the words. Chosen by hand."""


class Mistake(Struct, frozen=True):
    """A miss or a false alarm; `weight`: importance of a missed label, or confidence of a false
    alarm; `words`: the labelled quote, or the predicted text."""

    file: str
    place: int
    weight: float
    kind: str
    words: str
    context: str


def mistakes(
    sessions: Sequence[LabelledSession], predictions: Sequence[Predictions], limit: int = 40
) -> dict[str, tuple[tuple[Mistake, ...], tuple[Mistake, ...]]]:
    """Misses and false alarms at message level, by kind of label, worst first, `limit` of
    each."""
    found: dict[str, tuple[list[Mistake], list[Mistake]]] = {
        name: ([], []) for name in ("key decisions", "milestones", "directives", "open items")
    }
    for session, predicted in zip(sessions, predictions, strict=True):
        labels = session.labels
        repeats = {place for d in labels.decisions for place in d.also}
        agent, user = session.agent_places.keys(), session.user_places.keys()
        stated = [(d.line, d.quote, d.type, float(d.importance)) for d in labels.decisions]
        reached = [(m.line, m.quote, m.kind, 1.0) for m in labels.milestones]
        asked = [(d.line, d.quote, d.kind, 1.0) for d in labels.directives]
        left = [(o.line, o.quote, "", 1.0) for o in labels.open_items]
        visible = agent - repeats | {d.line for d in labels.decisions}
        for name, said, labelled, places in (
            ("key decisions", predicted.decisions, stated, visible),
            ("milestones", predicted.milestones, reached, agent | user),
            ("directives", predicted.directives, asked, user),
            ("open items", predicted.open_items, left, session.texts.keys()),
        ):
            with_kind = name == "milestones"
            _compare(found[name], session, said, labelled, places, with_kind=with_kind)
    return {name: (_worst(a, limit), _worst(b, limit)) for name, (a, b) in found.items()}


def _worst(found: list[Mistake], limit: int) -> tuple[Mistake, ...]:
    return tuple(sorted(found, key=lambda m: (-m.weight, m.file, m.place, m.words))[:limit])


def _compare(
    into: tuple[list[Mistake], list[Mistake]],
    session: LabelledSession,
    predicted: Sequence[Prediction] | None,
    labelled: Sequence[tuple[int, str, str, float]],
    places: AbstractSet[int],
    *,
    with_kind: bool = False,
) -> None:
    if predicted is None:
        return
    candidates = [c for c in predicted if c.place in places]
    predicted_keys = {(c.place, c.kind) if with_kind else c.place for c in candidates}
    labelled_keys = {(place, kind) if with_kind else place for place, _, kind, _ in labelled}
    misses, false_alarms = into
    for place, quote, kind, weight in labelled:
        if ((place, kind) if with_kind else place) not in predicted_keys:
            misses.append(_mistake(session, place, weight, kind, quote))
    false_alarms += [
        _mistake(session, c.place, c.confidence, c.kind, c.text)
        for c in candidates
        if ((c.place, c.kind) if with_kind else c.place) not in labelled_keys
    ]


def _mistake(
    session: LabelledSession, place: int, weight: float, kind: str, words: str
) -> Mistake:
    text = session.texts.get(place, "")
    start = max(text.find(words), 0)
    before = max(0, start - CONTEXT_CHARACTERS)
    after = min(len(text), start + len(words) + CONTEXT_CHARACTERS)
    context = f"{'… ' if before else ''}{text[before:after]}{' …' if after < len(text) else ''}"
    return Mistake(session.labels.file, place, weight, kind, words, context)


def confused_types(
    sessions: Sequence[LabelledSession], predictions: Sequence[Predictions], limit: int = 40
) -> tuple[tuple[Mistake, str], ...]:
    """Decisions that were found with another type than labelled, with the predicted type."""
    found: list[tuple[Mistake, str]] = []
    for session, predicted in zip(sessions, predictions, strict=True):
        candidates = predicted.decisions or ()
        labels = session.labels.decisions
        matched = match_spans(
            [(c.place, c.text) for c in candidates], [(d.line, d.quote) for d in labels]
        )
        for i, j in matched:
            label = labels[j]
            if candidates[i].kind != label.type:
                mistake = _mistake(
                    session, label.line, float(label.importance), label.type, label.quote
                )
                found.append((mistake, candidates[i].kind))
    found.sort(key=lambda pair: (-pair[0].weight, pair[0].file, pair[0].place))
    return tuple(found[:limit])
