"""Token usage of a session: spend and window occupancy.

*Spend* is a sum over distinct API calls. *Occupancy* is what the window holds now: the last
call's tokens, in and out, since each call sends the whole context again."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from leftoff.budget.windows import ModelRow, Window, fit
from leftoff.extraction.collector import occupancy_of
from leftoff.extraction.evidence import Compacted, Counted, Spent
from leftoff.model import Usage
from leftoff.session_view import SessionView
from leftoff.summary import CompactionInfo, ContextInfo, Spend

# Recorders that print tokens rounded ("9.5k"), with the least number that they round.
ROUNDED = {"aider": 1000}


def total(usages: Iterable[Usage]) -> Usage:
    """The sum of several usages."""
    return sum(usages, Usage())


# -- spend -----------------------------------------------------------------------------------


def spend(view: SessionView) -> dict[str, Usage]:
    """Tokens by model over distinct API calls; the largest usage recorded for a call counts.

    Of a recorder that writes a running total (Codex) the last readable total counts."""
    counted = [c for c in view.all(Counted) if c.total.total]
    models = view.state.header.models
    if counted:
        return {models[-1] if models else "": counted[-1].total}
    by_model: dict[str, Usage] = {}
    for item in calls_of(view):
        by_model[item.model] = by_model.get(item.model, Usage()) + item.usage
    return dict(sorted(by_model.items()))


def calls_of(view: SessionView) -> list[Spent]:
    """The API calls in order, each once, with the largest usage recorded for it."""
    largest: dict[str | int, Spent] = {}
    for number, item in enumerate(view.each(Spent, rewound=True)):
        # Without an id every record is a call of its own.
        key = item.response or number
        known = largest.get(key)
        if known is None or item.usage.total > known.usage.total:
            largest[key] = item
    return list(largest.values())


# -- occupancy -------------------------------------------------------------------------------


class Filling(Struct, frozen=True, gc=False):
    """What the window held at one API call, in and out; `emptied`: the conversation was
    compacted since the call before."""

    message: int
    tokens: int
    emptied: bool = False


def curve(view: SessionView) -> tuple[Filling, ...]:
    """Occupancy of the window over time, one point for each API call in file order.

    A compaction resets it. Where a recorder writes a response several times, its largest usage
    counts, at the place of the first."""
    points: list[Filling] = []
    places: dict[str, int] = {}
    emptied = False
    last: Usage | None = None
    counts = bool(view.state.evidence.of(Counted))
    for item in view.state.evidence:
        kind = type(item)
        if kind is Compacted:
            emptied = True
            continue
        if kind is not (Counted if counts else Spent) or view.message_of(item) in view.copies:
            continue
        if isinstance(item, Counted):
            # A count is written again when nothing was called in between.
            if not item.last.total or item.last == last:
                continue
            last = item.last
            points.append(Filling(item.message, item.last.total, emptied))
        elif isinstance(item, Spent):
            place = places.get(item.response) if item.response else None
            if place is not None:
                known = points[place]
                tokens = max(known.tokens, item.usage.total)
                points[place] = Filling(known.message, tokens, known.emptied)
                continue
            if item.response:
                places[item.response] = len(points)
            points.append(Filling(item.message, item.usage.total, emptied))
        emptied = False
    return tuple(points)


def conversation_tokens(view: SessionView) -> int | None:
    """Size of the whole conversation: the occupancy before each compaction and at the end,
    summed; None where no usage is recorded."""
    sizes = [c.recorded or c.occupancy for c in view.all(Compacted)]
    sizes.append(occupancy_of(view.state))
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None


def context(
    view: SessionView,
    subagents: dict[str, Usage],
    format: str = "",
    *,
    windows: Sequence[ModelRow] = (),
) -> ContextInfo:
    """Window, occupancy, spend and compactions of a session.

    Args:
        subagents: what each subagent spent, by its id.
        format: name of the session's format; recorders reserve different shares of a window.
        windows: rows that take precedence over the built-in table of models."""
    occupancy = occupancy_of(view.state)
    window = _window(view, occupancy, format, windows)
    size = window.window if window else None
    usable = window.window - window.reserve if window else None
    by_model = spend(view)
    whole = total(by_model.values())
    estimated = 0 if occupancy is None else view.state.occupancy.estimate_texts()
    if format in ROUNDED and (occupancy or 0) >= ROUNDED[format]:
        estimated = occupancy or 0
    return ContextInfo(
        window=size,
        window_source=window.source if window else "",
        usable_window=usable,
        occupancy=occupancy,
        occupancy_estimated=estimated,
        fraction=_share(occupancy, usable),
        fraction_of_window=_share(occupancy, size),
        spend=Spend(
            **asdict(whole), by_model=by_model, subagents=dict(sorted(subagents.items()))
        ),
        compactions=tuple(
            CompactionInfo(view.ref(c.ref), c.trigger, c.occupancy, c.recorded)
            for c in view.all(Compacted)
        ),
    )


def _window(
    view: SessionView, occupancy: int | None, format: str, more: Sequence[ModelRow]
) -> Window | None:
    header = view.state.header
    compactions = view.all(Compacted)
    sizes = [c.recorded or c.occupancy or 0 for c in compactions]
    both = zip(compactions, sizes, strict=True)
    automatic = [size for c, size in both if c.trigger == "auto" and size]
    peak = max([occupancy or 0, *sizes])
    model = header.models[-1] if header.models else ""
    for call in view.each(Spent, rewound=True):
        peak, model = max(peak, call.usage.total), call.model or model
    return fit(
        model,
        recorded=header.window,
        peak=peak,
        compacted_at=automatic[-1] if automatic else None,
        format=format,
        version=header.agent_version,
        more=more,
    )


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else round(part / whole, 4)
