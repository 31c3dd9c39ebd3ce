"""The tables that a batch writes, column by column, and the rows of one session.

The columns are the same whatever was wanted, so that outputs of different runs fit together;
what was not asked for is null or has no rows. docs/scale.md describes every column."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from leftoff import codec
from leftoff.analysis.summary_json import SafeSummary
from leftoff.budget.prices import Cost
from leftoff.handover.entries import SessionEntries
from leftoff.handover.facts import changed_files
from leftoff.model import parse_time
from leftoff.rendering.overview import left_open, session_title
from leftoff.text.truncation import one_line

# Characters of a title, as in the report. Chosen by hand.
MAX_TITLE = 260


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session, or one file that could not be read: `status` "failed", `failure` the kind of
    the error, `reason` its message, as `summarize` raises it, without the path."""

    key: str
    path: str
    files: int = 1
    number: int = 0
    status: str = "ok"
    failure: str | None = None
    reason: str | None = None
    id: str | None = None
    parent_id: str | None = None
    format: str | None = None
    project: str | None = None
    branch: str | None = None
    title: str | None = None
    models: str | None = None
    agent_version: str | None = None
    started: str | None = None
    ended: str | None = None
    duration_seconds: int | None = None
    messages: int | None = None
    turns: int | None = None
    tool_calls: int | None = None
    user_messages: int | None = None
    errors: int | None = None
    subagents: int | None = None
    estimated_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    subagent_tokens: int | None = None
    cost_usd: float | None = None
    cost_usd_at_most: float | None = None
    window: int | None = None
    occupancy: int | None = None
    fraction: float | None = None
    stage: str | None = None
    progress: int | None = None
    decisions: int | None = None
    milestones: int | None = None
    files_changed: int | None = None
    open_requests: int | None = None
    left_open: int | None = None
    last_test_passed: bool | None = None
    tests_older_than_last_edit: bool | None = None
    lines: int | None = None
    lines_parsed: int | None = None
    lines_unknown: int | None = None
    lines_repaired: int | None = None
    lines_skipped: int | None = None
    redactions: int | None = None
    # Written from plain values, and read as it stands: no reader of a row looks into it.
    document: msgspec.Raw = None  # type: ignore[assignment]


class DecisionRow(Struct, frozen=True, kw_only=True):
    """One key decision of a session."""

    key: str
    number: int
    text: str
    type: str
    confidence: float
    owner: str
    status: str
    rationale: str | None
    alternative: str | None
    message: int
    message_number: int
    line: int | None
    item: int | None


class MilestoneRow(Struct, frozen=True, kw_only=True):
    """One milestone of a session."""

    key: str
    number: int
    text: str
    kind: str
    evidence: str
    speaker: str
    message: int
    message_number: int
    line: int | None
    item: int | None


class FileRow(Struct, frozen=True, kw_only=True):
    """What a session did to one file."""

    key: str
    number: int
    path: str
    action: str
    touches: int
    tools: str
    certainty: str
    renamed_from: str | None
    branch: str | None


class EntryRow(Struct, frozen=True, kw_only=True):
    """One entry of the memory of a project: see `handover.entries.Entry`."""

    key: str
    number: int
    kind: str
    speaker: str
    text: str
    note: str | None
    path: str | None
    message: int | None
    message_number: int | None


# Every table by name, sessions first.
TABLES: dict[str, type[Struct]] = {
    "sessions": SessionRow,
    "decisions": DecisionRow,
    "milestones": MilestoneRow,
    "files": FileRow,
    "entries": EntryRow,
}


# Decodes rows of each table from JSON lines.
decode_rows: dict[str, Callable[[bytes], list[Any]]] = {
    name: msgspec.json.Decoder(row).decode_lines for name, row in TABLES.items()
}


# Columns of a session by the extractor that fills them.
_COLUMNS_OF: dict[str, tuple[str, ...]] = {
    "decisions": ("decisions",),
    "progress": tuple(
        "stage progress milestones last_test_passed tests_older_than_last_edit".split()
    ),
    "files": ("files_changed", "last_test_passed"),
    "checks": ("last_test_passed",),
    "insights": ("errors", "left_open"),
    "requests": ("open_requests", "user_messages"),
}

# Columns that hold points in time, UTC.
TIME_COLUMNS = frozenset({"started", "ended"})


def session_key(path: str, number: int) -> str:
    """16 hex digits that name a session in every table: the same path and place in the file
    have the same key in every run."""
    value = f"{path}\0{number}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(value, digest_size=8).hexdigest()


def to_utc(time: str) -> str | None:
    """A recorded time as ISO 8601 in UTC; None if it is none. A time without zone is UTC."""
    moment = parse_time(time)
    with suppress(OverflowError):
        if moment is not None:
            return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
    return None


