"""What a session cost and how full its window is.

*Spend* is a sum over distinct API calls. *Occupancy* is what the window holds now: the last
call's tokens, in and out, since each call sends the whole context again. The two are never
mixed up here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff.budget.windows import ModelRow, Window, fit
from leftoff.extraction.collector import occupancy_of
from leftoff.extraction.evidence import Compacted, Counted, Spent
from leftoff.model import Usage
from leftoff.session_view import Story
from leftoff.summary import CompactionInfo, ContextInfo, Spend


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
