"""The report over many sessions: an overview, totals by project and week, a search box."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.analysis.summary_json import SafeSummary, safe_summary
from leftoff.handover.entries import entries_of
from leftoff.handover.ledger import HOLDS, REPEATED, standing
from leftoff.handover.wording import plural
from leftoff.model import Usage, parse_time
from leftoff.rendering.html.engine import html_document, render_template, template_text
from leftoff.rendering.overview import Item, overview, session_title
from leftoff.summary import ContextSummary, SessionInfo, Stats
from leftoff.text.truncation import one_line

# Open items and changed files shown for each session. Chosen by hand.
MAX_ITEMS = 5
# Characters of a decision, an open item or a title. Chosen by hand.
MAX_ITEM_LENGTH = 260
_WORD = re.compile(r"\w(?:[\w.-]*\w)?")
_STYLE = template_text("session.css") + template_text("report.css")
_SCRIPT = template_text("search.js").strip()


class ReportRow(Struct, frozen=True, kw_only=True):
    """One session's entry in the report, redacted. `session` is without its subagents.
    `decided` and `likely` are the decisions that every form shows; of other lists the first
    `MAX_ITEMS`, beside their counts. `written`, `tokens`: with those of subagents, None where
    no call records any. `words`: the distinct words of all lists, which the search finds."""

    session: SessionInfo
    stats: Stats
    title: str
    subagents: int
    written: int | None
    tokens: int | None
    fraction: float | None
    compactions: int
    state: Item
    decided: tuple[Item, ...]
    likely: tuple[Item, ...]
    decision_count: int
    open: tuple[Item, ...]
    open_count: int
    files: tuple[str, ...]
    file_count: int
    failed_count: int
    statements: "tuple[Statement, ...]" = ()
    words: str = ""


class Statement(Struct, frozen=True):
    """What the person required or decided in a session."""

    kind: str
    text: str
    note: str
    recording: str
    session: str
    message: int


def report_row(summary: ContextSummary) -> ReportRow:
    """One session's entry in the report."""
    safe = safe_summary(summary)
    shown = overview(safe)
    session, context, spend = safe.session, safe.context, safe.context.spend
    decided, likely = (
        tuple(map(_cut, shown.part(key).shown(everything=False)))
        for key in ("decided", "likely")
    )
    left, files, failed = (shown.part(key).items for key in ("open", "files", "failed"))
    subagent_usage = sum(spend.subagents.values(), Usage())
    own = Usage(spend.input, spend.output, spend.cache_read, spend.cache_write)
    # Nothing recorded is unknown, not zero.
    recorded = bool(spend.by_model or (own + subagent_usage).total)
    return ReportRow(
        session=replace(session, children=()),
        stats=safe.stats,
        # Truncated after redaction: the first half of a secret would not be recognised.
        title=one_line(session_title(safe) or session.id or "Session", MAX_ITEM_LENGTH),
        subagents=len(session.children),
        written=own.output + subagent_usage.output if recorded else None,
        tokens=own.total + subagent_usage.total if recorded else None,
        fraction=context.fraction,
        compactions=len(context.compactions),
        state=_cut(shown.state),
        decided=decided,
        likely=likely,
        decision_count=len(decided) + len(likely),
        open=tuple(map(_cut, left[:MAX_ITEMS])),
        open_count=len(left),
        files=tuple(item.text for item in files[:MAX_ITEMS]),
        file_count=len(files),
        failed_count=len(failed),
        statements=tuple(_statements(safe)),
        words=_words(safe),
    )


def _words(safe: SafeSummary) -> str:
    """What the search finds beyond what the page shows: about 4 kB for each session."""
    lists: tuple[Iterable[Any], ...] = (
        *(safe.user_requests, safe.key_decisions, safe.errors, safe.key_findings),
        *(safe.next_steps, safe.progress.milestones, safe.git),
        *(safe.working_set.commands, safe.working_set.names),
    )
    texts = [one.text for several in lists for one in several]
    texts += [f.path for f in safe.file_modifications] + [c.command for c in safe.checks]
    return " ".join(dict.fromkeys(w.lower() for text in texts for w in _WORD.findall(text)))


def _statements(safe: SafeSummary) -> Iterator[Statement]:
    name = safe.session.id or safe.session.path
    for entry in entries_of(codec.to_builtins(safe)):
        if entry.speaker == "person" and entry.kind in {*HOLDS, REPEATED}:
            text = one_line(entry.text, MAX_ITEM_LENGTH)
            at = safe.session.path, name, entry.message
            yield Statement(entry.kind, text, entry.note, *at)


def _cut(item: Item) -> Item:
    return replace(item, text=one_line(item.text, MAX_ITEM_LENGTH))


def report(rows: Iterable[ReportRow], unread: Sequence[str] = ()) -> str:
    """The report as a self-contained HTML page, the latest session first. Its only script is
    the search; the page can be read without it.

    Args:
        rows: what `report_row` returned.
        unread: sessions that could not be read and why, a line each, redacted."""
    # Two sorts, so that sessions of one time are in the order of their paths.
    ordered = sorted(rows, key=lambda row: row.session.path)
    ordered.sort(key=lambda row: row.session.started, reverse=True)
    by_project = _grouped(ordered, lambda row: row.session.cwd)
    projects = [_total(name, members) for name, members in by_project.items()]
    weeks = _grouped(ordered, lambda row: iso_week(row.session.started))
    ledgers = []
    for name, members in sorted(by_project.items()):
        holds = standing([said for row in members for said in row.statements[::-1]])
        if name and holds:
            ledgers.append((name, holds))
    body = render_template(
        "report.html",
        rows=ordered,
        total=_total("", ordered),
        projects=sorted(projects, key=lambda t: (-t["sessions"], -t["messages"], t["name"])),
        weeks=[_total(name, members) for name, members in weeks.items()],
        ledgers=ledgers,
        unread=list(unread),
        shown=MAX_ITEMS,
    )
    title = plural(len(ordered), "session")
    return html_document(title, body, style=_STYLE, script=_SCRIPT, kind="many")


def iso_week(started: str) -> str:
    """The ISO week of a recorded time, as `2026-W16`; "" if it is not a time."""
    found = parse_time(started)
    return f"{found:%G-W%V}" if found else ""


_SUMMED = "written tokens decision_count file_count open_count".split()


def _total(name: str, rows: Sequence[ReportRow]) -> codec.JsonObject:
    sums: codec.JsonObject = {"name": name, "sessions": len(rows)}
    sums["messages"] = sum(row.stats.message_count for row in rows)
    sums["calls"] = sum(row.stats.tool_call_count for row in rows)
    for key in _SUMMED:
        known = [n for row in rows if (n := getattr(row, key)) is not None]
        sums[key] = sum(known) if known or not rows else None
    return sums


def _grouped(
    rows: Sequence[ReportRow], key: Callable[[ReportRow], str]
) -> dict[str, list[ReportRow]]:
    groups: dict[str, list[ReportRow]] = {}
    for found in rows:
        groups.setdefault(key(found), []).append(found)
    return groups
