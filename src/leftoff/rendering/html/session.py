"""The HTML page of a session: every claim links to the message that it was taken from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from leftoff import codec
from leftoff.budget.account import Account
from leftoff.budget.thresholds import Preset, preset
from leftoff.handover.wording import duration, number, plural
from leftoff.model import Message, Ref
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html import charts
from leftoff.rendering.html.engine import render_template
from leftoff.rendering.html.frame import html_document, template_text
from leftoff.rendering.html.quotes import (
    Quote,
    anchor,
    build_quotes,
    cited_refs,
    main_source,
    quotable_messages,
    surrounding_text,
)
from leftoff.summary import ContextSummary
from leftoff.text.truncation import one_line

MAX_LIST_ITEMS = 150
"""Items of one list; what is left out is counted. Chosen by hand."""

MAX_PAGE_BYTES = 950_000
"""Size limit of a page (docs/pages.md); a larger one is rendered again with the next of
`SIZE_FACTORS`. Chosen by hand."""

SIZE_FACTORS = (1.0, 0.5, 0.25, 0.1, 0.03)
"""Fractions of the list and quote limits, tried in order."""

MIN_CONFIDENCE = 0.5
"""Decisions with less confidence are collapsed: they are more likely wrong than right."""

EVIDENCE_MARKS = {"verified": ("✓", "good"), "claimed": ("·", ""), "contradicted": ("✗", "bad")}

_STYLE = template_text("session.css")


def cited(summary: ContextSummary, account: Account | None = None) -> list[Ref]:
    """The references whose messages `page` needs for its quotes. One without line and item
    refers to the message by its number."""
    return cited_refs(summary, _crossing_messages(account))


def page(
    summary: ContextSummary,
    account: Account | None = None,
    messages: Mapping[Ref, Message] | None = None,
    *,
    thresholds: Preset | None = None,
    gate: Redactor | None = None,
) -> str:
    """The page as self-contained HTML without a script, redacted.

    Args:
        account: of the same session, for the occupancy curve; without it there is no curve.
        messages: by the references that `cited` returned; for a missing one, only the text
            that the summary itself holds is quoted.
        thresholds: drawn into the curve; the preset `advisory` by default.
        gate: the redactor to use.

    Raises:
        UsageError: jinja2 is not installed.
    """
    gate = gate or Redactor()
    # One call, so that a secret has the same placeholder everywhere on the page.
    value: dict[str, Any] = gate.value(
        {
            "summary": codec.to_builtins(summary),
            "quotes": quotable_messages(
                summary, cited_refs(summary, _crossing_messages(account)), messages or {}
            ),
        }
    )
    for size_factor in SIZE_FACTORS:
        html = _page(
            value, size_factor, summary, account, thresholds, gate, whole=bool(messages)
        )
        if len(html.encode()) <= MAX_PAGE_BYTES:
            break
    return html


def _page(
    value: dict[str, Any],
    size_factor: float,
    summary: ContextSummary,
    account: Account | None,
    thresholds: Preset | None,
    gate: Redactor,
    *,
    whole: bool,
) -> str:
    """The page from redacted values, with its limits multiplied by `size_factor`."""
    redacted = value["summary"]
    quotes = build_quotes(value["quotes"], size_factor)
    title = _title(redacted)
    values = {
        **_lists(redacted, quotes, max(5, round(MAX_LIST_ITEMS * size_factor))),
        **_timeline(redacted, summary, account, thresholds or preset("advisory")),
        "title": title,
        "facts": _facts(redacted),
        "redactions": _redactions(gate),
        "quoted_how": _quotes_note(quotes, whole=whole),
        "home": main_source(summary),
    }
    values["figures"] = _key_figures(redacted, values)
    values["contents"] = _table_of_contents(values)
    body = render_template("session.html", **values)
    return html_document(one_line(title, 120), body, style=_STYLE, kind="wide")


def card(summary: ContextSummary, gate: Redactor | None = None) -> str:
    """The summary as an HTML fragment for a notebook, redacted: it has no ids, and its CSS
    applies to nothing outside it.

    Raises:
        UsageError: jinja2 is not installed.
    """
    gate = gate or Redactor()
    redacted: dict[str, Any] = gate.value(codec.to_builtins(summary))
    values = _lists(redacted, [], MAX_LIST_ITEMS)
    return render_template(
        "card.html", **values, title=_title(redacted), facts=_facts(redacted)
    )


def _title(redacted: dict[str, Any]) -> str:
    session = redacted["session"]
    first_request = next((r["text"] for r in redacted["user_requests"]), "")
    return str(session["title"] or first_request or session["id"] or "Session")


def _crossing_messages(account: Account | None) -> tuple[int, ...]:
    return tuple(c.message for c in account.crossed) if account else ()


def _lists(redacted: dict[str, Any], quotes: Sequence[Quote], most: int) -> dict[str, Any]:
    """Template values of the page's lists, of which it shows `most` items each."""
    by_key = {quote.key: quote for quote in quotes}

    def anchor_of(ref: Mapping[str, Any]) -> str:
        key = (ref["source"], ref["message"])
        return anchor(*key) if key in by_key else ""

    decisions = []
    for decision in redacted["key_decisions"]:
        ref = decision["ref"]
        quote = by_key.get((ref["source"], ref["message"]))
        before, after = surrounding_text(quote, decision["text"])
        decisions.append({**decision, "before": before, "after": after})
    changed = [f for f in redacted["file_modifications"] if f["action"] != "read"]
    groups = _group_by_change(changed)
    context = redacted["context"]
    return {
        "anchor": anchor_of,
        "most": most,
        "firmness": MIN_CONFIDENCE,
        "marks": EVIDENCE_MARKS,
        "requests": [r for r in redacted["user_requests"] if r["kind"] != "approval"],
        "progress": redacted["progress"],
        "milestones": redacted["progress"]["milestones"],
        "steps": redacted["next_steps"],
        "firm": [d for d in decisions if d["confidence"] >= MIN_CONFIDENCE],
        "doubtful": [d for d in decisions if d["confidence"] < MIN_CONFIDENCE],
        "changed": sum(len(files) for _, files in groups),
        "groups": groups,
        "effects": redacted["unknown_effects"],
        "read": [f for f in redacted["file_modifications"] if f["action"] == "read"],
        "errors": sorted(redacted["errors"], key=lambda e: e["fixed"]),
        "findings": redacted["key_findings"],
        "working": redacted["working_set"],
        "usage": _usage_rows(context["spend"]),
        "children": redacted["session"]["children"],
        "issues": redacted["issues"],
        "compactions": context["compactions"],
        "quotes": quotes,
        "sources": [s["path"] for s in redacted["session"]["sources"]],
        "path": redacted["session"]["path"],
        "leftoff": redacted["leftoff"],
        "rules": redacted["rules"],
    }


