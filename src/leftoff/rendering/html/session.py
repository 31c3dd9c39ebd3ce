"""One session as one page: every claim links to the message that it was taken from."""

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
from leftoff.rendering.html.engine import fill
from leftoff.rendering.html.frame import frame, part
from leftoff.rendering.html.quotes import (
    Quote,
    anchor,
    in_context,
    material,
    quotations,
    refs,
    source_of,
)
from leftoff.summary import ContextSummary
from leftoff.text.truncation import one_line

MOST = 150
"""Items of one list; what is left out is counted."""

LIMIT = 950_000
"""Bytes of a page; one that would be longer is made again with less of everything."""

SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
"""How much of everything."""

FIRM = 0.5
"""From this confidence on a decision stands in the list, below it under a line that opens."""

MARKS = {"verified": ("✓", "good"), "claimed": ("·", ""), "contradicted": ("✗", "bad")}

_STYLE = part("session.css")


def cited(summary: ContextSummary, account: Account | None = None) -> list[Ref]:
    """The places whose messages a page wants to quote (see `page`). A ref without line and
    item means the message of that number."""
    return refs(summary, _crossed(account))


def page(
    summary: ContextSummary,
    account: Account | None = None,
    messages: Mapping[Ref, Message] | None = None,
    *,
    thresholds: Preset | None = None,
    gate: Redactor | None = None,
) -> str:
    """The page: HTML that needs no other file, no network and no script; redacted.

    Args:
        account: of the same session, for the curve of its window; without it there is none.
        messages: by the places that `cited` asks for; where one is missing, only the words
            that the summary itself holds are quoted.
        thresholds: drawn into the curve; the preset `advisory` by default.

    Raises:
        UsageError: jinja2 is not installed.
    """
    gate = gate or Redactor()
    # In one go, so that a secret has the same placeholder everywhere on the page.
    value: dict[str, Any] = gate.value(
        {
            "summary": codec.plain(summary),
            "quotes": material(summary, refs(summary, _crossed(account)), messages or {}),
        }
    )
    for share in SHARES:
        made = _page(value, share, summary, account, thresholds, gate, whole=bool(messages))
        if len(made.encode()) <= LIMIT:
            break
    return made


def _page(
    value: dict[str, Any],
    share: float,
    summary: ContextSummary,
    account: Account | None,
    thresholds: Preset | None,
    gate: Redactor,
    *,
    whole: bool,
) -> str:
    """The page from what has passed the gate, with a share of the items that it may hold."""
    told = value["summary"]
    quotes = quotations(value["quotes"], share)
    title = _title(told)
    values = {
        **_said(told, quotes, max(5, round(MOST * share))),
        **_course(told, summary, account, thresholds or preset("advisory")),
        "title": title,
        "facts": _facts(told),
        "redactions": _redactions(gate),
        "quoted_how": _quoted(quotes, whole=whole),
        "home": source_of(summary),
    }
    values["figures"] = _figures(told, values)
    values["contents"] = _contents(values)
    body = fill("session.html", **values)
    return frame(one_line(title, 120), body, style=_STYLE, kind="wide")


def card(summary: ContextSummary, gate: Redactor | None = None) -> str:
    """The summary as a piece of HTML for a notebook: no ids, and no rule that reaches beyond
    it; redacted.

    Raises:
        UsageError: jinja2 is not installed.
    """
    gate = gate or Redactor()
    told: dict[str, Any] = gate.value(codec.plain(summary))
    values = _said(told, [], MOST)
    return fill("card.html", **values, title=_title(told), facts=_facts(told))


def _title(told: dict[str, Any]) -> str:
    session = told["session"]
    asked = next((r["text"] for r in told["user_requests"]), "")
    return str(session["title"] or asked or session["id"] or "Session")


def _crossed(account: Account | None) -> tuple[int, ...]:
    return tuple(c.message for c in account.crossed) if account else ()


