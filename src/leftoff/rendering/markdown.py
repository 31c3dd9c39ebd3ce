"""The markdown form of a summary."""

from collections.abc import Iterable

from leftoff.analysis.summary_json import SafeSummary
from leftoff.handover.wording import (
    MAX_ITEM_LENGTH,
    brief,
    inline,
    inline_code,
    inline_prose,
    message_number,
    number,
    plural,
)
from leftoff.model import Ref
from leftoff.rendering.overview import Item, Turn, overview, session_rows, turns
from leftoff.summary import ContextInfo

# Files named for one turn of the time line. Chosen by hand.
MAX_TURN_FILES = 6


def render_markdown(summary: SafeSummary, *, everything: bool = False) -> str:
    """The summary as markdown: the goal and the state, the parts that every form shows, the
    time line of turns, then results, findings, tokens and notes. Of decisions as many as
    everywhere, all with `everything`; of other parts all items."""
    session = summary.session
    shown = overview(summary)
    title = session.title or session.id or "Session"
    lines = [f"# {brief(title, 160)}", "", f"{shown.goal_label}: {_line(shown.goal, 200)}", ""]
    lines += [f"State: {_line(shown.state)}", ""]
    times = ("Started", session.started), ("Ended", session.ended)
    lines += [f"- {label}: {inline(text)}" for label, text in session_rows(summary, *times)]
    for part in shown.parts:
        # Guesses are few everywhere; what is known for certain is whole in a document.
        few = part.key in {"decided", "likely"} and not everything
        items = [_line(item) for item in part.shown(everything=not few)]
        left = len(part.items) - len(items)
        items += [f"{plural(left, 'statement')} less likely, with `--all`"] if left else []
        items += [inline(part.note)] if part.note else []
        lines += _section(part.title, items)
    lines += _section("Time line", [_turn(turn) for turn in turns(summary)])
    for heading, items in _more(summary):
        lines += _section(heading, items)
    return "\n".join(lines) + "\n"


def _section(title: str, items: Iterable[str]) -> list[str]:
    found = [f"- {item}" for item in items]
    return ["", f"## {title}", "", *found] if found else []


def _place(ref: Ref | None) -> list[str]:
    return [message_number(ref)] if ref else []


def _line(item: Item, limit: int = MAX_ITEM_LENGTH) -> str:
    if item.is_path:
        name = f"`{inline(item.text)}`"
        text = f"`{inline(item.was)}` → {name}" if item.was else name
    else:
        text = inline_prose(item.text, limit)
    if item.output:
        text = f"{text}: {inline_code(item.output)}"
    notes = [inline(item.note)] if item.note else []
    notes += _place(item.ref)
    return f"{text} ({', '.join(notes)})" if notes else text


def _turn(turn: Turn) -> str:
    files = [f"`{inline(path)}`" for path in turn.files[:MAX_TURN_FILES]]
    left = len(turn.files) - len(files)
    files += [f"{number(left)} more"] if left > 0 else []
    parts = [f"worked on {', '.join(files)}"] if files else []
    parts += [_line(item) for item in (*turn.checks, *turn.git)]
    prompt = inline_prose(turn.prompt.text, 160)
    head = f"{prompt} ({', '.join([inline(turn.prompt.note), *_place(turn.prompt.ref)])})"
    return "\n".join([head, *(f"  - {part}" for part in parts)])


def _more(summary: SafeSummary) -> list[tuple[str, list[str]]]:
    """Title and items of the sections that follow the time line."""
    stated = [
        Item(m.text, m.ref, note=f"{m.kind.replace('_', ' ')}, {m.evidence}")
        for m in summary.progress.milestones
    ]
    findings = [Item(f.text, f.ref) for f in summary.key_findings]
    mended = [Item(e.tool, e.ref, output=e.text) for e in summary.errors if e.fixed]
    notes = [f"{i.severity}: {inline(i.what)} ({i.count})" for i in summary.issues]
    return [
        ("Results that were stated", list(map(_line, stated))),
        ("Found out", list(map(_line, findings))),
        ("Failed, worked later", list(map(_line, mended))),
        ("Tokens", _token_lines(summary.context)),
        ("Notes on the recording", notes),
    ]


def _token_lines(context: ContextInfo) -> list[str]:
    spend = context.spend
    figures = (
        (spend.input, "in"),
        (spend.output, "out"),
        (spend.cache_read, "read from cache"),
        (spend.cache_write, "written to cache"),
    )
    spent = ", ".join(f"{number(count)} {label}" for count, label in figures)
    items = [f"spent: {spent}"] if any(count for count, _ in figures) else []
    if context.occupancy is not None:
        held = number(context.occupancy, about=context.occupancy_estimated)
        share = "" if context.fraction is None else f", {context.fraction:.0%} of usable"
        items.append(f"in context at the end: {held}{share}")
    for compaction in context.compactions:
        figure = compaction.recorded or compaction.occupancy
        size = f" at {number(figure)}" if figure else ""
        trigger = brief(compaction.trigger, 40) or "trigger unknown"
        items.append(f"compaction{size} ({trigger})")
    return items