def _group_by_change(
    changed: Sequence[dict[str, Any]],
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Changed files by kind of change, the most touched first. A moved file is listed under its
    new path only, not also as deleted."""
    renamed_paths = {f["renamed_from"] for f in changed if f["renamed_from"]}
    groups: dict[str, list[dict[str, Any]]] = {
        "created": [],
        "modified": [],
        "moved": [],
        "deleted": [],
    }
    for file in sorted(changed, key=lambda f: (-f["touch_count"], f["path"])):
        if file["renamed_from"]:
            groups["moved"].append(file)
        elif not (file["action"] == "deleted" and file["path"] in renamed_paths):
            groups[file["action"]].append(file)
    return [(name, files) for name, files in groups.items() if files]


def _usage_rows(spend: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    rows = [(name or "?", usage) for name, usage in spend["by_model"].items()]
    rows += [(f"subagent {name}", usage) for name, usage in spend["subagents"].items()]
    rows = [row for row in rows if any(row[1].values())]
    if len(rows) > 40:
        rest: Counter[str] = Counter()
        for _, usage in rows[39:]:
            rest.update(usage)
        rows = [*rows[:39], (f"{len(rows) - 39} more", dict(rest))]
    if len(rows) > 1:
        total: Counter[str] = Counter()
        for _, usage in rows:
            total.update(usage)
        rows.append(("all", dict(total)))
    return rows


def _timeline(
    redacted: dict[str, Any],
    summary: ContextSummary,
    account: Account | None,
    preset_drawn: Preset,
) -> dict[str, Any]:
    """Template values of the stages and the occupancy curve."""
    points = account.curve if account else ()
    timeline = redacted["progress"]["timeline"]
    last = max(
        [c["ref"]["message"] + 1 for c in timeline] + [p.message + 1 for p in points],
        default=0,
    )
    count = max(1, redacted["stats"]["message_count"], last)
    stages = charts.stage_runs(timeline, count)
    info = account.context if account else summary.context
    crossed = account.crossed if account else ()
    return {
        "strip": charts.stage_strip(stages, count) if stages else "",
        "stages": _stages(stages, timeline, count),
        "curve": (
            charts.occupancy_curve(points, count, info.usable_window, preset_drawn)
            if len(points) > 1
            else ""
        ),
        "context": {**codec.to_builtins(info), "words": _occupancy_text(info, account)},
        "crossed": [
            {
                "name": c.crossing.threshold.name,
                "at": c.crossing.threshold.at,
                "tokens": c.crossing.used,
                "message": c.message,
            }
            for c in crossed
        ],
    }


def _stages(
    stages: Sequence[charts.StageRun], timeline: Sequence[dict[str, Any]], count: int
) -> list[dict[str, Any]]:
    source = timeline[0]["ref"]["source"] if timeline else 0
    found: dict[str, dict[str, Any]] = {}
    for name, start, end in stages:
        ref = {"source": source, "message": start}
        stage = found.setdefault(name, {"name": name, "size": 0, "runs": 0, "ref": ref})
        stage["size"] += end - start
        stage["runs"] += 1
    return [{**s, "share": round(100 * s["size"] / count)} for s in found.values()]


def _occupancy_text(info: Any, account: Account | None) -> str:
    """The occupancy at the end, the peak and the forecast in words."""
    if info.occupancy is None:
        return "The recording tells no use of tokens."
    words = f"{number(info.occupancy)} tokens in context at the end"
    if info.fraction is not None:
        words += f", {info.fraction:.0%} of the usable {number(info.usable_window)}"
    if account and account.curve:
        peak = max(p.tokens for p in account.curve)
        words += f"; at most {number(peak)} over {plural(len(account.curve), 'call')}"
    if account and account.forecast:
        words += f"; about {plural(account.forecast.calls_left, 'call')} left"
    return words + "."


def _facts(redacted: dict[str, Any]) -> list[tuple[str, str]]:
    session, stats = redacted["session"], redacted["stats"]
    counts = [
        plural(stats["message_count"], "message"),
        plural(stats["turn_count"], "turn"),
        plural(stats["tool_call_count"], "tool call"),
    ]
    facts = [
        ("Session", session["id"]),
        ("Recorder", f"{session['format']} {session['agent_version']}".strip()),
        ("Models", ", ".join(session["models"])),
        ("Directory", session["cwd"]),
        ("Branch", session["branch"]),
        ("Time", _times(session["started"], session["ended"])),
        ("Duration", duration(stats["duration_seconds"])),
        ("Counts", ", ".join(counts)),
    ]
    return [fact for fact in facts if fact[1]]


def _times(started: str, ended: str) -> str:
    first, last = (t[:16].replace("T", " ") for t in (started, ended))
    if first[:10] == last[:10]:
        last = last[11:]
    return " to ".join(t for t in (first, last) if t)


def _key_figures(
    redacted: dict[str, Any], values: dict[str, Any]
) -> list[tuple[str, str, str]]:
    progress, context = redacted["progress"], values["context"]
    stage = progress["declared_stage"] or progress["current_stage"]
    unfixed = sum(not e["fixed"] for e in values["errors"])
    files = sum(len(found) for _, found in values["groups"])
    figures = [
        (
            "course",
            f"{progress['progress_percentage']} %",
            one_line(stage and f"now {stage}", 40),
        ),
        ("decided", *_counted(len(values["firm"]), "decision")),
        ("files", *_counted(files, "file", " changed")),
        ("open", number(len(values["steps"])), "left open"),
    ]
    if values["errors"]:
        figures.append(("errors", *_counted(unfixed, "error", " not seen to be fixed")))
    if context["fraction"] is not None:
        figures.append(("course", f"{context['fraction']:.0%}", "of the window full"))
    return figures


def _counted(count: int, word: str, rest: str = "") -> tuple[str, str]:
    figure, _, words = plural(count, word).partition(" ")
    return figure, words + rest


def _table_of_contents(values: dict[str, Any]) -> list[tuple[str, str, int]]:
    rows = [
        ("asked", "Asked", len(values["requests"])),
        ("course", "Course", 0),
        ("open", "Left open", len(values["steps"])),
        ("decided", "Decided", len(values["firm"])),
        ("milestones", "Milestones", len(values["milestones"])),
        ("files", "Files", sum(len(files) for _, files in values["groups"])),
        ("errors", "Errors", len(values["errors"])),
        ("found", "Found out", len(values["findings"])),
        ("working", "To go on with", 0),
        ("tokens", "Tokens", 0),
        ("subagents", "Subagents", len(values["children"])),
        ("notes", "Notes", len(values["issues"])),
        ("quotes", "Quoted messages", len(values["quotes"])),
    ]
    absent = {
        "errors": not values["errors"],
        "found": not values["findings"],
        "tokens": not values["usage"],
        "subagents": not values["children"],
        "notes": not values["issues"],
    }
    return [row for row in rows if not absent.get(row[0])]


def _quotes_note(quotes: Sequence[Quote], *, whole: bool) -> str:
    if not quotes:
        return "None."
    if not whole:
        return (
            "The recording was not at hand: these are the words that the summary holds, by "
            "message."
        )
    return (
        "The messages that this page cites, in their order; what a claim was taken from is "
        "marked. Long ones are cut at “…”; leftoff show SESSION#n prints one in full."
    )


def _redactions(gate: Redactor) -> str:
    total = sum(gate.counts.values())
    return f"{plural(total, 'secret')} redacted." if total else ""
