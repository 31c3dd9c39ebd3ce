"""A token account as plain values and as text: window occupancy, spend, forecast."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from leftoff import codec
from leftoff.analysis.summary_json import numbered
from leftoff.budget.account import SessionAccount
from leftoff.handover.wording import number, plural
from leftoff.model import Usage
from leftoff.redaction.redactor import Redactor
from leftoff.rendering.messages import abbreviated, style
from leftoff.summary import ReaderCost
from leftoff.text.sanitize import clean

SCHEMA = "leftoff.budget/1"
_BAR_CHARACTERS = " ▁▂▃▄▅▆▇█"
# Lines of the chart. Chosen by hand.
_CHART_HEIGHT = 4


def plain(
    found: SessionAccount, *, reader: ReaderCost | None = None, gate: Redactor | None = None
) -> codec.JsonObject:
    """An account as plain JSON values, redacted. Every figure is in tokens. `second_reader` is
    there only where one was asked about the session."""
    account = found.account
    main = sum(account.spend.values(), Usage())
    value = {
        "schema": SCHEMA,
        "session": {n: getattr(found, n) for n in ("id", "format", "path", "models")},
        "context": codec.to_builtins(account.context),
        "spend": {
            "main": _usage(main),
            # A subagent has a window of its own, and its tokens are paid for like all others.
            "with_subagents": _usage(sum(account.subagents.values(), main)),
            "by_model": {m: _usage(u) for m, u in account.spend.items()},
            "by_model_of_subagents": {m: _usage(u) for m, u in account.subagents.items()},
        },
        "cost": codec.to_builtins(account.cost),
        "estimated": account.estimated,
        "calls": len(account.curve),
        "curve": codec.to_builtins(account.curve),
        "preset": found.preset,
        "crossed": [
            {
                "name": c.crossing.threshold.name,
                "at": c.crossing.threshold.at,
                "message": c.message,
                "tokens": c.crossing.used,
                "percent": round(c.crossing.percent, 1),
                "says": c.crossing.words(c.crossing.threshold.says).strip(),
            }
            for c in account.crossed
        ],
        "forecast": codec.to_builtins(account.forecast),
    }
    if reader is not None:
        value["second_reader"] = codec.to_builtins(reader)
    return dict(numbered((gate or Redactor()).value(value)))


def _usage(usage: Usage) -> dict[str, int]:
    return {**codec.to_builtins(usage), "total": usage.total}


def text(value: Mapping[str, Any], *, colour: bool = False, width: int = 96) -> str:
    """An account (as `to_builtins` gives it) as text of at most `width` columns."""
    lines = [*_occupancy_lines(value, colour, width), *_chart(value, colour, width)]
    if value["crossed"]:
        lines += ["", style("Crossed", "bold", colour) + f"  preset {clean(value['preset'])}"]
        for c in value["crossed"][-8:]:
            at, place = f"{c['at'] * 100:g} %", style(f"#{c['message'] + 1}", "dim", colour)
            lines.append(f"  {at:>6}  {c['name']}  at {number(c['tokens'])} tokens  {place}")
        if len(value["crossed"]) > 8:
            lines.append(f"    … {len(value['crossed']) - 8} more before")
    lines += _spend_table(value["spend"], colour, width)
    lines += _cost_lines(value["cost"])
    asked = value.get("second_reader")
    if asked:
        cost = (
            f"{plural(asked['questions'], 'question')}, at most {number(asked['tokens'])} "
            f"tokens in and {number(asked['answer_tokens'])} out, {asked['seconds']:.0f} s"
        )
        lines += ["", style("Second reader", "bold", colour) + f"  {cost}"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _joined(parts: list[tuple[str, str]], mark: str, colour: bool, width: int) -> list[str]:
    """Texts with their styles on one line, or each on its own if that is too narrow."""
    shown = [style(text, name, colour) for text, name in parts]
    return [mark.join(shown)] if len(mark.join(t for t, _ in parts)) <= width else shown


def _occupancy_lines(value: Mapping[str, Any], colour: bool, width: int) -> list[str]:
    context = value["context"]
    # Old recordings and exports hold no usage; the size of the text is then all that is known.
    if context["occupancy"] is None:
        words = "No usage is recorded"
        if value["estimated"] is not None:
            words += f"; the text is about {number(value['estimated'])} tokens"
        return [words + "."]
    held = number(context["occupancy"], about=context["occupancy_estimated"])
    parts = [(f"{held} tokens in context", "bold")]
    if context["fraction"] is not None:
        share = f"{context['fraction']:.1%} of {number(context['usable_window'])} usable"
        colours = ((0.95, "red"), (0.7, "yellow"), (0.0, ""))
        warning = next(name for least, name in colours if context["fraction"] >= least)
        parts.append((share, warning))
        if context["window"] != context["usable_window"]:
            share = f"{context['fraction_of_window']:.1%} of {number(context['window'])}"
            parts.append((share, ""))
    else:
        parts.append(("window unknown", ""))
    lines = _joined(parts, " · ", colour, width)
    forecast = value["forecast"]
    if forecast is not None:
        left = (
            f"({number(forecast['tokens_left'])} tokens, "
            f"{number(round(forecast['growth']))} a call, seen {forecast['calls_seen']})"
        )
        calls = f"about {plural(forecast['calls_left'], 'call')} left"
        lines += _joined([(calls, ""), (left, "")], " ", colour, width)
    return lines


def _chart(value: Mapping[str, Any], colour: bool, width: int) -> list[str]:
    """The occupancy over the session as a bar chart; a column covers one or more calls."""
    curve = value["curve"]
    if len(curve) < 2:
        return []
    # Without a window the fullest call is the top of the chart.
    capacity = value["context"]["usable_window"] or max(p["tokens"] for p in curve)
    top = max(capacity, *(p["tokens"] for p in curve))
    available = min(max(16, width - 10), len(curve))
    # A column is the highest of its calls: a mean would hide that the window was full.
    edges = [len(curve) * i // available for i in range(available + 1)]
    columns = [max(p["tokens"] for p in curve[a:b]) for a, b in pairwise(edges)]
    lines = [""]
    for row in range(_CHART_HEIGHT - 1, -1, -1):
        cells = []
        for tokens in columns:
            filled = round(tokens * _CHART_HEIGHT * 8 / top) - row * 8
            # A call that fills a hundredth of a large window is still shown.
            least = int(row == 0 and tokens > 0)
            cells.append(_BAR_CHARACTERS[max(least, min(8, filled))])
        mark = f"{abbreviated(top):>7} " if row == _CHART_HEIGHT - 1 else " " * 8
        lines.append(mark + style("".join(cells), "cyan", colour))
    count = sum(1 for p in curve if p["emptied"])
    note = plural(len(curve), "call") + (", " + plural(count, "compaction") if count else "")
    lines.append(" " * 8 + style(note, "dim", colour))
    return lines


def _cost_lines(cost: Mapping[str, Any]) -> list[str]:
    # A range where the recording does not say how long the cache was written for.
    if cost["usd"] is not None:
        if cost["usd_at_most"] < 0.005:  # `$0.00` would be false
            return ["  less than $0.01 at list prices"]
        least, most = (f"${cost[key]:,.2f}" for key in ("usd", "usd_at_most"))
        return [f"  {least}{'' if least == most else f' to {most}'} at list prices"]
    names = ", ".join(clean(name) or "?" for name in cost["unpriced"])
    # Of a model in the table the price of some tokens may be missing, such as of the cache.
    return (
        [f"  cost unknown: the table has no price for all tokens of {names}"] if names else []
    )


_USAGE_FIELDS = ("input", "output", "cache_read", "cache_write", "reasoning", "total")


def _spend_table(spend: Mapping[str, Any], colour: bool, width: int) -> list[str]:
    """A table of tokens by model, subagents in rows of their own; a list if it is too wide."""
    rows = [(name or "?", usage) for name, usage in spend["by_model"].items()]
    rows += [(f"{n or '?'} (subagents)", u) for n, u in spend["by_model_of_subagents"].items()]
    if not rows:
        return []
    if len(rows) > 1:
        rows.append(("all", spend["with_subagents"]))
    headings = [kind.replace("_", " ") for kind in _USAGE_FIELDS]
    counted = ([clean(n), *(number(u[k]) for k in _USAGE_FIELDS)] for n, u in rows)
    table = [["", *headings], *counted]
    first, *widths = (max(map(len, column)) for column in zip(*table, strict=True))
    lines = ["", style("Spent", "bold", colour)]
    if first + sum(widths) + 2 * len(table[0]) > width:
        size = max(widths)
        for name, *counts in table[1:]:
            pairs = zip(headings, counts, strict=True)
            lines += [f"  {name}", *(f"    {kind:<11} {n:>{size}}" for kind, n in pairs)]
        return lines
    for name, *counts in table:
        cells = [cell.rjust(size) for cell, size in zip(counts, widths, strict=True)]
        lines.append("  ".join([f"  {name:<{first}}", *cells]))
    return lines
