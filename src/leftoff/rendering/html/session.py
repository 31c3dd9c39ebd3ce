"""The HTML page of a session: every claim links to the message that it was taken from."""

from collections.abc import Mapping, Sequence

from msgspec.structs import astuple

from leftoff.analysis.summary_json import SafeSummary, safe_summary, safe_with
from leftoff.budget.account import Account
from leftoff.budget.thresholds import Preset, preset
from leftoff.codec import JsonObject
from leftoff.handover.wording import number, plural
from leftoff.model import Message, Ref, Usage
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.html import charts
from leftoff.rendering.html.engine import html_document, render_template, template_text
from leftoff.rendering.html.quotes import (
    Quote,
    build_quotes,
    cited,
    quotable_messages,
    surrounding_text,
)
from leftoff.rendering.overview import (
    Item,
    Overview,
    main_source,
    moment,
    overview,
    session_rows,
    session_title,
    turns,
)
from leftoff.summary import ContextInfo, ContextSummary, Spend, StageChange
from leftoff.text.truncation import one_line

# Items of one list; what is left out is counted. Chosen by hand.
MAX_LIST_ITEMS = 150
# Size limit of a page (docs/pages.md); a larger one is rendered again with the next of
# `SIZE_FACTORS`. Chosen by hand.
MAX_PAGE_BYTES = 950_000
# Fractions of the list and quote limits, tried in order.
SIZE_FACTORS = (1.0, 0.5, 0.25, 0.1, 0.03)
_STYLE = template_text("session.css")


def page(
    summary: ContextSummary,
    account: Account | None = None,
    messages: Mapping[Ref, Message] | None = None,
    *,
    thresholds: Preset | None = None,
    everything: bool = False,
    gate: Redactor | None = None,
) -> str:
    """The page as self-contained HTML without a script, redacted.

    Args:
        account: of the same session, for the occupancy curve; without it there is no curve.
        messages: by the references that `cited` returned; for a missing one, only the text
            that the summary itself holds is quoted.
        thresholds: drawn into the curve; the preset `advisory` by default.
        everything: the other statements that may be decisions are not folded."""
    gate = gate or Redactor()
    raw = quotable_messages(summary, cited(summary, account), messages or {})
    safe, found = safe_with(summary, raw, gate)
    title, shown, home = _title(safe), overview(safe), main_source(safe)
    values = {
        **_timeline(safe, account, thresholds or preset("advisory")),
        "title": title,
        "facts": _facts(safe),
        "figures": _key_figures(safe, shown),
        "overview": shown,
        "everything": everything,
        "turns": turns(safe),
        "usage": _usage_rows(safe.context.spend),
        "place": lambda message: Ref(home, message=message),
        "whole": bool(messages),
        "s": safe,
    }
    # How large a page becomes is known only when it is rendered.
    for size_factor in SIZE_FACTORS:
        quotes = _quotes(build_quotes(found, size_factor))
        most = max(5, round(MAX_LIST_ITEMS * size_factor))
        body = render_template("session.html", **values, **quotes, most=most)
        html = html_document(one_line(title, 120), body, style=_STYLE, kind="wide")
        if len(html.encode()) <= MAX_PAGE_BYTES:
            break
    return html


def _quotes(quotes: Sequence[Quote]) -> JsonObject:
    """Template values of the quotes, and functions that look for the one of a reference."""
    by_key = {quote.key: quote for quote in quotes}

    def anchor(ref: Ref) -> str:
        quote = by_key.get((ref.source, ref.message))
        return quote.anchor if quote else ""

    def around(item: Item) -> tuple[str, str]:
        quote = by_key.get((item.ref.source, item.ref.message)) if item.ref else None
        return surrounding_text(quote, item.text)

    return {"quotes": quotes, "anchor": anchor, "around": around}


def card(summary: ContextSummary) -> str:
    """The summary as an HTML fragment for a notebook, redacted: it has no ids, and its CSS
    applies to nothing outside it."""
    safe = safe_summary(summary)
    shown = overview(safe)
    title = _title(safe)
    return render_template("card.html", overview=shown, title=title, facts=_facts(safe))


