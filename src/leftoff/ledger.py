"""What a session cost and how full its window is.

*Spend* is a sum over distinct API calls. *Occupancy* is what the window holds now: the last
call's tokens, in and out, since each call sends the whole context again. The two are never
mixed up here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff.extraction.evidence import Compacted, Counted, Spent
from leftoff.extraction.fold import occupancy_of
from leftoff.findings import CompactionInfo, ContextInfo, Spend
from leftoff.forecast import Forecast, forecast
from leftoff.judgement.story import Story
from leftoff.model import Usage
from leftoff.thresholds import Armed, Crossing, Preset, crossings
from leftoff.windows import ModelRow, Window, fit, window_of

__all__ = [
    "Account",
    "Crossed",
    "Filling",
    "Window",
    "account",
    "context",
    "conversation_tokens",
    "curve",
    "spend",
    "total",
    "window_of",
]


def total(usages: Iterable[Usage]) -> Usage:
    """The sum of several usages."""
    whole = Usage()
    for usage in usages:
        whole += usage
    return whole


# -- spend -----------------------------------------------------------------------------------


def spend(story: Story) -> dict[str, Usage]:
    """Tokens by model over distinct API calls; the largest usage recorded for a call counts.

    A recorder that keeps a running total (Codex) is taken at its last readable word.
    """
    counted = [c for c in story.all(Counted) if c.total.total]
    models = story.recording.header.models
    if counted:
        return {models[-1] if models else "": counted[-1].total}
    by_model: dict[str, Usage] = {}
    for item in _calls(story):
        by_model[item.model] = by_model.get(item.model, Usage()) + item.usage
    return dict(sorted(by_model.items()))


def _calls(story: Story) -> list[Spent]:
    """The API calls in order, each once, with the largest usage recorded for it."""
    largest: dict[tuple[str, int], Spent] = {}
    for number, item in enumerate(story.all(Spent)):
        key = (item.response, 0 if item.response else number)
        known = largest.get(key)
        if known is None or item.usage.total > known.usage.total:
            largest[key] = item
    return list(largest.values())


# -- occupancy -------------------------------------------------------------------------------


class Filling(Struct, frozen=True, gc=False):
    """What the window held at one API call.

    Attributes:
        message: index of the message.
        tokens: the call's tokens, in and out.
        emptied: the conversation was compacted since the call before.
    """

    message: int
    tokens: int
    emptied: bool = False


def curve(story: Story) -> tuple[Filling, ...]:
    """How the main thread's window filled, one point for each API call in file order.

    Compactions are resets. Where a recorder writes a response several times, its largest usage
    stands at its first place.
    """
    points: list[Filling] = []
    places: dict[str, int] = {}
    emptied = False
    last: Usage | None = None
    counts = bool(story.recording.evidence.of(Counted))
    for item in story.recording.evidence:
        kind = type(item)
        if kind is Compacted:
            emptied = True
            continue
        if kind is not (Counted if counts else Spent) or story.message_of(item) in story.copies:
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


def conversation_tokens(story: Story) -> int | None:
    """Size of the whole conversation: the occupancy before each compaction and at the end,
    summed; None where no usage is recorded."""
    sizes = [c.recorded or c.occupancy for c in story.all(Compacted)]
    sizes.append(occupancy_of(story.recording))
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None


def context(
    story: Story,
    subagents: dict[str, Usage],
    format: str = "",
    *,
    windows: Sequence[ModelRow] = (),
) -> ContextInfo:
    """Window, occupancy, spend and compactions of a session.

    Args:
        subagents: what each subagent spent.
        format: as which the session was read; recorders keep different reserves.
        windows: rows that come before the built-in table of models.
    """
    occupancy = occupancy_of(story.recording)
    window = _window(story, occupancy, format, windows)
    size = window.window if window else None
    usable = window.window - window.reserve if window else None
    by_model = spend(story)
    whole = total(by_model.values())
    return ContextInfo(
        window=size,
        usable_window=usable,
        occupancy=occupancy,
        fraction=_share(occupancy, usable),
        fraction_of_window=_share(occupancy, size),
        spend=Spend(
            whole.input,
            whole.output,
            whole.cache_read,
            whole.cache_write,
            whole.reasoning,
            by_model,
            dict(sorted(subagents.items())),
        ),
        compactions=tuple(
            CompactionInfo(story.ref(c.ref), c.trigger, c.occupancy, c.recorded)
            for c in story.all(Compacted)
        ),
    )


def _window(
    story: Story, occupancy: int | None, format: str, more: Sequence[ModelRow]
) -> Window | None:
    """The window that fits all that is known of the session."""
    header = story.recording.header
    compactions = story.all(Compacted)
    sizes = [c.recorded or c.occupancy or 0 for c in compactions]
    own = [
        size for c, size in zip(compactions, sizes, strict=True) if c.trigger == "auto" and size
    ]
    calls = story.all(Spent)
    peak = max([occupancy or 0, *sizes, *(c.usage.total for c in calls)])
    models = [c.model for c in calls if c.model] or header.models
    return fit(
        models[-1] if models else "",
        recorded=header.window,
        peak=peak,
        compacted_at=own[-1] if own else None,
        format=format,
        version=header.agent_version,
        more=more,
    )


def _share(part: int | None, whole: int | None) -> float | None:
    if part is None or not whole:
        return None
    return round(part / whole, 4)


# -- the account -----------------------------------------------------------------------------


class Crossed(Struct, frozen=True):
    """A threshold that the session went over, and at which message."""

    message: int
    crossing: Crossing


class Account(Struct, frozen=True):
    """Everything about a session's tokens.

    Attributes:
        spend: tokens over distinct API calls by model, without subagents.
        subagents: the same of all subagents together.
        curve: one point for each API call of the main thread.
        crossed: thresholds in the order in which they were reached; each once between two
            compactions.
        forecast: what is left of the usable window, None where it cannot be told.
        estimated: tokens of the conversation's text where no usage is recorded, else None.
    """

    context: ContextInfo
    spend: dict[str, Usage]
    subagents: dict[str, Usage]
    curve: tuple[Filling, ...]
    crossed: tuple[Crossed, ...]
    forecast: Forecast | None
    estimated: int | None


def account(
    story: Story,
    children: Sequence[Story],
    preset: Preset,
    format: str = "",
    *,
    windows: Sequence[ModelRow] = (),
) -> Account:
    """The account of a session with its subagents. A pure function of what was recorded."""
    by_child = {child.recording.agent: total(spend(child).values()) for child in children}
    beside: dict[str, Usage] = {}
    for child in children:
        for model, usage in spend(child).items():
            beside[model] = beside.get(model, Usage()) + usage
    found = context(story, by_child, format, windows=windows)
    points = curve(story)
    counts = _since(points)
    # Where the recorder compacted last and nothing was called since, the window starts anew.
    if _emptied_at_the_end(story, points):
        counts = []
    elif counts and found.occupancy is not None:
        counts[-1] = max(counts[-1], found.occupancy)
    return Account(
        context=found,
        spend=dict(found.spend.by_model),
        subagents=dict(sorted(beside.items())),
        curve=points,
        crossed=_crossed(points, preset, found, len(story.thread)),
        forecast=forecast(counts, found.usable_window),
        estimated=None if points else story.recording.text_tokens,
    )


def _since(points: Sequence[Filling]) -> list[int]:
    """The counts since the last compaction."""
    start = max((i for i, p in enumerate(points) if p.emptied), default=0)
    return [p.tokens for p in points[start:]]


def _emptied_at_the_end(story: Story, points: Sequence[Filling]) -> bool:
    compactions = story.all(Compacted)
    if not compactions:
        return False
    after = compactions[-1].ref.message
    return not points or points[-1].message < after and story.recording.tail.last is None


def _crossed(
    points: Sequence[Filling], preset: Preset, found: ContextInfo, messages: int
) -> tuple[Crossed, ...]:
    armed, reached = Armed(), []
    # What was recorded after the last call fills the window, too.
    last = [Filling(max(0, messages - 1), found.occupancy)] if found.occupancy else []
    for point in [*points, *last]:
        new, armed = crossings(
            preset, armed, point.tokens, found.usable_window, compacted=point.emptied
        )
        reached += [Crossed(point.message, crossing) for crossing in new]
    return tuple(reached)
