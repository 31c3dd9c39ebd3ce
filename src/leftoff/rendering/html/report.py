"""Many sessions as one page: an overview, totals by project and week, search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from leftoff import codec
from leftoff.handover.wording import plural
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html.engine import fill
from leftoff.rendering.html.frame import frame, part
from leftoff.rendering.html.session import FIRM
from leftoff.summary import ContextSummary
from leftoff.text.truncation import one_line

SHOWN = 5
"""Decisions, open items and changed files that are told of each session."""

_TEXT = 260
"""Characters of one such item."""

_STYLE = part("session.css") + part("report.css")
_SCRIPT = part("search.js").strip()


def row(summary: ContextSummary, gate: Redactor | None = None) -> dict[str, Any]:
    """What a report tells of one session: small, plain and redacted.

    Args:
        gate: the redactor of the whole report.
    """
    s = summary
    asked = next((r.text for r in s.user_requests), "")
    firm = sorted(
        (d for d in s.key_decisions if d.confidence >= FIRM and d.status == "made"),
        key=lambda d: (-d.confidence, d.message_index),
    )
    moved = {f.renamed_from for f in s.file_modifications if f.renamed_from}
    changed = sorted(
        (
            f
            for f in s.file_modifications
            if f.action != "read" and not (f.action == "deleted" and f.path in moved)
        ),
        key=lambda f: (-f.touch_count, f.path),
    )
    context, spend = s.context, s.context.spend
    beside = sum(spend.subagents.values(), Usage())
    value: dict[str, Any] = (gate or Redactor()).value(
        {
            "id": s.session.id,
            "path": s.session.path,
            "title": s.session.title or asked or s.session.id or "Session",
            "format": s.session.format,
            "models": list(s.session.models),
            "project": s.session.cwd,
            "branch": s.session.branch,
            "started": s.session.started,
            "seconds": s.stats.duration_seconds,
            "messages": s.stats.message_count,
            "calls": s.stats.tool_call_count,
            "subagents": len(s.session.children),
            "written": spend.output + beside.output,
            "tokens": spend.input
            + spend.output
            + spend.cache_read
            + spend.cache_write
            + beside.total,
            "fraction": context.fraction,
            "compactions": len(context.compactions),
            "percentage": s.progress.progress_percentage,
            "stage": s.progress.declared_stage or s.progress.current_stage,
            "decisions": [_item(d) for d in firm[:SHOWN]],
            "decision_count": len(firm),
            "open": [_item(n) for n in s.next_steps[:SHOWN]],
            "open_count": len(s.next_steps),
            "files": [f.path for f in changed[:SHOWN]],
            "file_count": len(changed),
            "error_count": sum(not e.fixed for e in s.errors),
        }
    )
    # Cut after the gate: the beginning of a secret would not look like one.
    value["title"] = one_line(value["title"], _TEXT)
    for item in (*value["decisions"], *value["open"]):
        item["text"] = one_line(item["text"], _TEXT)
    return value


def _item(item: Any) -> dict[str, Any]:
    return {"text": item.text, "ref": codec.plain(item.ref)}


def report(rows: Iterable[dict[str, Any]], unread: Sequence[str] = ()) -> str:
    """The page of many sessions, the last started first: HTML that needs no other file and no
    network. Its only script searches; without it, everything can be read.

    Args:
        rows: as `row` gives them, redacted.
        unread: what could not be told, a line each, redacted.

    Raises:
        UsageError: jinja2 is not installed.
    """
    ordered = sorted(rows, key=lambda r: (_negated(r["started"]), r["path"]))
    body = fill(
        "report.html",
        rows=ordered,
        total=_total("", ordered),
        projects=sorted(
            _totals(ordered, lambda r: r["project"]),
            key=lambda t: (-t["sessions"], -t["messages"], t["name"]),
        ),
        weeks=_totals(ordered, lambda r: week(r["started"])),
        unread=list(unread),
        shown=SHOWN,
    )
    title = plural(len(ordered), "session")
    return frame(title, body, style=_STYLE, script=_SCRIPT, kind="many")


def week(started: str) -> str:
    """The ISO week of a recorded time as `2026-W16`, "" where there is none."""
    try:
        found = datetime.fromisoformat(started).isocalendar()
    except ValueError:
        return ""
    return f"{found.year}-W{found.week:02}"


def _negated(text: str) -> tuple[int, ...]:
    """A key that sorts texts backwards, "" last."""
    return tuple(-ord(c) for c in text) or (1,)


_ADDED = (
    "messages",
    "calls",
    "written",
    "tokens",
    "decision_count",
    "file_count",
    "open_count",
)


def _total(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    sums = {key: sum(row[key] for row in rows) for key in _ADDED}
    return {"name": name, "sessions": len(rows), **sums}


def _totals(rows: Sequence[dict[str, Any]], key: Any) -> list[dict[str, Any]]:
    """Totals by a key, in the order in which the rows first have it."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for found in rows:
        groups.setdefault(key(found), []).append(found)
    return [_total(name, members) for name, members in groups.items()]