def _title(safe: SafeSummary) -> str:
    return session_title(safe) or safe.session.id or "Session"


def _usage_rows(spend: Spend) -> list[tuple[str, Usage]]:
    rows = [(name or "?", usage) for name, usage in spend.by_model.items()]
    rows += [(f"subagent {name}", usage) for name, usage in spend.subagents.items()]
    rows = [row for row in rows if any(astuple(row[1]))]
    if len(rows) > 1:
        rows.append(("all", sum((usage for _, usage in rows), Usage())))
    return rows


def _timeline(safe: SafeSummary, account: Account | None, preset_drawn: Preset) -> JsonObject:
    """Template values of the stages and the occupancy curve."""
    points = account.curve if account else ()
    timeline = safe.progress.timeline
    ends = [c.ref.message + 1 for c in timeline] + [p.message + 1 for p in points]
    last = max(ends, default=0)
    count = max(1, safe.stats.message_count, last)
    stages = charts.stage_runs(timeline, count)
    info = account.context if account else safe.context
    return {
        "strip": charts.stage_strip(stages, count) if stages else "",
        "stages": _stages(stages, timeline, count),
        "curve": (
            charts.occupancy_curve(points, count, info.usable_window, preset_drawn)
            if len(points) > 1
            else ""
        ),
        "context_words": _occupancy_text(info, account),
        "crossed": account.crossed if account else (),
    }


def _stages(
    stages: Sequence[charts.StageRun], timeline: Sequence[StageChange], count: int
) -> list[JsonObject]:
    source = timeline[0].ref.source if timeline else 0
    found: dict[str, JsonObject] = {}
    for name, start, end in stages:
        ref = Ref(source, message=start)
        stage = found.setdefault(name, {"name": name, "size": 0, "runs": 0, "ref": ref})
        stage["size"] += end - start
        stage["runs"] += 1
    return [{**s, "share": round(100 * s["size"] / count)} for s in found.values()]


def _occupancy_text(info: ContextInfo, account: Account | None) -> str:
    """The occupancy at the end, the peak and the forecast in words."""
    if info.occupancy is None:
        return "The recording tells no use of tokens."
    held = number(info.occupancy, about=info.occupancy_estimated)
    words = f"{held} tokens in context at the end"
    if info.fraction is not None and info.usable_window is not None:
        words += f", {info.fraction:.0%} of the usable {number(info.usable_window)}"
    if account and account.curve:
        peak = max(p.tokens for p in account.curve)
        words += f"; at most {number(peak)} over {plural(len(account.curve), 'call')}"
    if account and account.forecast:
        words += f"; about {plural(account.forecast.calls_left, 'call')} left"
    return words + "."


def _facts(safe: SafeSummary) -> list[tuple[str, str]]:
    first, last = moment(safe.session.started), moment(safe.session.ended)
    # The day is not said twice.
    if first[:10] == last[:10]:
        last = last[11:]
    return session_rows(safe, ("Time", " to ".join(t for t in (first, last) if t)))


def _key_figures(safe: SafeSummary, shown: Overview) -> list[tuple[str, str, str]]:
    decided = sum(len(shown.part(key).first) for key in ("decided", "likely"))
    found = "decided" if shown.part("decided").items else "likely"
    files, left, failed = (len(shown.part(key).items) for key in ("files", "open", "failed"))
    figures = [
        (found, *_counted(decided, "decision")),
        ("files", *_counted(files, "file", " changed")),
        ("open", number(left), "left open"),
        ("failed", number(failed), "failed, not seen to work later"),
    ]
    figures = [figure for figure in figures if figure[1] != "0"]
    if safe.context.fraction is not None:
        figures.append(("course", f"{safe.context.fraction:.0%}", "of the window full"))
    return figures


def _counted(count: int, word: str, rest: str = "") -> tuple[str, str]:
    figure, _, words = plural(count, word).partition(" ")
    return figure, words + rest
