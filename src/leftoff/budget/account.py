"""The token account of a session: occupancy over time, spend, thresholds crossed, forecast."""

from collections.abc import Sequence

from msgspec import Struct

from leftoff.budget.forecast import Forecast, forecast
from leftoff.budget.prices import Cost, PriceRow, cost
from leftoff.budget.thresholds import Crossing, FiredThresholds, Preset, crossings
from leftoff.budget.usage import Filling, context, curve, spend, total
from leftoff.budget.windows import ModelRow
from leftoff.extraction.evidence import Compacted
from leftoff.model import Usage
from leftoff.session_view import SessionView
from leftoff.summary import ContextInfo


class Crossed(Struct, frozen=True):
    """A threshold that the session crossed, and at which message."""

    message: int
    crossing: Crossing


class Account(Struct, frozen=True):
    """The token account of a session."""

    context: ContextInfo
    spend: dict[str, Usage]  # tokens over distinct API calls by model, without subagents
    subagents: dict[str, Usage]  # the same of all subagents together
    curve: tuple[Filling, ...]  # one point for each API call of the main thread
    # Thresholds in the order in which they were reached; each once between two compactions.
    crossed: tuple[Crossed, ...]
    forecast: Forecast | None  # what is left of the usable window, None where it is not known
    # Tokens of the conversation's text where no usage is recorded, else None.
    estimated: int | None
    cost: Cost = Cost()  # at list prices, with subagents


class SessionAccount(Struct, frozen=True):
    """The token account of one session; `models` of the main thread in order of first use."""

    id: str
    format: str
    path: str
    models: tuple[str, ...]
    preset: str
    account: Account


def account(
    view: SessionView,
    children: Sequence[SessionView],
    preset: Preset,
    format: str = "",
    *,
    windows: Sequence[ModelRow] = (),
    prices: Sequence[PriceRow] = (),
) -> Account:
    """The account of a session with its subagents, a pure function of its arguments; the rows
    in `windows` and `prices` come before those of the built-in tables."""
    by_child = {child.state.agent: total(spend(child).values()) for child in children}
    by_subagents: dict[str, Usage] = {}
    for child in children:
        for model, usage in spend(child).items():
            by_subagents[model] = by_subagents.get(model, Usage()) + usage
    found = context(view, by_child, format, windows=windows)
    points = curve(view)
    start = max((i for i, p in enumerate(points) if p.emptied), default=0)
    counts = [p.tokens for p in points[start:]]  # since the last compaction
    # Compacted, and no call since: the window is empty, with nothing to extrapolate from.
    if _emptied_at_the_end(view, points):
        counts = []
    elif counts and found.occupancy is not None:
        counts[-1] = max(counts[-1], found.occupancy)
    return Account(
        context=found,
        spend=dict(found.spend.by_model),
        subagents=dict(sorted(by_subagents.items())),
        curve=points,
        crossed=_crossed(points, preset, found, len(view.thread)),
        forecast=forecast(counts, found.usable_window),
        estimated=None if points else view.state.text_tokens,
        cost=cost(view, children, prices),
    )


def _emptied_at_the_end(view: SessionView, points: Sequence[Filling]) -> bool:
    if not (compactions := view.all(Compacted)):
        return False
    after = compactions[-1].ref.message
    return not points or points[-1].message < after and view.state.occupancy.last is None


def _crossed(
    points: Sequence[Filling], preset: Preset, found: ContextInfo, messages: int
) -> tuple[Crossed, ...]:
    armed, reached = FiredThresholds(), []
    # What was recorded after the last call is in the window, too.
    last = [Filling(max(0, messages - 1), found.occupancy)] if found.occupancy else []
    for point in [*points, *last]:
        new, armed = crossings(
            preset, armed, point.tokens, found.usable_window, compacted=point.emptied
        )
        reached += [Crossed(point.message, crossing) for crossing in new]
    return tuple(reached)
