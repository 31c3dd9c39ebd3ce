"""The report over many sessions: an overview, totals by project and week, a search box."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from leftoff import codec
from leftoff.handover.wording import plural
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html.engine import render_template
from leftoff.rendering.html.frame import html_document, template_text
from leftoff.rendering.html.session import MIN_CONFIDENCE
from leftoff.summary import ContextSummary
from leftoff.text.truncation import one_line

MAX_ITEMS = 5
"""Decisions, open items and changed files shown for each session. Chosen by hand."""

MAX_ITEM_LENGTH = 260
"""Characters of a decision, an open item or a title. Chosen by hand."""

_STYLE = template_text("session.css") + template_text("report.css")
_SCRIPT = template_text("search.js").strip()


def report_row(summary: ContextSummary, gate: Redactor | None = None) -> dict[str, Any]:
    """One session's entry in the report, as redacted plain values.

    Args:
        gate: the redactor of the whole report.
    """
    s = summary
    first_request = next((r.text for r in s.user_requests), "")
    confident = sorted(
        (d for d in s.key_decisions if d.confidence >= MIN_CONFIDENCE and d.status == "made"),
        key=lambda d: (-d.confidence, d.message_index),
    )
    renamed_paths = {f.renamed_from for f in s.file_modifications if f.renamed_from}
    changed = sorted(
        (
            f
            for f in s.file_modifications
            if f.action != "read" and not (f.action == "deleted" and f.path in renamed_paths)
        ),
        key=lambda f: (-f.touch_count, f.path),
    )
    context, spend = s.context, s.context.spend
    subagent_usage = sum(spend.subagents.values(), Usage())
    value: dict[str, Any] = (gate or Redactor()).value(
        {
            "id": s.session.id,
            "path": s.session.path,
            "title": s.session.title or first_request or s.session.id or "Session",
            "format": s.session.format,
            "models": list(s.session.models),
            "project": s.session.cwd,
            "branch": s.session.branch,
            "started": s.session.started,
            "seconds": s.stats.duration_seconds,
            "messages": s.stats.message_count,
            "calls": s.stats.tool_call_count,
            "subagents": len(s.session.children),
            "written": spend.output + subagent_usage.output,
            "tokens": spend.input
            + spend.output
            + spend.cache_read
            + spend.cache_write
            + subagent_usage.total,
            "fraction": context.fraction,
            "compactions": len(context.compactions),
            "percentage": s.progress.progress_percentage,
            "stage": s.progress.declared_stage or s.progress.current_stage,
            "decisions": [_item(d) for d in confident[:MAX_ITEMS]],
            "decision_count": len(confident),
            "open": [_item(n) for n in s.next_steps[:MAX_ITEMS]],
            "open_count": len(s.next_steps),
            "files": [f.path for f in changed[:MAX_ITEMS]],
            "file_count": len(changed),
            "error_count": sum(not e.fixed for e in s.errors),
        }
    )
    # Truncated after redaction: the first half of a secret would not be recognised.
    value["title"] = one_line(value["title"], MAX_ITEM_LENGTH)
    for item in (*value["decisions"], *value["open"]):
        item["text"] = one_line(item["text"], MAX_ITEM_LENGTH)
    return value


def _item(item: Any) -> dict[str, Any]:
    return {"text": item.text, "ref": codec.to_builtins(item.ref)}


def report(rows: Iterable[dict[str, Any]], unread: Sequence[str] = ()) -> str:
    """The report as a self-contained HTML page, the latest session first. Its only script is
    the search; the page can be read without it.

    Args:
        rows: what `report_row` returned.
        unread: sessions that could not be read and why, a line each, redacted.

    Raises:
        UsageError: jinja2 is not installed.
    """
    ordered = sorted(rows, key=lambda r: (_descending_key(r["started"]), r["path"]))
    body = render_template(
        "report.html",
        rows=ordered,
        total=_total("", ordered),
        projects=sorted(
            _grouped_totals(ordered, lambda r: r["project"]),
            key=lambda t: (-t["sessions"], -t["messages"], t["name"]),
        ),
        weeks=_grouped_totals(ordered, lambda r: iso_week(r["started"])),
        unread=list(unread),
        shown=MAX_ITEMS,
    )
    title = plural(len(ordered), "session")
    return html_document(title, body, style=_STYLE, script=_SCRIPT, kind="many")


def iso_week(started: str) -> str:
    """The ISO week of a recorded time, as `2026-W16`; "" if it is not a time."""
    try:
        found = datetime.fromisoformat(started).isocalendar()
    except ValueError:
        return ""
    return f"{found.year}-W{found.week:02}"


def _descending_key(text: str) -> tuple[int, ...]:
    """A sort key for descending order, with "" last."""
    return tuple(-ord(c) for c in text) or (1,)


_SUMMED_FIELDS = (
    "messages",
    "calls",
    "written",
    "tokens",
    "decision_count",
    "file_count",
    "open_count",
)


def _total(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    sums = {key: sum(report_row[key] for report_row in rows) for key in _SUMMED_FIELDS}
    return {"name": name, "sessions": len(rows), **sums}


def _grouped_totals(rows: Sequence[dict[str, Any]], key: Any) -> list[dict[str, Any]]:
    """Totals of the rows grouped by `key`, in order of first occurrence."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for found in rows:
        groups.setdefault(key(found), []).append(found)
    return [_total(name, members) for name, members in groups.items()]
