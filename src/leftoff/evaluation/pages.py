"""An evaluation against labels as one self-contained HTML page: the run and its worst mistakes.

The page quotes recordings. It is redacted, written only on request, and must not be committed.
"""

from collections.abc import Iterator, Sequence

from leftoff.evaluation.label_runs import LabelRun
from leftoff.evaluation.matching import match_statements
from leftoff.evaluation.sessions import LabelledSession, Prediction, Predictions
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html.engine import html_document, render_template

# Code points of context on each side of the words. Chosen by hand.
CONTEXT_CHARACTERS = 240
# Mistakes of one kind on a page. Chosen by hand.
MAX_MISTAKES = 40


def page(
    report: LabelRun, sessions: Sequence[LabelledSession], predictions: Sequence[Predictions]
) -> str:
    """Renders the page; `sessions` and `predictions` are those that our figures were computed
    from, in the same order."""
    gate = Redactor()
    found: dict[str, list[tuple[LabelledSession, Prediction]]] = {}
    for session, predicted in zip(sessions, predictions, strict=True):
        for title, one in _mistakes(session, predicted):
            found.setdefault(title, []).append((session, one))
    for several in found.values():
        several.sort(key=lambda m: (-m[1].confidence, m[0].labels.file, m[1].place, m[1].text))
    body = render_template(
        "labels.html",
        made=[word for word in (report.date, report.machine) if word],
        # What was left out names files, as recorded.
        blocks=[gate.shown(b) if isinstance(b, str) else b for b in report.blocks()],
        mistakes=[
            (title, [(*one, _marked(*one, gate)) for one in several[:MAX_MISTAKES]])
            for title, several in sorted(found.items())
        ],
    )
    return html_document("Accuracy against labels", body)


def _mistakes(
    session: LabelledSession, predicted: Predictions
) -> Iterator[tuple[str, Prediction]]:
    """The misses and false alarms of a session by message, and decisions of another type, each
    with the title of its list. `confidence` is the importance of a missed label; `text` the
    labelled quote, or the predicted text."""
    for name, labelled, said, places in _sides(session, predicted):
        if said is None:
            continue
        # A message may claim several milestones; of the others the message alone counts.
        with_kind = name == "Milestones"
        shown = [c for c in said if c.place in places]
        found = {(c.place, c.kind if with_kind else "") for c in shown}
        known = {(c.place, c.kind if with_kind else "") for c in labelled}
        for title, several, others in (
            (f"{name}: worst misses", labelled, found),
            (f"{name}: worst false alarms", shown, known),
        ):
            for one in several:
                if (one.place, one.kind if with_kind else "") not in others:
                    yield title, one
    decisions, labels = predicted.decisions or (), session.labels.decisions
    ours, theirs = [(c.place, c.text) for c in decisions], [(d.line, d.quote) for d in labels]
    for one, number in zip(decisions, match_statements(ours, theirs), strict=True):
        if number >= 0 and one.kind != labels[number].type:
            label = labels[number]
            words = f"said {one.kind}, labelled {label.type}"
            confused = Prediction(label.line, label.quote, words, float(label.importance))
            yield "Key decisions found with another type", confused


def _sides(
    session: LabelledSession, predicted: Predictions
) -> Iterator[tuple[str, list[Prediction], tuple[Prediction, ...] | None, set[int]]]:
    """The labels as predictions would state them, what was predicted, and where labels may
    stand, by name."""
    labels = session.labels
    agent, user = set(session.agent_places), set(session.user_places)
    repeats = {place for d in labels.decisions for place in d.also}
    visible = agent - repeats | {d.line for d in labels.decisions}
    decisions = [
        Prediction(d.line, d.quote, d.type, float(d.importance)) for d in labels.decisions
    ]
    milestones = [Prediction(m.line, m.quote, m.kind) for m in labels.milestones]
    directives = [Prediction(d.line, d.quote, d.kind) for d in labels.directives]
    left = [Prediction(o.line, o.quote) for o in labels.open_items]
    yield "Key decisions", decisions, predicted.decisions, visible
    yield "Milestones", milestones, predicted.milestones, agent | user
    yield "Directives", directives, predicted.directives, user
    yield "Open items", left, predicted.open_items, set(session.texts)


def _marked(session: LabelledSession, one: Prediction, gate: Redactor) -> tuple[str, str, str]:
    """The redacted context before the words, the words, and the context after them."""
    text = session.texts.get(one.place, "")
    start = max(text.find(one.text), 0)
    before = max(0, start - CONTEXT_CHARACTERS)
    after = min(len(text), start + len(one.text) + CONTEXT_CHARACTERS)
    context = f"{'… ' if before else ''}{text[before:after]}{' …' if after < len(text) else ''}"
    context, words = gate.shown(context), gate.shown(one.text)
    return context.partition(words) if words else (context, "", "")