def _said(told: dict[str, Any], quotes: Sequence[Quote], most: int) -> dict[str, Any]:
    """The lists of the page, of which it shows `most` items each, from a plain, redacted
    summary."""
    by_key = {quote.key: quote for quote in quotes}

    def anchor_of(ref: Mapping[str, Any]) -> str:
        key = (ref["source"], ref["message"])
        return anchor(*key) if key in by_key else ""

    decisions = []
    for decision in told["key_decisions"]:
        ref = decision["ref"]
        quote = by_key.get((ref["source"], ref["message"]))
        before, after = in_context(quote, decision["text"])
        decisions.append({**decision, "before": before, "after": after})
    changed = [f for f in told["file_modifications"] if f["action"] != "read"]
    groups = _groups(changed)
    context = told["context"]
    return {
        "anchor": anchor_of,
        "most": most,
        "firmness": FIRM,
        "marks": MARKS,
        "requests": [r for r in told["user_requests"] if r["kind"] != "approval"],
        "progress": told["progress"],
        "milestones": told["progress"]["milestones"],
        "steps": told["next_steps"],
        "firm": [d for d in decisions if d["confidence"] >= FIRM],
        "doubtful": [d for d in decisions if d["confidence"] < FIRM],
        "changed": sum(len(files) for _, files in groups),
        "groups": groups,
        "effects": told["unknown_effects"],
        "read": [f for f in told["file_modifications"] if f["action"] == "read"],
        "errors": sorted(told["errors"], key=lambda e: e["fixed"]),
        "findings": told["key_findings"],
        "working": told["working_set"],
        "usage": _usage(context["spend"]),
        "children": told["session"]["children"],
        "issues": told["issues"],
        "compactions": context["compactions"],
        "quotes": quotes,
        "sources": [s["path"] for s in told["session"]["sources"]],
        "path": told["session"]["path"],
        "leftoff": told["leftoff"],
        "rules": told["rules"],
    }


def _groups(changed: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Changed files by what became of them, the most touched first; a moved file stands once,
    and not as deleted, too."""
    moved = {f["renamed_from"] for f in changed if f["renamed_from"]}
    groups: dict[str, list[dict[str, Any]]] = {
        "created": [],
        "modified": [],
        "moved": [],
        "deleted": [],
    }
    for file in sorted(changed, key=lambda f: (-f["touch_count"], f["path"])):
        if file["renamed_from"]:
            groups["moved"].append(file)
        elif not (file["action"] == "deleted" and file["path"] in moved):
            groups[file["action"]].append(file)
    return [(name, files) for name, files in groups.items() if files]


def _usage(spend: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
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


def _course(
    told: dict[str, Any], summary: ContextSummary, account: Account | None, drawn: Preset
) -> dict[str, Any]:
    """Stages and the window's filling over the messages of the main thread."""
    points = account.curve if account else ()
    timeline = told["progress"]["timeline"]
    last = max(
        [c["ref"]["message"] + 1 for c in timeline] + [p.message + 1 for p in points],
        default=0,
    )
    count = max(1, told["stats"]["message_count"], last)
    stages = charts.runs(timeline, count)
    info = account.context if account else summary.context
    crossed = account.crossed if account else ()
    return {
        "strip": charts.strip(stages, count) if stages else "",
        "stages": _stages(stages, timeline, count),
        "curve": (
            charts.curve(points, count, info.usable_window, drawn) if len(points) > 1 else ""
        ),
        "context": {**codec.plain(info), "words": _filled(info, account)},
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
    stages: Sequence[charts.Run], timeline: Sequence[dict[str, Any]], count: int
) -> list[dict[str, Any]]:
    source = timeline[0]["ref"]["source"] if timeline else 0
    found: dict[str, dict[str, Any]] = {}
    for name, start, end in stages:
        ref = {"source": source, "message": start}
        stage = found.setdefault(name, {"name": name, "size": 0, "runs": 0, "ref": ref})
        stage["size"] += end - start
        stage["runs"] += 1
    return [{**s, "share": round(100 * s["size"] / count)} for s in found.values()]


def _filled(info: Any, account: Account | None) -> str:
    """The end of the curve in words."""
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


def _facts(told: dict[str, Any]) -> list[tuple[str, str]]:
    session, stats = told["session"], told["stats"]
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


def _figures(told: dict[str, Any], values: dict[str, Any]) -> list[tuple[str, str, str]]:
    progress, context = told["progress"], values["context"]
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


def _contents(values: dict[str, Any]) -> list[tuple[str, str, int]]:
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


def _quoted(quotes: Sequence[Quote], *, whole: bool) -> str:
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
