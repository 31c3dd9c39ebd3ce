"""An evaluation as one self-contained HTML page: figures, curves, worst mistakes.

The page quotes recordings. It is redacted, written only on request, and must not be committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from leftoff.evaluation.label_runs import (
    COUNTED,
    MATRICES,
    LabelRun,
    Result,
    counts_table,
    figures_table,
    reliability_table,
    training_note,
)
from leftoff.evaluation.matching import match_spans
from leftoff.evaluation.metrics import NO_LABEL, calibration_points, confusion, reliability
from leftoff.evaluation.sessions import LabelledSession, Predictions
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html.engine import html_document, render_template, template_text

_STYLE = template_text("labels.css")


def page(
    report: LabelRun, sessions: Sequence[LabelledSession], predictions: Sequence[Predictions]
) -> str:
    """Renders the page; `sessions` and `predictions` are those that our figures were computed
    from, in the same order."""
    ours, gate = report.results[0], Redactor()
    count = f"{len(ours.scores)} sessions"
    words = [count, f"labels {report.labels}", f"recordings {report.recordings}"]
    words += [f"leftoff {report.leftoff}, rules {report.rules}", report.date, report.machine]
    shown = [("Figures", ours), *((part.system, part) for part in report.apart)]
    shown += [(f"Baseline: {other.system}", other) for other in report.results[1:]]
    lists: list[tuple[str, list[tuple[Mistake, str]]]] = []
    for name, (misses, alarms) in mistakes(sessions, predictions).items():
        lists.append((f"{name.capitalize()}: worst misses", [(m, "") for m in misses]))
        lists.append((f"{name.capitalize()}: worst false alarms", [(m, "") for m in alarms]))
    confused = [*confused_types(sessions, predictions)]
    lists.append(("Key decisions found with another type", confused))
    body = render_template(
        "labels.html",
        head=[word for word in words if word],
        left_out=[gate.shown(what) for what in report.left_out],
        note=training_note(report),
        figures=[(title, figures_table(result), _bars(result)) for title, result in shown],
        curves=[
            (
                title,
                reliability(calibration_points(ours.scores, name)),
                reliability_table(ours, name, "confidence"),
            )
            for name, title in (("calibration", "messages"), ("calibration_spans", "spans"))
        ],
        matrices=[(title, _matrix(confusion(ours.scores, name))) for name, title in MATRICES],
        counts=[(title, counts_table(ours, name, "")) for name, title in COUNTED],
        mistakes=[
            (title, [(m, said, _marked(m, gate)) for m, said in found])
            for title, found in lists
        ],
    )
    return html_document("Accuracy against labels", body, style=_STYLE)


def _bars(result: Result) -> list[tuple[float, ...]]:
    """Where interval and value of each figure lie between 0 and 160; () without an interval."""
    return [
        tuple(round(160 * min(1.0, max(0.0, x)), 1) for x in (*found.bounds, found.value))
        if found.bounds and found.value is not None
        else ()
        for found in result.figures.values()
    ]


def _matrix(found: Mapping[tuple[str, str], int]) -> list[tuple[str, list[tuple[int, str]]]]:
    """Each label with the counts of what was said, and how a cell is coloured."""
    names = [*sorted({name for pair in found for name in pair} - {NO_LABEL}), NO_LABEL]
    most = max(found.values(), default=1)

    def shade(row: str, column: str) -> tuple[int, str]:
        count = found.get((row, column), 0)
        strength = f" shade-{max(1, round(10 * count / most))}" if count else ""
        return count, ("right" if row == column else "wrong") + strength

    return [(row, [shade(row, column) for column in names]) for row in names]


def _marked(mistake: Mistake, gate: Redactor) -> tuple[str, str, str]:
    """The redacted context before the words, the words, and the context after them."""
    context, words = gate.shown(mistake.context), gate.shown(mistake.words)
    return context.partition(words) if words else (context, "", "")


# -- the worst misses and false alarms, with the text around them ------------------------------

# Code points of context on each side of the words. Chosen by hand.
CONTEXT_CHARACTERS = 240
# Mistakes of one kind on a page. Chosen by hand.
MAX_MISTAKES = 40


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
    sessions: Sequence[LabelledSession], predictions: Sequence[Predictions]
) -> dict[str, tuple[tuple[Mistake, ...], tuple[Mistake, ...]]]:
    """Misses and false alarms at message level, by kind of label, the worst first."""
    found: dict[str, tuple[list[Mistake], list[Mistake]]] = {}
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
            misses, alarms = found.setdefault(name, ([], []))
            if said is None:
                continue
            with_kind = name == "milestones"
            shown = [c for c in said if c.place in places]
            predicted_keys = {(c.place, c.kind if with_kind else "") for c in shown}
            keys = {(place, kind if with_kind else "") for place, _, kind, _ in labelled}
            misses += [
                _mistake(session, place, weight, kind, quote)
                for place, quote, kind, weight in labelled
                if (place, kind if with_kind else "") not in predicted_keys
            ]
            alarms += [
                _mistake(session, c.place, c.confidence, c.kind, c.text)
                for c in shown
                if (c.place, c.kind if with_kind else "") not in keys
            ]
    return {name: (_worst(a), _worst(b)) for name, (a, b) in found.items()}


def _worst(found: list[Mistake]) -> tuple[Mistake, ...]:
    return tuple(
        sorted(found, key=lambda m: (-m.weight, m.file, m.place, m.words))[:MAX_MISTAKES]
    )


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
    sessions: Sequence[LabelledSession], predictions: Sequence[Predictions]
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
    return tuple(found[:MAX_MISTAKES])