class Rows:
    """The rows of one job, table by table, as JSON lines."""

    def __init__(self) -> None:
        self._lines: dict[str, list[bytes]] = {name: [] for name in TABLES}

    def add(self, table: str, rows: Iterable[Struct]) -> None:
        self._lines[table] += [codec.dumps(row) for row in rows]

    def to_json_lines(self) -> tuple[bytes, ...]:
        """For each table its rows, one JSON object on each line."""
        return tuple(b"".join(lines) for lines in self._lines.values())

    def failed(self, key: str, path: str, failure: str, reason: str) -> None:
        """A file that could not be read; `path` and `reason` are redacted by the caller."""
        row = SessionRow(key=key, path=path, status="failed", failure=failure, reason=reason)
        self.add("sessions", [row])

    def session(
        self,
        key: str,
        number: int,
        summary: SafeSummary,
        plain: Mapping[str, Any],
        document: Any,
        ran: Collection[str],
        cost: Cost,
    ) -> None:
        """Adds the rows of a session, of which `plain` is the summary as plain values; columns
        of built-in extractors that are not among those that `ran` are null."""
        values = _session(summary, plain)
        values |= {"cost_usd": cost.usd, "cost_usd_at_most": cost.usd_at_most}
        values |= {c: None for name, cs in _COLUMNS_OF.items() if name not in ran for c in cs}
        self.add("sessions", [SessionRow(key=key, number=number, document=document, **values)])
        for table, items in (
            ("decisions", plain["key_decisions"]),
            ("milestones", plain["progress"]["milestones"]),
            ("files", plain["file_modifications"]),
        ):
            self.add(table, _rows_of(TABLES[table], key, items))

    def entries(self, found: SessionEntries) -> None:
        """Adds what a session leaves to the memory of its project."""
        self.add("entries", _rows_of(EntryRow, found.key, map(asdict, found.entries)))


def _session(safe: SafeSummary, summary: Mapping[str, Any]) -> codec.JsonObject:
    session, stats, context = summary["session"], summary["stats"], summary["context"]
    spend, progress, lines = context["spend"], summary["progress"], stats["lines"]
    runs = (c["verdict"] for c in summary["checks"] if c["kind"] == "test")
    tests = [verdict for verdict in runs if verdict != "unknown"]
    kinds = ("input", "output", "cache_read", "cache_write", "reasoning")
    counted = ("message", "turn", "tool_call", "user_message", "error")
    return {
        **{
            name: session[name] or None
            for name in ("id", "parent_id", "format", "branch", "agent_version")
        },
        **{f"{name}s": stats[f"{name}_count"] for name in counted},
        **{name: stats[name] for name in ("duration_seconds", "estimated_tokens")},
        **{name: context[name] for name in ("window", "occupancy", "fraction")},
        # Without a recorded call the sums are unknown, not zero.
        **{f"{k}_tokens": spend[k] if spend["by_model"] else None for k in kinds},
        **{f"lines_{k}": lines[k] for k in ("parsed", "unknown", "repaired", "skipped")},
        "path": session["path"],
        "files": len(session["sources"]),
        "project": session["cwd"] or None,
        "title": codec.to_valid_json(one_line(session_title(safe), MAX_TITLE)) or None,
        "models": ", ".join(session["models"]) or None,
        "started": to_utc(session["started"]),
        "ended": to_utc(session["ended"]),
        "subagents": len(session["children"]),
        "subagent_tokens": sum(u.total for u in safe.context.spend.subagents.values()),
        "stage": progress["current_stage"] or None,
        "progress": progress["progress_percentage"],
        "decisions": len(summary["key_decisions"]),
        "milestones": len(progress["milestones"]),
        "files_changed": len(changed_files(safe)),
        "open_requests": sum(r["status"] == "open" for r in summary["user_requests"]),
        "left_open": len(left_open(safe)),
        "last_test_passed": tests[-1] == "passed" if tests else None,
        "tests_older_than_last_edit": progress["tests_older_than_last_edit"],
        "lines": lines["total"],
        "redactions": sum(stats["redactions"].values()),
    }


def _rows_of(
    row: type[Struct], key: str, found: Iterable[Mapping[str, Any]]
) -> Iterable[Struct]:
    """Items of a summary as rows: their fields, and those of their reference, by name."""
    for number, item in enumerate(found):
        at = item.get("ref", {})
        given = {**item, **{n: at[n] for n in ("line", "item", "message") if n in at}}
        given |= {"key": key, "number": number}
        if "message_index" in item:
            given["message"] = item["message_index"]
        known = given.get("message", -1) >= 0  # else it is not at a message
        given["message"] = given["message"] if known else None
        given["message_number"] = given["message"] + 1 if known else None
        if "tools" in item:
            given |= {"touches": item["touch_count"], "tools": ", ".join(item["tools"])}
        # What the recording does not say is null in a table.
        given |= {name: item[name] or None for name in _OPTIONAL if name in item}
        yield row(**{name: given[name] for name in row.__struct_fields__})


_OPTIONAL = ("rationale", "alternative", "renamed_from", "branch", "note", "path")
